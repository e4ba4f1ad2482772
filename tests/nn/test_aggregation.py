"""Every aggregation: against the geometry, in float32 beside float64, gradients, weights of both signs."""

import math
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_samples import BOTH, DOUBLE, draw, random_graph, space
from kappagcn import geometry as G
from kappagcn.errors import GeometryError
from kappagcn.geometry import Stereographic
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import aggregate, logits
from kappagcn.nn.aggregation import AGGREGATIONS
from kappagcn.sparse import SparseMatrix, normalized_adjacency
from layers import exact_midpoint
from spaces import few

# Points all over a sphere have no unique Fréchet mean, and a search for one may not end: the dtypes are compared.
pytestmark = pytest.mark.filterwarnings(
    "ignore::kappagcn.errors.NonUniqueMeanWarning", "ignore::kappagcn.errors.ConvergenceWarning"
)


WAYS = {name: (name, nullcontext) for name in AGGREGATIONS} | {"midpoint by torch": ("midpoint", torch_only)}


SEEDS, NODES, DIM = 60, 24, 4


def rows_up_to(radius, kappa, seed):
    """Rows at most radius/√|κ| from the origin, near each other or not, at all distances or all far out."""
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(NODES, DIM, generator=generator)
    v = v[:1] + (None, 0.3, 0.05, 1e-3)[seed % 4] * v if seed % 4 else v
    lengths = torch.rand(NODES, 1, generator=generator) if seed % 3 == 0 else torch.ones(NODES, 1)
    v = v / v.norm(dim=1, keepdim=True) * lengths * radius / 2 / (abs(kappa) ** 0.5 or 1.0)
    edges = torch.randint(NODES, (2, 3 * NODES), generator=generator)
    adjacency = normalized_adjacency(edges, num_nodes=NODES, normalization=("row", "symmetric")[seed // 4 % 2])
    return v, adjacency, torch.randn(NODES, DIM, generator=generator)


def side_by_side(matrices):
    """Graphs of NODES nodes each as the parts of one graph: one pass serves all seeds."""
    starts = NODES * torch.arange(len(matrices)).repeat_interleave(torch.tensor([len(m.rows) for m in matrices]))
    rows, cols, values = (torch.cat([getattr(m, name) for m in matrices]) for name in ("rows", "cols", "values"))
    return SparseMatrix(rows + starts, cols + starts, values, (NODES * len(matrices),) * 2)


def by_seed(rows, adjacency, grads, kappa, aggregation, dtype):
    """Result, gradient by the rows and gradient by κ of each seed."""
    manifold = space(torch.tensor(kappa).item(), torch.float32).to(dtype)
    parts = [v.to(dtype).requires_grad_() for v in rows]
    results = aggregate(torch.cat(parts), adjacency.to(dtype), manifold, aggregation=aggregation).split(NODES)
    for v, out, grad in zip(parts, results, grads, strict=True):
        inputs, scalar = (v, manifold.curvature.raw), (out * grad.to(dtype)).sum()
        by_v, by_k = torch.autograd.grad(scalar, inputs, retain_graph=True, materialize_grads=True)
        yield out.detach().double(), by_v.double(), by_k.double()


@pytest.mark.parametrize("kappa", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("way", WAYS)
def test_float32_is_float64_up_to_a_radius_of_four(way, kappa):
    """Through points of the ball in float32, aggregation at the node was 2e-4 off, gradients of Fréchet means 2e-3."""
    aggregation, path = WAYS[way]
    rows, matrices, grads = zip(*(rows_up_to(4.0, kappa, seed) for seed in range(SEEDS)), strict=True)
    adjacency = side_by_side(matrices)
    with path():
        single, double = (
            list(by_seed(rows, adjacency, grads, kappa, aggregation, dtype)) for dtype in (torch.float32, DOUBLE)
        )
    for seed, (v, grad) in enumerate(zip(rows, grads, strict=True)):
        (out, by_v, by_k), (want, want_by_v, want_by_k) = single[seed], double[seed]
        assert ((out - want).norm(dim=1) < 5e-5 * want.norm(dim=1)).all(), seed
        assert (by_v - want_by_v).norm() < 5e-5 * want_by_v.norm(), seed
        # Parts of ∂/∂κ cancel for points near each other; beside this it is small.
        scale = (want.norm(dim=1) * grad.norm(dim=1)).sum() * v.norm(dim=1).max() ** 2
        assert (by_k - want_by_k).abs() < 5e-5 * want_by_k.abs() + 5e-6 * scale, seed


@pytest.mark.parametrize("kappa", [0.5, 2.0])
def test_rows_past_the_antipode_are_the_points_and_have_the_logits_of_the_shorter_ones(kappa):
    """log_0 of a point is shorter than π/(2√κ), the row may be longer: one point, by the paper's formulas."""
    generator = torch.Generator().manual_seed(0)
    v, p, a = (torch.randn(40, DIM, generator=generator, dtype=DOUBLE) for _ in range(3))
    v = 4 * v / kappa**0.5  # most of them beyond π/(2√κ), some beyond π/√κ
    p, a = 0.3 * p[:3] / kappa**0.5, a[:3]
    points = G.expmap0(v, k=kappa)
    shorter = G.logmap0(points, k=kappa)
    assert (v.norm(dim=1) > math.pi / (2 * kappa**0.5)).sum() > 20
    assert (shorter.norm(dim=1) < math.pi / (2 * kappa**0.5) + 1e-9).all()
    manifold = space(kappa, DOUBLE)
    scores = logits(v, p, a, manifold)
    torch.testing.assert_close(scores, G.logits(points, G.expmap0(p, k=kappa), a, k=kappa), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(scores, logits(shorter, p, a, manifold), rtol=1e-9, atol=1e-9)
    eye = SparseMatrix.from_tensor(torch.eye(40, dtype=DOUBLE))
    for row in (v, shorter):
        kept = G.expmap0(aggregate(row, eye, manifold), k=kappa)
        assert G.dist(kept, points, k=kappa).max() < 1e-6


PATHS = pytest.mark.parametrize("path", [nullcontext, torch_only], ids=["compiled", "torch"])


DTYPES = pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])


FARTHEST = math.atanh(1 - 4 * torch.finfo(DOUBLE).eps)  # √−κ times the distance that float64 resolves


INTO = {  # weights, points and κ whose sum of lifts points into the space
    "outward": ([2.0, -1.0], [[0.3, 0.1], [0.1, -0.1]], -1.0),
    "far": ([2.0, -1.0], [[2.0, 0.0], [1.8, 0.005]], -1.0),
    "little weight": ([1.0, -0.9], [[0.01, 0.0], [0.0, 0.01]], -4.0),
    "negative": ([-2.0, 1.0], [[0.3, 0.1], [0.1, -0.1]], -1.0),
    "round the sphere": ([2.0, -3.0], [[0.9, 0.1], [0.1, 1.4]], 1.0),
}


OUT = {  # those whose sum does not: spacelike, into the past, and to nowhere
    "spacelike": ([2.0, -1.0], [[1.0, 0.0], [-1.0, 0.0]], -1.0),
    "past": ([2.0, -1.0], [[0.1, 0.0], [2.0, 0.5]], -0.5),
    "spacelike, negative": ([-2.0, 1.0], [[1.0, 0.0], [-1.0, 0.2]], -2.0),
    "two of each": ([1.0, 1.0, -0.9, -0.9], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.2, -1.0]], -1.0),
}


