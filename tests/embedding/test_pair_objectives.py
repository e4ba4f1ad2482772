"""The distortion loss and all its gradients, against autograd through distances in float64."""

import contextlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.embedding.graph_distances import GraphDistances, NearPairs
from kappagcn.embedding.pair_objectives import distortion, pair_loss
from kappagcn.embedding.quality import measure
from kappagcn.errors import GeometryError, GraphError
from kappagcn.geometry import ProductManifold, Stereographic, tangent_dist
from kappagcn.graphs import balanced_tree, cycle, from_scipy
from kappagcn.kernels.dispatch import torch_only
from kappagcn.objectives import PAIR_OBJECTIVES

PATHS = {"compiled": contextlib.nullcontext, "torch": torch_only}
SIGNATURES = [
    "H3", "S3", "E3", "H3(-1e-8)", "S3(1e-8)", "H3(-1e-3)", "S3(0.02)", "H2(-4)", "H2xS2(0.3)", "H1xE2xS1(0.1)", "H1^4",
]  # fmt: skip


def lengths_of(n, generator, missing=0.0):
    lengths = torch.randint(1, 9, (n, n), generator=generator)
    lengths = lengths.triu(1) + lengths.triu(1).T
    gone = torch.rand(n, n, generator=generator).triu(1) < missing
    gone = (gone & ~torch.eye(n, dtype=torch.bool)).triu(1)
    return torch.where(gone | gone.T, -1, lengths)


def reference(v, signature, lengths):
    """Loss and gradients in float64, pair by pair, with the diagonal and missing pairs left out."""
    manifold = ProductManifold.from_signature(signature, trainable=True).double()
    v = v.detach().double().requires_grad_()
    i, j = (lengths.triu(1) > 0).nonzero().T
    squares = sum(
        tangent_dist(x[i], x[j], k=factor.k) ** 2
        for x, factor in zip(v.split(manifold.dims, 1), manifold.factors, strict=True)
    )
    weights = lengths[i, j].double().pow(-2).float().double()  # as rounded for the loss
    loss = 2 * (squares * weights - 1).square().sum() / max(len(v), 1) ** 2
    if len(i):
        loss.backward()
    kappas = [f.curvature.raw.grad for f in manifold.factors if f.curvature.raw.requires_grad]
    return loss.detach(), torch.zeros_like(v) if v.grad is None else v.grad, kappas


def ours(v, signature, lengths):
    manifold = ProductManifold.from_signature(signature, trainable=True).to(v.dtype)
    v = v.detach().requires_grad_()
    loss = distortion(v, manifold, GraphDistances(lengths))
    loss.backward()
    return loss.detach(), v.grad, [f.curvature.raw.grad for f in manifold.factors if f.curvature.raw.requires_grad]


def agree(actual, wanted, tolerance):
    assert actual[0].double() == pytest.approx(wanted[0].item(), rel=tolerance, abs=1e-300)
    size = wanted[1].abs().max().item()
    assert (actual[1].double() - wanted[1]).abs().max() <= tolerance * size + 1e-300
    # In one dimension curvature changes nothing: its gradient is a sum of terms that cancel.
    least = 1e-11 * max(0.1, wanted[1].abs().sum().item())
    for one, other in zip(actual[2], wanted[2], strict=True):
        assert one.item() == pytest.approx(0.0 if other is None else other.item(), rel=tolerance, abs=least)


