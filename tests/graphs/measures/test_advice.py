import networkx as nx
import numpy as np
import pytest
import torch

from kappagcn import graphs as G
from kappagcn.graphs import advise, balanced_tree, classic, cycle, describe, disease, path, sphere, torus
from random_graphs import as_data


def test_advice_looks_at_the_largest_component_alone():
    for main, space in ((nx.path_graph(10), "E16"), (nx.cycle_graph(10), "S16")):
        assert G.describe(as_data(nx.disjoint_union(main, nx.star_graph(3)))).advice.signature == space


def test_the_layer_takes_the_advised_signature():
    from kappagcn import KappaGCNConv

    x, edges = torch.ones(4, 3), G.cycle(4).edge_index
    assert KappaGCNConv(3, 16, manifold="H8xS8")(x, edges).shape == (4, 16)
    assert float(KappaGCNConv(3, 2, manifold=-1.0).manifold.k) == -1


def grid(*sides, periodic=False):
    return as_data(nx.grid_graph(list(sides), periodic=periodic))


@pytest.mark.parametrize(
    ("data", "space"),
    [
        (balanced_tree(), "H"),
        (disease(), "H"),
        (torus(), "S"),
        (sphere(), "S"),
        (cycle(9), "S"),
        (path(9), "E"),
        (grid(20, 20), "E"),
        (as_data(nx.complete_graph(12)), "E"),
        (grid(20, 20, periodic=True), "S"),
        (classic("karate"), "HxS"),
        (as_data(nx.barabasi_albert_graph(800, 2, seed=0)), "HxS"),
    ],
)
def test_the_advice_fits_graphs_whose_geometry_is_known(data, space):
    statistics = describe(data, dim=10).advice
    assert "".join(c for c in statistics.signature if not c.isdigit()) == space
    assert sum(int(part[1:]) for part in statistics.signature.split("x")) == 10
    assert statistics.reasons


def test_advice_for_the_smallest():
    for nodes in (0, 1):
        result = advise(
            nodes=nodes, edges=0, most_neighbours=0, curvature=np.nan, radius=0, diameter=0, mean_distance=0.0
        )
        assert result.signature == "E16"
