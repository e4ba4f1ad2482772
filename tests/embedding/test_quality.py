"""Distortion of points that are known: average, relative, worst-case, over all pairs and over sources."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import RATIO_EDGES, best_scale, check_result, measure
from kappagcn.errors import EmbeddingFailedError
from kappagcn.geometry import ProductManifold
from kappagcn.graphs import balanced_tree, from_scipy, path
from kappagcn.graphs.io.undirected import adjacency
from kappagcn.kernels.dispatch import torch_only

PATHS = pytest.mark.parametrize("kernels", [contextlib.nullcontext, torch_only], ids=["compiled", "torch"])
LINE = torch.tensor([[0.0], [0.5], [1.5]], dtype=torch.float64)  # of the plane, at half its distance from the origin
FLAT = ProductManifold.from_signature("E1")
PATH = GraphDistances.of(path(4))
PLACES = torch.arange(4.0, dtype=torch.float64)[:, None] / 2


@PATHS
def test_numbers_of_three_points_on_a_line(kernels):
    """Distances 1, 2 and 3 where the graph has 1, 1 and 2: ratios 1, 2 and 3/2."""
    with kernels():
        quality = measure(LINE, FLAT, GraphDistances.of(path(3)))
    assert quality.distortion == pytest.approx(2 * (0 + 9 + 1.25**2) / 9)
    assert quality.d_avg == pytest.approx((0 + 1 + 0.5) / 3)
    assert quality.worst_distortion == pytest.approx(2)
    assert quality.unreachable_pairs == 0
    assert quality.distortion_std_error == 0


@PATHS
def test_all_nodes_as_sources_are_all_pairs(kernels):
    tree = balanced_tree(2, 3)
    v = torch.randn(tree.num_nodes, 4, dtype=torch.float64)
    space = ProductManifold.from_signature("H2xS2(0.1)")
    with kernels():
        whole = measure(v, space, GraphDistances.of(tree))
        sources = measure(v, space, GraphDistances.of(tree, list(range(tree.num_nodes))))
    assert sources[:4] == pytest.approx(whole[:4], rel=1e-9)
    assert sources.distortion_std_error > 0


def test_pairs_without_a_path_do_not_count():
    whole = measure(LINE, FLAT, GraphDistances.of(path(3)))
    line = adjacency(path(3))
    line.resize((4, 4))
    apart = measure(torch.cat([LINE, LINE[:1]]), FLAT, GraphDistances.of(from_scipy(line)))
    assert apart.unreachable_pairs == 6
    assert apart.d_avg == pytest.approx(whole.d_avg)
    assert apart.distortion == pytest.approx(whole.distortion * 9 / 16)


def test_ratios_are_counted_over_all_pairs_and_the_last_bin_is_open():
    counts = measure(PLACES * 1.01, FLAT, PATH).ratio_counts
    assert counts.sum() == PATH.pairs == counts[(RATIO_EDGES[:-1] < 1.01).nonzero()[0][-1]]
    assert measure(100 * PLACES, FLAT, PATH).ratio_counts[-1] == PATH.pairs


def test_the_best_scale_undoes_a_factor():
    assert best_scale(4 * PLACES, FLAT, PATH) == pytest.approx(0.25, rel=1e-6)
    assert best_scale(0 * PLACES, FLAT, PATH) == 1.0


def test_nodes_at_one_place_are_named():
    places = PLACES.clone()
    places[3] = places[1]
    assert measure(places, FLAT, PATH).coincident_nodes.tolist() == [1, 3]
    assert measure(PLACES, FLAT, PATH).coincident_nodes.tolist() == []


@pytest.mark.parametrize(("objective", "fails"), [("distortion", True), ("relative", True), ("neighbours", False)])
def test_a_result_no_better_than_one_place_is_an_error(objective, fails):
    result = SimpleNamespace(objective=objective, distortion_=0.75, d_avg_=1.0, space="E1")
    if fails:
        with pytest.raises(EmbeddingFailedError, match="better than all points at one place"):
            check_result(result, SimpleNamespace(distances=PATH))
    else:
        check_result(result, SimpleNamespace(distances=PATH))