def signed(case, dtype):
    """A row of weights as a matrix, tangent vectors, the space."""
    weights, points, kappa = case
    return torch.tensor([weights], dtype=dtype), torch.tensor(points, dtype=dtype), space(kappa, dtype)


@PATHS
@DTYPES
@pytest.mark.parametrize("name", INTO)
def test_a_signed_sum_that_points_into_the_space_is_the_geometrys(name, dtype, path):
    weights, v, manifold = signed(INTO[name], dtype)
    with path():
        actual = aggregate(v, SparseMatrix.from_tensor(weights), manifold)
    k = manifold.k.detach().double()
    want = G.matmul_left(weights.double(), G.expmap0(v.double(), k=k), k=k)
    assert torch.allclose(G.expmap0(actual.double(), k=k), want, rtol=1e-5 if dtype == torch.float32 else 1e-12)


@PATHS
@DTYPES
@pytest.mark.parametrize("name", OUT)
def test_a_signed_sum_that_points_out_of_the_space_is_the_farthest_point_in_its_direction(name, dtype, path):
    """It was 3.81 with numba and 8.84 without, in float32, with gradients of 1e15."""
    weights, v, manifold = signed(OUT[name], dtype)
    k, total = manifold.k.detach().double(), float(weights.sum())
    with pytest.raises(GeometryError):
        G.matmul_left(weights.double(), G.expmap0(v.double(), k=k), k=k)
    with path():
        actual = aggregate(v, SparseMatrix.from_tensor(weights), manifold)[0].double()
    direction = math.copysign(1, total) * (weights.double() @ G.lift(v.double(), k=k))[0, :-1]
    want = total * FARTHEST / 2 / (-k).sqrt() * direction / direction.norm()
    assert torch.allclose(actual, want, rtol=4 * torch.finfo(dtype).eps, atol=1e-6 if dtype == torch.float32 else 1e-13)


