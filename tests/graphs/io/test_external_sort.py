"""Sorting on disk gives the adjacency that sorting in memory gives."""

import numpy as np
import pytest

from kappagcn.errors import GraphError
from kappagcn.graphs import assemble
from kappagcn.graphs.io.edge_stream import EdgeStream
from kappagcn.graphs.io.external_sort import sort_edges


def raw(weighted, count=6000, nodes=150):
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(nodes - 5, size=(2, count))  # the last five have no edge
    return sources, targets, rng.uniform(0.5, 2, count) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("memory", [1, 2**30])  # many runs, and one
def test_the_same_as_in_memory(tmp_path, weighted, memory):
    sources, targets, weights = raw(weighted)
    stream = EdgeStream.of_arrays("random", sources, targets, weights)
    done = []
    edges = sort_edges(stream, tmp_path, num_nodes=150, memory=memory, advance=done.append)
    data = assemble(sources, targets, 150, weights=weights)
    assert np.array_equal(edges.indices().all(), data.edge_index[1].numpy())
    assert np.array_equal(edges.degrees(), np.bincount(data.edge_index[0].numpy(), minlength=150))
    assert (edges.nodes, edges.entries) == (150, data.num_edges)
    loops = int((sources == targets).sum())
    assert 1.9 * len(sources) < sum(done) <= 2 * len(sources)
    assert f"{loops} self-loops removed" in edges.report
    assert "5 isolated nodes" in edges.report
    if weighted:
        np.testing.assert_allclose(edges.weights().all(), data.edge_weight.numpy(), rtol=1e-6)
        sums = np.bincount(data.edge_index[0].numpy(), data.edge_weight.numpy().astype(float), 150)
        np.testing.assert_allclose(edges.strengths(), sums, rtol=1e-6)
    else:
        assert edges.weights() is None
        assert np.array_equal(edges.strengths(), edges.degrees())
    assert not list(tmp_path.glob("run-*"))


def test_one_edge_given_many_times_is_one_edge(tmp_path):
    stream = EdgeStream.of_arrays("same", np.zeros(5000, int), np.ones(5000, int))
    edges = sort_edges(stream, tmp_path, memory=1)
    assert (edges.nodes, edges.indices().all().tolist()) == (2, [1, 0])


def test_no_edges(tmp_path):
    edges = sort_edges(EdgeStream.of_arrays("empty", np.empty(0, int), np.empty(0, int)), tmp_path, num_nodes=3)
    assert edges.entries == 0
    assert edges.degrees().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("sources", "weights", "nodes"),
    [([-1], None, None), ([2**31], None, None), ([5], None, 3), ([10**9], None, None), ([0], [0.0], None)],
)
def test_wrong_edges_are_refused(tmp_path, sources, weights, nodes):
    weights = None if weights is None else np.array(weights)
    stream = EdgeStream.of_arrays("bad", np.array(sources), np.array([1]), weights)
    with pytest.raises(GraphError, match="bad: expected"):
        sort_edges(stream, tmp_path, num_nodes=nodes)
