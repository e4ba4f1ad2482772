import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import kappagcn.graphs.measures.paths as paths
from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import adjacency, assemble, balanced_tree, cycle, path, path_blocks, shortest_paths, sphere, torus
from kappagcn.graphs.measures.paths import second_sweep
from random_graphs import as_data, lengths, networks


@given(networks(most=20), st.data())
def test_steps_are_networkxs(graph, draw):
    data = as_data(graph)
    want = lengths(graph)
    assert (shortest_paths(data).numpy() == want).all()
    sources = draw.draw(st.lists(st.integers(0, len(graph) - 1), max_size=5))
    assert (shortest_paths(data, sources).numpy() == want[sources]).all()


@pytest.mark.parametrize("share", [0, 8, 10**9])
@pytest.mark.parametrize("words", [1, 3, 32])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_way_of_stepping_gives_the_same(monkeypatch, share, words, workers):
    """Dense steps alone (share huge), sparse ones alone (0), and both mixed; blocks of any size."""
    monkeypatch.setattr(paths, "SPARSE_SHARE", share)
    monkeypatch.setattr(paths, "MAX_WORDS", words)
    graph = nx.disjoint_union(nx.barbell_graph(30, 40), nx.gnm_random_graph(150, 400, seed=1))
    assert (shortest_paths(as_data(graph), workers=workers).numpy() == lengths(graph)).all()


def test_the_papers_graphs_agree_with_scipy():
    for data in (balanced_tree(), torus(), sphere()):
        result = shortest_paths(data)
        assert result.dtype == torch.int8
        assert (result.numpy() == csgraph.shortest_path(adjacency(data), unweighted=True)).all()


@pytest.mark.parametrize(
    ("n", "dtype"), [(100, torch.int8), (128, torch.int8), (129, torch.int16), (40_000, torch.int32)]
)
def test_lengths_take_the_smallest_type_that_holds_them(n, dtype):
    result = shortest_paths(path(n), [0, n - 1])
    assert result.dtype == dtype
    assert torch.equal(result[0].long(), torch.arange(n))
    assert torch.equal(result[1].long(), torch.arange(n).flip(0))


@given(networks(least=2, connected=False), st.booleans(), st.randoms(use_true_random=False))
def test_weighted_lengths_are_dijkstras(graph, whole, random):
    for u, v in graph.edges:
        graph.edges[u, v]["weight"] = random.randint(1, 300) if whole else random.uniform(0.1, 3)
    data = as_data(graph)
    if "edge_weight" not in data:
        return
    actual = shortest_paths(data)
    assert actual.is_floating_point() is not whole
    want = dict(nx.all_pairs_dijkstra_path_length(graph))
    for u in graph:
        for v in graph:
            if v in want[u]:
                assert float(actual[u, v]) == pytest.approx(want[u][v], rel=1e-6)
            else:
                assert actual[u, v] == (-1 if whole else np.inf)
    assert (shortest_paths(data, weighted=False).numpy() == lengths(graph)).all()


def test_blocks_cover_the_sources_in_order_and_stay_small():
    data = torus()
    seen = []
    for sources, steps in path_blocks(data, np.arange(999, -1, -1)):
        assert steps.shape == (1000, len(sources))
        seen += sources.tolist()
    assert seen == list(range(999, -1, -1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shortest_paths(cycle(5), [5]), "expected sources from 0 to 4, found 5"),
        (lambda: shortest_paths(cycle(5), [0.5]), "sources as a list of integers"),
        (lambda: shortest_paths(cycle(5), weighted=True), "expected edge weights to take as lengths, found none"),
        (
            lambda: shortest_paths(assemble(np.array([0]), np.array([1]), 10**6)),
            "found 1,000,000: the matrix would take 931 GiB",
        ),
    ],
)
def test_what_cannot_be_computed_is_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()


def test_graphs_without_edges_or_nodes():
    assert shortest_paths(as_data(nx.empty_graph(3))).tolist() == [[0, -1, -1], [-1, 0, -1], [-1, -1, 0]]
    assert shortest_paths(as_data(nx.empty_graph(0))).shape == (0, 0)
    assert shortest_paths(cycle(5), []).shape == (0, 5)


@given(networks(least=2, connected=True))
def test_the_second_sweep_bounds_the_diameter(graph):
    data = as_data(graph)
    reach = shortest_paths(data, [0]).numpy().max(axis=0)
    assert second_sweep(data, reach) == nx.diameter(graph)  # 64 sources are all of them here


def test_the_second_sweep_finds_a_trees_diameter_from_anywhere():
    data = balanced_tree(5, 3)
    for start in (0, 50, 363):
        assert second_sweep(data, shortest_paths(data, [start])[0].numpy()) == 10


def test_an_all_pairs_matrix_of_floats_counts_eight_bytes():
    n = 60_000
    rows = np.arange(n - 1)
    data = G.assemble(rows, rows + 1, n, weights=np.full(n - 1, 0.5))
    with pytest.raises(GraphError, match="27 GiB"):
        G.shortest_paths(data)