@PATHS
@pytest.mark.parametrize("name", [*INTO, *OUT])
def test_gradients_of_signed_sums(name, path):
    weights, v, manifold = signed((INTO | OUT)[name], DOUBLE)
    matrix, raw = SparseMatrix.from_tensor(weights), manifold.curvature.raw

    def layer(v, kappa):
        return torch.func.functional_call(Aggregation(manifold, matrix), {"manifold.curvature.raw": kappa}, (v,))

    with path():
        assert torch.autograd.gradcheck(layer, (v.requires_grad_(), raw.detach().clone().requires_grad_()))
    single = v.detach().float().requires_grad_()
    with path():
        by_v = torch.autograd.grad(aggregate(v, matrix, manifold).sum(), v)[0]
        by_single = torch.autograd.grad(aggregate(single, matrix, manifold.float()).sum(), single)[0]
    assert torch.allclose(by_single.double(), by_v, rtol=1e-4, atol=1e-4)


class Aggregation(torch.nn.Module):
    """A module around the space, whose κ can be given from outside."""

    def __init__(self, manifold, matrix):
        super().__init__()
        self.manifold, self.matrix = manifold, matrix

    def forward(self, v):
        return aggregate(v, self.matrix, self.manifold)


@PATHS
@DTYPES
@pytest.mark.parametrize("kappa", [-1.0, 0.0, 1.0])
def test_opposite_weights_give_the_opposite_and_none_the_origin(kappa, dtype, path):
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(40, 5, generator=generator, dtype=dtype)
    weights[0] = 0
    weights[1] = torch.tensor([1.0, -1.0, 0.0, 2.0, -2.0])
    v, manifold = torch.randn(5, 3, generator=generator, dtype=dtype).requires_grad_(), space(kappa, dtype)
    with path():
        result = aggregate(v, SparseMatrix.from_tensor(weights), manifold)
        opposite = aggregate(v, SparseMatrix.from_tensor(-weights), manifold)
        (by_v,) = torch.autograd.grad(result.sum(), v)
    assert torch.isfinite(result).all()
    assert torch.isfinite(by_v).all()
    assert torch.allclose(opposite, -result, rtol=1e-4 if dtype == torch.float32 else 1e-10)
    assert torch.equal(result[0], torch.zeros(3, dtype=dtype))
    if kappa:
        assert torch.equal(result[1], torch.zeros(3, dtype=dtype))  # times its sum
    else:
        assert torch.allclose(result, weights @ v, rtol=1e-5, atol=1e-5)


