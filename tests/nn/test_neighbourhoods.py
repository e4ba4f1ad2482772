"""Aggregation at the node and Fréchet means: against 50 digits, their gradients through κ = 0, and in hard places."""

import math

import pytest
import torch
from mpmath import mp, mpf

import reference
from graph_samples import DOUBLE, EDGES, X, random_graph
from kappagcn import KappaGCNConv
from kappagcn import geometry as G
from kappagcn.nn.neighbourhoods import frechet, tangential_at_nodes
from kappagcn.sparse import SparseMatrix, normalized_adjacency

KAPPAS = [-1.5, -1e-8, 0.0, 1e-8, 0.8]


WAYS = {"node": tangential_at_nodes, "frechet": frechet}


pytestmark = pytest.mark.filterwarnings("ignore::kappagcn.errors.NonUniqueMeanWarning")


def graph(n=6, edges=14, seed=0, dtype=DOUBLE):
    edge_index, weight, generator = random_graph(n, edges, seed)
    return normalized_adjacency(edge_index, weight, n, normalization="row", dtype=dtype), generator


def exact_at_nodes(v, dense, kappa):
    """log_0 exp_x(Σ_j A_ij log_x(x_j)) by the paper's equations on points, in 80 digits."""
    with mp.workdps(80):
        k = mpf(kappa)
        points = [reference.expmap0([mpf(c) for c in row], k) for row in v.tolist()]
        results = []
        for x, weights in zip(points, dense.tolist(), strict=True):
            logs = [reference.times(mpf(w), reference.logmap(x, y, k)) for w, y in zip(weights, points, strict=True)]
            pull = [mp.fsum(parts) for parts in zip(*logs, strict=True)]
            results.append([float(c) for c in reference.logmap0(reference.expmap(x, pull, k), k)])
    return torch.tensor(results, dtype=DOUBLE)


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize(
    ("kappa", "radius"), [(-1.0, 1), (-1.0, 4), (-1.0, 8), (-2.0, 12), (1e-9, 1), (0.5, 1), (1.0, 3)]
)
@pytest.mark.parametrize("spread", [1e-2, 1.0])
def test_aggregation_at_the_node_is_that_of_fifty_digits(spread, kappa, radius, dtype):
    adjacency, generator = graph(seed=3, dtype=dtype)
    direction = torch.randn(1, 3, generator=generator, dtype=DOUBLE)
    v = direction + spread * torch.randn(6, 3, generator=generator, dtype=DOUBLE)
    v = (v / v.norm(dim=1, keepdim=True) * radius / 2 / max(abs(kappa), 0.1) ** 0.5).to(dtype)
    k = torch.tensor(kappa, dtype=dtype)
    actual = tangential_at_nodes(v, adjacency, k).double()
    want = exact_at_nodes(v, adjacency.to_dense(), float(k))
    if kappa > 0:  # log_0 of the same point, round the sphere or not
        actual, want = G.lift(actual, k=kappa), G.lift(want, k=kappa)
    lost = torch.finfo(DOUBLE).eps * math.exp(2 * radius if kappa < 0 else 0)
    assert (actual - want).norm() < (2 * torch.finfo(dtype).eps + 16 * lost) * want.norm()


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("way", WAYS)
def test_gradients_in_v_and_in_kappa_through_zero(way, kappa):
    """With a row at the origin, as a ReLU leaves them, and two rows in one place."""
    adjacency, generator = graph(4, 9)
    v = 0.4 * torch.randn(4, 2, generator=generator, dtype=DOUBLE)
    v[1], v[3] = 0, v[2]
    k = torch.tensor(kappa, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v, k: WAYS[way](v, adjacency, k), (v.requires_grad_(), k))


@pytest.mark.parametrize("kappa", [-1.0, 1.0])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_edge_weights(way, kappa):
    adjacency, generator = graph(4, 6)
    v, k = 0.4 * torch.randn(4, 2, generator=generator, dtype=DOUBLE), torch.tensor(kappa, dtype=DOUBLE)
    weights = adjacency.values.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda w: WAYS[way](v, adjacency.with_values(w), k), (weights,))


def test_a_node_at_the_antipode_of_the_origin_has_neighbours_like_any_other():
    """There log_0 has no direction, and points of the model are at infinity; the mean of the others is unmoved."""
    k = torch.tensor(1.0, dtype=DOUBLE)
    dense = torch.tensor([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=DOUBLE)
    others = [[0.4, 0.5], [0.6, -0.1]]
    for length in (math.pi / 2, math.pi / 2 - 1e-9, math.pi / 2 + 1e-6):
        v = torch.tensor([[length, 0.0], *others], dtype=DOUBLE, requires_grad=True)
        result = tangential_at_nodes(v, SparseMatrix.from_tensor(dense), k)
        (grad,) = torch.autograd.grad(result.sum(), v)
        near = tangential_at_nodes(
            torch.tensor([[1.5707, 0.0], *others], dtype=DOUBLE), SparseMatrix.from_tensor(dense), k
        )
        assert torch.allclose(result, near, atol=1e-3)
        assert torch.isfinite(grad).all()
        assert grad.abs().max() < 10


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("kappa", [-1.0, 1.0])
@pytest.mark.filterwarnings("ignore::kappagcn.errors.ConvergenceWarning")
@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, math.pi / 4, math.pi / 2, 15.0, 20.0, 100.0, 1e4, 1e8])
def test_nothing_is_infinite_or_nan_and_far_rows_stay(size, kappa, dtype):
    """Opposite rows, κ > 0 antipodes among them, rows that repeat, and rows far beyond what is resolved."""
    adjacency, generator = graph(8, 30, dtype=dtype)
    v = torch.randn(8, 2, generator=generator, dtype=DOUBLE)
    v = v / v.norm(dim=1, keepdim=True) * size
    v[1], v[2] = -v[0], v[0]
    v, k = v.to(dtype).requires_grad_(), torch.tensor(kappa, dtype=dtype, requires_grad=True)
    for way in WAYS.values() if size < 10 or kappa < 0 else [tangential_at_nodes]:
        out = way(v, adjacency, k)
        for result in (out, *torch.autograd.grad(out.tanh().sum(), (v, k))):
            assert torch.isfinite(result).all()
    alone = tangential_at_nodes(v, SparseMatrix.from_tensor(torch.eye(8, dtype=dtype)), k)
    if kappa < 0:
        assert torch.allclose(alone, v if size <= 15 else v * (15 / size), rtol=1e-4)


def test_a_long_pull_goes_as_far_as_float64_resolves():
    k, dense = torch.tensor(-1.0, dtype=DOUBLE), torch.zeros(2, 2, dtype=DOUBLE)
    v = torch.tensor([[1.0, 0.0], [3.0, 0.0]], dtype=DOUBLE)
    for weight in (1.0, 3.0, 5.0, 100.0, 1e4):  # that many times the step from 1 to 3
        dense[0, 1] = weight
        actual = tangential_at_nodes(v, SparseMatrix.from_tensor(dense), k)[0]
        want = min(1 + 2 * weight, 17.5)
        assert actual[0] == pytest.approx(want, rel=1e-5 if want < 17 else 0.03)
        assert actual[1] == 0


def test_frechet_means_of_rows_that_lost_all_weights():
    conv = KappaGCNConv(3, 2, manifold=-1.0, aggregation="frechet", adjacency_dropout=0.9)
    torch.manual_seed(0)
    for _ in range(5):
        out = conv(X, EDGES)
        out.sum().backward()
        assert torch.isfinite(out).all()
        assert torch.isfinite(conv.lin.weight.grad).all()
