import json

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings

import kappagcn.graphs.measures.statistics as statistics
from kappagcn.graphs import advise, balanced_tree, classic, cycle, describe, disease, path, sphere, torus
from random_graphs import as_data, networks


@settings(max_examples=30)
@given(networks(least=1))
def test_numbers_are_networkxs(graph):
    found = describe(as_data(graph))
    main = graph.subgraph(max(nx.connected_components(graph), key=lambda c: (len(c), -min(c))))
    assert (found.nodes, found.edges) == (len(graph), graph.number_of_edges())
    assert (found.components, found.largest) == (nx.number_connected_components(graph), len(main))
    assert found.isolated == nx.number_of_isolates(graph)
    degrees = [d for _, d in graph.degree]
    assert (found.degrees.least, found.degrees.most) == (min(degrees), max(degrees))
    assert found.degrees.mean == pytest.approx(np.mean(degrees))
    assert found.degrees.histogram == nx.degree_histogram(graph)
    assert found.clustering == pytest.approx(nx.average_clustering(graph))
    if len(main) > 1:
        assert (found.distances.diameter, found.distances.radius) == (nx.diameter(main), nx.radius(main))
        assert found.distances.mean == pytest.approx(nx.average_shortest_path_length(main))
    json.dumps(found.record(), allow_nan=False)


def test_large_graphs_are_measured_from_some_nodes_and_say_so(monkeypatch):
    exact = describe(torus())
    monkeypatch.setattr(statistics, "ALL_SOURCES", 10)
    monkeypatch.setattr(statistics, "EXACT_CURVATURE", 10)
    sampled = describe(torus())
    assert exact.distances.exact
    assert not sampled.distances.exact
    assert sampled.distances.mean == pytest.approx(exact.distances.mean, rel=0.02)
    assert sampled.distances.diameter <= exact.distances.diameter
    assert "at least" in str(sampled)
    assert abs(sampled.curvature.mean - exact.curvature.mean) < 4 * sampled.curvature.standard_error
    assert sampled.curvature.standard_error > 0 == exact.curvature.standard_error


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
        (grid(20, 20, periodic=True), "S"),
        (classic("karate"), "HxS"),
        (as_data(nx.barabasi_albert_graph(800, 2, seed=0)), "HxS"),
    ],
)
def test_the_advice_fits_graphs_whose_geometry_is_known(data, space):
    found = describe(data, dim=10).advice
    assert "".join(c for c in found.signature if not c.isdigit()) == space
    assert sum(int(part[1:]) for part in found.signature.split("x")) == 10
    assert found.reasons


def test_advice_for_the_smallest():
    for nodes in (0, 1):
        found = advise(
            nodes=nodes, edges=0, most_neighbours=0, curvature=np.nan, radius=0, diameter=0, mean_distance=0.0
        )
        assert found.signature == "E16"


def test_the_text_and_homophily():
    data = cycle(4)
    data.y = torch.tensor([0, 0, 1, -1])
    found = describe(data)
    assert found.homophily == pytest.approx(0.5)
    assert "50% of edges join nodes of one class" in str(found)
    assert str(found).splitlines()[0] == "size           4 nodes, 4 edges"