def test_a_frechet_mean_takes_no_negative_weights():
    weights, v, manifold = signed(INTO["outward"], DOUBLE)
    with pytest.raises(GeometryError, match="expected non-negative weights"):
        aggregate(v, SparseMatrix.from_tensor(weights), manifold, aggregation="frechet")


@few(20)
@given(st.sampled_from([-1.0, -1e-6, 0.0, 1e-6, 0.5]), st.integers(1, 4), st.integers(0, 50))
def test_each_row_is_the_geometrys_mean_of_its_neighbours(kappa, dim, seed):
    edge_index, weight, generator = random_graph(8, 20, seed)
    adjacency = normalized_adjacency(edge_index, weight, 8, normalization="row", dtype=DOUBLE)
    dense = adjacency.to_dense()
    v, manifold = draw(generator, 8, dim), space(kappa)
    x = G.expmap0(v, k=manifold.k)
    means = {
        "tangential": lambda i: G.tangential_mean(x, dense[i], k=manifold.k),
        "tangential-node": lambda i: G.tangential_mean(x, dense[i], k=manifold.k, base=x[i]),
        "frechet": lambda i: G.frechet_mean(x, dense[i], k=manifold.k),
        "midpoint": lambda i: G.midpoint(x, dense[i], k=manifold.k),
    }
    for name, mean in means.items():
        result = aggregate(v, adjacency, manifold, aggregation=name)
        for i in range(8):
            assert torch.allclose(G.expmap0(result[i], k=manifold.k), mean(i), atol=1e-9), name


def test_only_the_sum_of_a_row_scales_a_frechet_mean():
    edge_index, weight, generator = random_graph(8, 20, 1)
    v, manifold = draw(generator, 8, 3), space(-1)
    results = []
    for normalization in ("row", "symmetric"):
        adjacency = normalized_adjacency(edge_index, weight, 8, normalization=normalization, dtype=DOUBLE)
        results.append((adjacency, aggregate(v, adjacency, manifold, aggregation="frechet")))
    (_, one), (symmetric, other) = results
    for i in range(8):
        weights = symmetric.to_dense()[i]
        mean = manifold.frechet_mean(manifold.expmap0(v), weights / weights.sum())
        assert torch.allclose(other[i], weights.sum() * manifold.logmap0(mean), atol=1e-9)
    assert not torch.allclose(one, other)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("signature", ["H2xS1", "S3", "E2xH1"])
def test_gradients_of_every_aggregation(aggregation, signature):
    edge_index, weight, generator = random_graph(5, 9, 2)
    adjacency = normalized_adjacency(edge_index, weight, 5, normalization="row", dtype=DOUBLE)
    manifold = space(signature)
    v = draw(generator, 5, 3).requires_grad_()
    raws = [p for p in manifold.parameters() if p.requires_grad]

    def layer(v, *raws):
        return aggregate(v, adjacency, manifold, aggregation=aggregation)

    assert torch.autograd.gradcheck(lambda v: layer(v), (v,))
    if aggregation != "tangential":
        for raw in raws:
            (grad,) = torch.autograd.grad(layer(v).square().sum(), raw)
            with torch.no_grad():
                start, h = raw.clone(), 1e-5
                values = []
                for sign in (1, -1):
                    raw.copy_(start + sign * h)
                    values.append(float(layer(v).square().sum()))
                raw.copy_(start)
            assert float(grad) == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("signature", [-1, 1, "H2xS1xE1"])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_permuting_the_nodes_permutes_every_aggregation(aggregation, signature, dtype):
    edge_index, weight, generator = random_graph(15, 40, 3)
    adjacency = normalized_adjacency(edge_index, weight, 15, normalization="row", dtype=dtype)
    v, manifold = draw(generator, 15, 4).to(dtype), space(signature, dtype)
    order = torch.randperm(15, generator=generator)
    place = order.argsort()
    moved = SparseMatrix(place[adjacency.rows], place[adjacency.cols], adjacency.values, (15, 15))
    one = aggregate(v, adjacency, manifold, aggregation=aggregation)
    other = aggregate(v[order], moved, manifold, aggregation=aggregation)
    assert torch.allclose(other, one[order], atol=1e-5 if dtype == torch.float32 else 1e-9)


