import json

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

import kappagcn.graphs.measures.statistics as statistics
from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import cycle, describe, torus
from random_graphs import as_data, networks
from spaces import few


@few(30)
@given(networks(least=1))
def test_numbers_are_networkxs(graph):
    result = describe(as_data(graph))
    main = graph.subgraph(max(nx.connected_components(graph), key=lambda c: (len(c), -min(c))))
    assert (result.nodes, result.edges) == (len(graph), graph.number_of_edges())
    assert (result.components, result.largest) == (nx.number_connected_components(graph), len(main))
    assert result.isolated == nx.number_of_isolates(graph)
    degrees = [d for _, d in graph.degree]
    assert (result.degrees.least, result.degrees.most) == (min(degrees), max(degrees))
    assert result.degrees.mean == pytest.approx(np.mean(degrees))
    assert result.degrees.histogram == nx.degree_histogram(graph)
    assert result.clustering == pytest.approx(nx.average_clustering(graph))
    if len(main) > 1:
        assert (result.distances.diameter, result.distances.radius) == (nx.diameter(main), nx.radius(main))
        assert result.distances.mean == pytest.approx(nx.average_shortest_path_length(main))
    json.dumps(result.record(), allow_nan=False)


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


def test_the_text_and_homophily():
    data = cycle(4)
    data.y = torch.tensor([0, 0, 1, -1])
    result = describe(data)
    assert result.homophily == pytest.approx(0.5)
    assert "50% of edges join nodes of one class" in str(result)
    assert "heterophily" not in str(describe(cycle(5)))
    data.x, data.y = torch.ones(4, 2), torch.tensor([0, 1, 0, 1])
    assert "hardly more than by chance (adjusted -1.00): for classify try --set self-features=on" in str(describe(data))
    assert str(result).splitlines()[0] == "size           4 nodes, 4 edges"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_with_nothing_to_measure_say_so(n):
    result = G.describe(as_data(nx.empty_graph(n)))
    assert str(result.curvature) == "none (no node has two neighbours)"
    assert result.advice.reasons == ("too small to tell spaces apart",)
    json.dumps(result.record(), allow_nan=False)
    with pytest.raises(GraphError, match="dimension of at least 1"):
        G.describe(as_data(nx.empty_graph(n)), dim=0)


def test_the_record_has_a_curvature_for_every_node_of_the_graph():
    record = G.describe(as_data(nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(8)))).record()
    values = record["curvature"]["per_node"]
    assert values[:3] == [None] * 3
    assert values[3:] == [round(1 / 7, 6)] * 8