@pytest.mark.parametrize("path", PATHS)
@given(
    st.sampled_from(SIGNATURES),
    st.integers(1, 60),
    st.sampled_from([0.01, 0.3, 1.0]),
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(0, 2**31),
)
def test_value_and_gradients_are_those_of_the_pairs(path, signature, n, size, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    dim = ProductManifold.from_signature(signature).dim
    v = (size * torch.randn(n, dim, generator=generator, dtype=torch.float64)).to(dtype)
    lengths = lengths_of(n, generator, missing=0.2)
    with PATHS[path]():
        agree(ours(v, signature, lengths), reference(v, signature, lengths), 1e-5 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("signature", SIGNATURES)
def test_coincident_points_the_origin_and_opposite_ones(signature, path):
    generator = torch.Generator().manual_seed(1)
    dim = ProductManifold.from_signature(signature).dim
    v = 0.5 * torch.randn(9, dim, generator=generator, dtype=torch.float64)
    v[0] = 0
    v[1] = 0
    v[3] = v[2]
    v[5] = -v[4]
    v[7] = v[6] * (1 + 1e-9)
    lengths = lengths_of(9, generator)
    with PATHS[path]():
        agree(ours(v, signature, lengths), reference(v, signature, lengths), 1e-9)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kappa", [-1.0, -0.01, -25.0])
def test_points_far_out_in_close_directions(kappa, dtype, path):
    """Forty radii of curvature apart, and twenty from the origin within 1e-7 of the same direction."""
    generator = torch.Generator().manual_seed(2)
    directions = torch.nn.functional.normalize(torch.randn(12, 4, generator=generator, dtype=torch.float64), dim=1)
    directions[6:] = directions[:6] + 1e-7 * directions[6:]
    directions[1] = -directions[0]
    radii = torch.linspace(5, 10, 12, dtype=torch.float64) / abs(kappa) ** 0.5
    radii[:2] = 10 / abs(kappa) ** 0.5
    v = (directions * radii[:, None]).to(dtype)
    lengths = lengths_of(12, generator)
    with PATHS[path]():
        agree(ours(v, f"H4({kappa})", lengths), reference(v, f"H4({kappa})", lengths), 1e-5)


@pytest.mark.parametrize("objective", PAIR_OBJECTIVES)
@pytest.mark.parametrize("path", PATHS)
def test_gradients_are_those_of_differences(path, objective):
    generator = torch.Generator().manual_seed(3)
    v = 0.4 * torch.randn(6, 4, generator=generator, dtype=torch.float64)
    distances = GraphDistances(lengths_of(6, generator))

    def loss(v, hyperbolic, flat, spherical):
        return loss_of(v, torch.stack([hyperbolic, flat, spherical]), [2, 1, 1], distances, objective)

    kappas = [torch.tensor(k, dtype=torch.float64, requires_grad=True) for k in (-0.8, 0.0, 0.9)]
    with PATHS[path]():
        assert torch.autograd.gradcheck(loss, (v.requires_grad_(), *kappas))


@pytest.mark.parametrize("objective", PAIR_OBJECTIVES)
@pytest.mark.parametrize("path", PATHS)
def test_objectives_are_those_of_the_distances(path, objective):
    generator = torch.Generator().manual_seed(8)
    v = 0.7 * torch.randn(40, 4, generator=generator, dtype=torch.float64)
    lengths, manifold = lengths_of(40, generator).double(), ProductManifold.from_signature("H2xS2").double()
    d, counted = manifold.tangent_dist(v[:, None], v[None]), lengths > 0
    ratio = d[counted] / lengths[counted]
    expected = {
        "distortion": (ratio**2 - 1).square().sum() / 40**2,
        "relative": (ratio - 1).abs().mean(),
        "stress": (d - lengths)[counted].square().sum() / lengths[counted].square().sum(),
    }[objective]
    with PATHS[path]():
        value = pair_loss(v, manifold, GraphDistances(lengths), objective)
        quality = measure(v, manifold, GraphDistances(lengths))
    assert value.item() == pytest.approx(expected.item(), rel=1e-6)  # weights are kept in float32
    assert quality.d_avg == pytest.approx((ratio - 1).abs().mean().item(), rel=1e-6)


@pytest.mark.parametrize("path", PATHS)
def test_shares_of_near_pairs_add_up_to_all(path):
    graph, manifold = balanced_tree(3, 2), ProductManifold.from_signature("H2").double()
    v, nobody = torch.randn(graph.num_nodes, 2, dtype=torch.float64), torch.empty(0, dtype=torch.long)
    near = NearPairs.of(graph, per_node=4)
    with PATHS[path]():
        whole, *parts = (
            pair_loss(v, manifold, GraphDistances(torch.empty(0, len(v)), nobody, each), row_norm=1.0)
            for each in (near, near.share(0, 3), near.share(1, 3), near.share(2, 3))
        )
    torch.testing.assert_close(torch.stack(parts).sum(), whole, rtol=1e-10, atol=0)
    assert min(parts) > 0


def loss_of(v, k, dims, distances, objective="distortion"):
    from kappagcn.embedding.pair_objectives import _Pairs

    return _Pairs.apply(v, k, dims, distances, objective, distances.row_norm(objective))


def test_through_zero_the_loss_is_smooth():
    """As polynomials are: of values at equal steps, third differences are nearly nothing."""
    generator = torch.Generator().manual_seed(4)
    v = 0.3 * torch.randn(30, 3, generator=generator, dtype=torch.float64)
    distances = GraphDistances(lengths_of(30, generator))
    grid = torch.linspace(-2e-3, 2e-3, 41, dtype=torch.float64).tolist()
    kappas = [torch.tensor([kappa], dtype=torch.float64) for kappa in grid]
    values = np.array([loss_of(v, kappa, [3], distances).item() for kappa in kappas])
    assert np.abs(np.diff(values, 3)).max() < 1e-3 * np.abs(np.diff(values, 2)).max()
    assert np.abs(np.diff(values)).min() > 0


def test_one_and_two_nodes_and_none():
    for n, wanted in ((0, 0.0), (1, 0.0), (2, 2 * (4 / 9 - 1) ** 2 / 4)):
        v = torch.zeros(n, 1, dtype=torch.float64)
        if n == 2:
            v[1] = 1.0  # two apart, three in the graph
        lengths = 3 * (1 - torch.eye(n, dtype=torch.int64))
        actual = distortion(v.requires_grad_(), Stereographic(0.0).double(), GraphDistances(lengths))
        actual.backward()
        assert actual.item() == pytest.approx(wanted)
    assert np.isnan(measure(torch.zeros(1, 1), Stereographic(0.0), GraphDistances(torch.zeros(1, 1))).worst_distortion)


@pytest.mark.parametrize("path", PATHS)
def test_pairs_without_a_path_are_left_out_and_reported(path):
    two = from_scipy(np.kron(np.eye(2), np.eye(3, k=1)))
    distances = GraphDistances.of(two)
    assert (distances.pairs, distances.unreachable_pairs) == (12, 18)
    v = torch.tensor([[0.0], [0.5], [1.0], [0.0], [0.5], [1.0]])
    with PATHS[path]():
        measured = measure(v, Stereographic(0.0), distances)
    assert measured.distortion == pytest.approx(0, abs=1e-12)
    assert measured.worst_distortion == pytest.approx(1)
    assert measured.unreachable_pairs == 18


def test_a_cycle_on_a_circle_has_no_distortion():
    n = 40
    angles = torch.arange(n) * torch.pi / n - torch.pi / 2  # halves, from −π/2: tangent vectors of a circle
    kappa = (2 * torch.pi / n) ** 2
    measured = measure(angles[:, None] / kappa**0.5, Stereographic(kappa), GraphDistances.of(cycle(n)))
    assert measured.distortion < 1e-10
    assert measured.worst_distortion == pytest.approx(1, abs=1e-4)


def test_threads_do_not_change_digits():
    generator = torch.Generator().manual_seed(6)
    v, lengths = 0.5 * torch.randn(700, 3, generator=generator), lengths_of(700, generator)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(ours(v, "H2xS1", lengths))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert torch.equal(other[0], results[0][0])
        assert torch.equal(other[1], results[0][1])
        assert other[2] == results[0][2]


def test_blocks_and_chunks_of_any_size_cover_all_pairs():
    from kappagcn.kernels import pairs

    for n in (2, pairs.CHUNKS, pairs.BLOCK - 1, pairs.BLOCK + 1, 2 * pairs.BLOCK + 3):
        v = torch.linspace(0, 1, n, dtype=torch.float64)[:, None]
        lengths = (torch.arange(n)[:, None] - torch.arange(n)[None]).abs()
        d = 2 * (v - v.T).abs()
        wanted = ((d / lengths.clamp(min=1)) ** 2 - 1).square()[lengths > 0].sum() / n**2
        actual = distortion(v, Stereographic(0.0).double(), GraphDistances(lengths))
        assert actual.item() == pytest.approx(wanted.item(), rel=1e-6)


@pytest.mark.parametrize("dim", [*range(1, 13), 32])
def test_columns_are_complete_at_any_dimension(dim):
    """Compiled loops take several columns at a time, and then what is left."""
    generator = torch.Generator().manual_seed(dim)
    signature = f"H{dim}xS{dim}(0.3)"
    v = 0.4 * torch.randn(140, 2 * dim, generator=generator, dtype=torch.float64) / dim**0.5
    lengths = lengths_of(140, generator)
    agree(ours(v, signature, lengths), reference(v, signature, lengths), 1e-10)


def test_wrong_input_is_refused():
    distances = GraphDistances.of(balanced_tree(2, 2))
    with pytest.raises(GraphError, match="expected 7 points, one for each node"):
        distortion(torch.zeros(5, 2), Stereographic(-1.0), distances)
    v = torch.zeros(7, 2, requires_grad=True)
    (grad,) = torch.autograd.grad(distortion(v, Stereographic(-1.0), distances), v)
    assert not grad.requires_grad
    with pytest.raises(GeometryError, match="first derivatives"):
        torch.autograd.grad(distortion(v, Stereographic(-1.0), distances), v, create_graph=True)
