"""Distortion from the distances of some nodes: value and gradients without bias, and how far off they are."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.embedding.graph_distances import GraphDistances, NearPairs
from kappagcn.embedding.pair_objectives import distortion, pair_loss
from kappagcn.embedding.quality import measure
from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold, tangent_dist
from kappagcn.graphs import balanced_tree, from_scipy, shortest_paths, star
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn.point_distances import distances_from
from kappagcn.objectives import PAIR_OBJECTIVES
from spaces import few

PATHS = {"compiled": contextlib.nullcontext, "torch": torch_only}
SIGNATURES = ["H3", "S3(0.02)", "E3", "H2(-4)", "H2xS2(0.3)", "H1xE2xS1(0.1)"]
TREE = balanced_tree(3, 3)
SMALL = balanced_tree(2, 3)  # for sums over all of its sources, one by one


def points(signature, n, seed):
    generator = torch.Generator().manual_seed(seed)
    manifold = ProductManifold.from_signature(signature, trainable=True).double()
    return torch.randn(n, manifold.dim, generator=generator, dtype=torch.float64), manifold


def slopes(v, manifold, distances, objective="distortion", norm=None):
    v = v.detach().requires_grad_()
    kappas = [f.curvature.raw for f in manifold.factors if f.curvature.raw.requires_grad]
    loss = pair_loss(v, manifold, distances, objective, norm)
    result = torch.autograd.grad(loss, [v, *kappas])
    return loss.detach(), result[0], torch.stack(result[1:]) if kappas else torch.zeros(0)


@pytest.mark.parametrize("objective", PAIR_OBJECTIVES)
@pytest.mark.parametrize("path", PATHS)
@few(8)
@given(st.sampled_from(SIGNATURES), st.sampled_from([None, 2, 20]), st.integers(0, 2**31))
def test_the_mean_over_all_sources_is_the_whole(path, objective, signature, per_node, seed):
    """Value and gradients are estimated without bias, with near pairs beside the sources and without."""
    v, manifold = points(signature, SMALL.num_nodes, seed)
    near, everything = None if per_node is None else NearPairs.of(SMALL, per_node=per_node), GraphDistances.of(SMALL)
    norm = everything.row_norm(objective)
    with PATHS[path]():
        whole = slopes(v, manifold, everything, objective, norm)
        each = [GraphDistances.of(SMALL, [node], near) for node in range(SMALL.num_nodes)]
        alone = [slopes(v, manifold, one, objective, norm) for one in each]
    for one, many in zip(whole, zip(*alone, strict=True), strict=True):
        torch.testing.assert_close(torch.stack(many).mean(0), one, rtol=1e-6, atol=1e-7)


@given(st.sampled_from(SIGNATURES), st.integers(0, 2**31))
def test_compiled_and_torch_agree(signature, seed):
    v, manifold = points(signature, TREE.num_nodes, seed)
    distances = GraphDistances.of(TREE, [5, 0, 17, 5])
    with torch_only():
        slow = slopes(v, manifold, distances), measure(v, manifold, distances)
    fast = slopes(v, manifold, distances), measure(v, manifold, distances)
    for one, other in zip(fast[0], slow[0], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
    for one, other in zip(fast[1], slow[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("path", PATHS)
@given(st.sampled_from(SIGNATURES), st.integers(0, 2**31))
def test_distances_are_those_of_the_space(path, signature, seed):
    v, manifold = points(signature, 30, seed)
    with PATHS[path]():
        result = distances_from(v, manifold, [3, 29])
    squares = sum(
        tangent_dist(x[[3, 29], None], x[None], k=factor.k) ** 2
        for x, factor in zip(v.split(manifold.dims, 1), manifold.factors, strict=True)
    )
    torch.testing.assert_close(result, squares.sqrt().detach(), rtol=1e-9, atol=1e-7)
    assert result[0, 3] == 0


@pytest.mark.parametrize("path", PATHS)
def test_measured_from_some_sources_with_its_error(path):
    v, manifold = points("H2xS2(0.3)", TREE.num_nodes, 0)
    lengths = shortest_paths(TREE).double()
    with PATHS[path]():
        ratio = (distances_from(v, manifold, range(TREE.num_nodes)) / lengths.fill_diagonal_(1)).fill_diagonal_(1)
        measured = measure(v, manifold, GraphDistances.of(TREE, [1, 2, 30]))
        whole = measure(v, manifold, GraphDistances.of(TREE))
    rows = (ratio.square() - 1).square().mean(1)
    chosen = rows[[1, 2, 30]]
    assert measured.distortion == pytest.approx(chosen.mean().item(), rel=1e-6)
    assert measured.distortion_std_error == pytest.approx(chosen.std().item() / 3**0.5, rel=1e-6)
    some = ratio[[1, 2, 30]]
    some = torch.cat([row[torch.arange(len(row)) != i] for row, i in zip(some, [1, 2, 30], strict=True)])
    assert measured.worst_distortion == pytest.approx((some.max() / some.min()).item(), rel=1e-6)
    assert whole.distortion == pytest.approx(rows.mean().item(), rel=1e-6)
    assert whole.distortion_std_error == 0


def test_pairs_without_a_path_do_not_count():
    graph = from_scipy(sp.block_diag([[[0, 1], [1, 0]], [[0, 1], [1, 0]]]).tocsr())
    distances = GraphDistances.of(graph, [0, 3])
    assert (distances.pairs, distances.unreachable_pairs) == (2, 4)
    v = torch.tensor([[0.0], [0.5], [7.0], [7.25]])
    measured = measure(v, ProductManifold.from_signature("E1"), distances)
    assert measured.distortion == pytest.approx((0 + (0.25 - 1) ** 2) / 8)


# Near pairs beside the sources


def test_near_pairs_are_those_within_a_few_steps():
    lengths = shortest_paths(TREE)
    for per_node in (2, 6, 20, 100):
        near = NearPairs.of(TREE, per_node=per_node)
        assert len(near.others) <= per_node * TREE.num_nodes
        actual = torch.zeros(TREE.num_nodes, TREE.num_nodes)
        rows = torch.repeat_interleave(torch.arange(TREE.num_nodes), near.places.diff())
        actual[rows, near.others] = near.weights
        wanted = torch.where((lengths > 0) & (lengths <= near.steps), lengths.double().pow(-2), 0).float()
        assert torch.equal(actual, wanted)
        wider = (lengths > 0) & (lengths <= near.steps + 1)
        assert wider.sum() > per_node * TREE.num_nodes or near.steps == lengths.max()
        drawn = torch.tensor([7, 0, 39])
        inside = torch.zeros(3, TREE.num_nodes)
        inside[near.entries(drawn)] = 1
        assert torch.equal(inside, (wanted[drawn] > 0).float())


def test_there_are_no_near_pairs_where_edges_have_lengths_or_hubs_too_many():
    weighted = TREE.clone()
    weighted.edge_weight = torch.full((TREE.num_edges,), 2.0)
    assert NearPairs.of(weighted).steps == 0
    assert NearPairs.of(star(2000), per_node=1).steps == 0
    assert NearPairs.of(star(2000), per_node=2).steps == 1
    assert NearPairs.of(from_scipy(sp.csr_array((4, 4)))).steps == 0


def test_near_pairs_make_gradients_steadier():
    """At points that unfold a tree halfway, what one source says of the gradient differs much less from the whole."""
    tree = balanced_tree(4, 4)
    v, manifold = points("H3", tree.num_nodes, 0)
    whole = slopes(v, manifold, GraphDistances.of(tree))[1]
    off = {}
    for name, near in (("near", NearPairs.of(tree)), ("none", None)):
        rows = [slopes(v, manifold, GraphDistances.of(tree, [i], near))[1] - whole for i in range(0, 341, 10)]
        off[name] = torch.stack(rows).square().mean().sqrt()
    assert off["near"] < 0.3 * off["none"]


# Bad input


def test_near_pairs_need_sources_and_are_not_measured():
    near = NearPairs.of(TREE, per_node=6)
    with pytest.raises(GraphError, match="near: expected near pairs only together with sources"):
        GraphDistances.of(TREE, near=near)
    v, manifold = points("E2", 40, 0)
    beside = GraphDistances.of(TREE, [1, 2], near)
    with pytest.raises(GraphError, match="found near pairs beside them"):
        measure(v, manifold, beside)
    fixed = ProductManifold.from_signature("E2").double()
    assert distortion(v, fixed, beside).item() == pytest.approx(slopes(v, manifold, beside)[0].item())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("sources", [[40], [-1], [0.5], [True], [[1]]])
def test_nodes_that_there_are_not_are_refused(path, sources):
    v, manifold = points("H2", 40, 0)
    with PATHS[path](), pytest.raises(GraphError, match="sources: expected n"):
        distances_from(v, manifold, sources)


@pytest.mark.parametrize("path", PATHS)
def test_points_opposite_on_a_circle_have_a_distance(path):
    manifold = ProductManifold.from_signature("S1")
    for a in torch.linspace(0, 3, 100).double().tolist():
        v = torch.tensor([[a], [a - torch.pi]], dtype=torch.float64)  # twice as far as the antipode: the same point
        with PATHS[path]():
            assert distances_from(v, manifold, [0])[0, 1] < 1e-6


def test_what_is_not_a_number_stays_so():
    for space in ("H2", "E2", "S2"):
        v, manifold = points(space, 5, 0)
        v[3] = torch.nan
        assert distances_from(v, manifold, [0])[0, 3].isnan()


def test_lengths_may_be_large_whole_numbers():
    lengths = torch.tensor([[0, 10**9], [10**9, 0]])
    assert GraphDistances(lengths).weights[0, 1].item() == pytest.approx(1e-18)
    assert GraphDistances(lengths).longest == 1e9
    far = torch.tensor([[0, 127], [127, 0]], dtype=torch.int8)
    assert GraphDistances(far).weights[0, 1].item() == pytest.approx(127**-2)


def test_more_pairs_than_memory_are_refused():
    with pytest.raises(GraphError, match=r"found 60,001 nodes\. Take the distances of some sources"):
        GraphDistances.of(star(60_000))