@pytest.mark.parametrize("aggregation", ["midpoint", "frechet", "tangential-node"])
@pytest.mark.parametrize("kappa", [-1.0, 0.5])
def test_isometries_commute_with_every_intrinsic_aggregation(aggregation, kappa):
    from kappagcn.testing import random_isometry

    edge_index, weight, generator = random_graph(12, 40, 4)
    adjacency = normalized_adjacency(edge_index, weight, 12, normalization="row", dtype=DOUBLE)
    v, manifold = draw(generator, 12, 3, size=0.25), space(kappa)
    k = manifold.k.detach()
    move = random_isometry(3, k=kappa, dtype=DOUBLE, generator=generator)
    after = move(G.expmap0(aggregate(v, adjacency, manifold, aggregation=aggregation), k=k))
    before = G.expmap0(
        aggregate(G.logmap0(move(G.expmap0(v, k=k)), k=k), adjacency, manifold, aggregation=aggregation), k=k
    )
    assert torch.allclose(after, before, atol=1e-8)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_the_double_mode_of_every_aggregation_is_nearer_to_the_truth(aggregation):
    edge_index, _, generator = random_graph(20, 60, 5)
    exact = normalized_adjacency(edge_index, num_nodes=20, normalization="row", dtype=DOUBLE)
    single = exact.to(torch.float32)
    v = draw(generator, 20, 3, size=1.2).float()
    truth = aggregate(v.double(), single.to(DOUBLE), space(-1), aggregation=aggregation)
    errors = {}
    for double in (False, True):
        actual = aggregate(v, single, space(-1, torch.float32), aggregation=aggregation, double=double)
        errors[double] = float((actual - truth).detach().norm())
    truth = truth.detach()
    assert errors[True] < 1e-6 * float(truth.norm())
    assert errors[True] <= errors[False]


def test_a_row_without_neighbours_is_the_origin():
    edges = torch.tensor([[0], [1]])
    adjacency = normalized_adjacency(edges, num_nodes=3, add_self_loops=False, normalization="row")
    for aggregation in ("midpoint", "tangential", "frechet"):
        out = aggregate(0.3 * torch.ones(3, 2), adjacency, space(-1, torch.float32), aggregation=aggregation)
        assert torch.equal(out[[0, 2]], torch.zeros(2, 2))
        assert torch.allclose(out[1], torch.full((2,), 0.3))


@BOTH
@pytest.mark.parametrize("degree", [1, 8, 64, 512])
@pytest.mark.parametrize("kappa", [-1.0, -7.0])
def test_many_neighbours_far_out_lose_no_digits(degree, kappa, path):
    """Sums in float32 had an error that grew with the degree, to 1e-4 at radius 4."""
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        direction = torch.randn(8, generator=generator)
        for spread in (0.0, 1e-3, 1.0):
            v = direction + spread * torch.randn(degree, 8, generator=generator)
            v = v / v.norm(dim=1, keepdim=True) * 2 / (-kappa) ** 0.5
            weights = torch.rand(degree, generator=generator) + 0.1
            places = torch.arange(degree)
            matrix = SparseMatrix(torch.zeros_like(places), places, weights, (1, degree))
            with path():
                actual = aggregate(v, matrix, Stereographic(kappa))[0].double()
            want = torch.tensor(exact_midpoint(weights.tolist(), v.tolist(), kappa), dtype=DOUBLE)
            assert (actual - want).norm() < 2e-5 * want.norm()
