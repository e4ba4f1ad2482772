"""Distortion of points that are known: average, relative, worst-case, over all pairs and over sources."""

import contextlib

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.near_pairs import NearPairs
from kappagcn.embedding.quality import measure
from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.graphs import balanced_tree, from_scipy, path
from kappagcn.graphs.io.undirected import adjacency
from kappagcn.kernels.dispatch import torch_only

PATHS = pytest.mark.parametrize("kernels", [contextlib.nullcontext, torch_only], ids=["compiled", "torch"])
LINE = torch.tensor([[0.0], [0.5], [1.5]], dtype=torch.float64)  # of the plane, at half its distance from the origin
FLAT = ProductManifold.from_signature("E1")


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


def test_near_pairs_are_for_training_alone():
    tree = balanced_tree(2, 3)
    distances = GraphDistances.of(tree, [0, 1], NearPairs.of(tree, per_node=4))
    with pytest.raises(GraphError, match="expected distances of all pairs or of sources"):
        measure(torch.zeros(tree.num_nodes, 1), FLAT, distances)
