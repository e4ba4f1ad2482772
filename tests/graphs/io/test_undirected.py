import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import contains_self_loops, is_undirected

from kappagcn import graphs as G
from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import adjacency, assemble

edge_lists = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
)


@given(edge_lists, st.booleans())
def test_any_edge_list_becomes_the_simple_undirected_graph(given_edges, weighted):
    n, edges = given_edges
    rows, cols = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    weights = np.arange(1.0, len(edges) + 1) + 1 if weighted else None
    data = assemble(rows, cols, n, weights=weights)
    assert {tuple(sorted(e)) for e in data.edge_index.T.tolist()} == {tuple(sorted(e)) for e in edges if e[0] != e[1]}
    assert is_undirected(data.edge_index, data.get("edge_weight"), num_nodes=n)
    assert not contains_self_loops(data.edge_index)
    keys = data.edge_index[0] * n + data.edge_index[1]
    assert (keys[1:] > keys[:-1]).all()  # sorted, each once
    if data.get("edge_weight") is not None:
        for (u, v), w in zip(data.edge_index.T.tolist(), data.edge_weight.tolist(), strict=True):
            own = [i + 2 for i, e in enumerate(edges) if sorted(e) == sorted((u, v))]
            assert w == pytest.approx(sum(own) / len(own), rel=1e-6)


def test_the_report_counts_everything_it_did():
    data = assemble(np.array([0, 1, 0, 2, 3, 2]), np.array([1, 0, 1, 2, 2, 3]), 6)
    assert data.report == (
        "6 nodes, 2 edges; 1 repeated edge merged; 1 self-loop removed; 4 components; 2 isolated nodes"
    )
    assert assemble(np.array([0, 1, 1]), np.array([1, 0, 2]), 3).report == (
        "3 nodes, 2 edges; 1 edge given in one direction only, made undirected"
    )
    assert assemble(np.array([0]), np.array([1]), 2, weights=[2.5]).report == "2 nodes, 1 edge; weighted"
    both_ways = np.array([0, 1]), np.array([1, 0]), 2
    assert assemble(*both_ways, weights=[2.0, 2.0]).report == "2 nodes, 1 edge; weighted"
    averaged = assemble(*both_ways, weights=[2.0, 4.0])
    assert averaged.edge_weight.tolist() == [3.0, 3.0]
    assert averaged.report == "2 nodes, 1 edge; weighted, different weights of one pair averaged"
    assert assemble(np.array([0]), np.array([1]), 2, directed=True).report.endswith("made undirected (1 one-way)")


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_no_weights_are_refused(bad):
    with pytest.raises(GraphError, match=r"expected weights that are positive and finite, found .* at edge 1"):
        assemble(np.array([0, 1]), np.array([1, 2]), 3, weights=[1.0, bad])


@pytest.mark.parametrize(
    ("bad", "advice"),
    [
        (0.0, "Scaling does not help: merge nodes that are at one place, give these edges positive weights,"),
        (-1.0, "Scaling does not help: give these edges positive weights,"),
        (1e-60, "Scale the weights."),
        (1e60, "Scale the weights."),
    ],
)
def test_the_advice_about_weights_helps(bad, advice):
    with pytest.raises(GraphError) as caught:
        assemble(np.array([0, 1]), np.array([1, 2]), 3, weights=[1.0, bad])
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: assemble(np.array([0]), np.array([3]), 3), "expected nodes from 0 to 2, found 3 to 3"),
        (lambda: assemble(np.array([0.5]), np.array([1]), 3), "expected nodes as a list of integers"),
        (lambda: assemble(np.array([0, 1]), np.array([1]), 3), "as many edge starts as ends"),
        (lambda: assemble(np.array([0]), np.array([1]), 2, weights=[1.0, 2.0]), "one weight per edge"),
        (lambda: assemble(np.array([0]), np.array([1]), 2, x=torch.ones(3, 1)), "expected x for 2 nodes, found 3"),
        (lambda: assemble(np.array([0]), np.array([1]), 2, y=torch.ones(3)), "expected y for 2 nodes, found 3"),
    ],
)
def test_what_cannot_be_used_is_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()


@pytest.mark.parametrize(
    ("edges", "fault"),
    [
        ([[0, 1, 2], [1, 2, 3]], "edges in one direction only"),
        ([[0, 1, 1], [1, 0, 1]], "self-loops"),
        ([[0, 0, 1, 1], [1, 1, 0, 0]], "repeated edges"),
        ([[0, 1, 1, 2, 2, 0], [1, 2, 0, 1, 0, 1]], "repeated edges|one direction"),
    ],
)
def test_raw_data_is_not_measured_as_if_it_were_clean(edges, fault):
    data = Data(edge_index=torch.tensor(edges), num_nodes=4)
    for measure in (G.shortest_paths, G.describe, G.parallelogram_curvature, G.hyperbolicity, G.clustering):
        with pytest.raises(GraphError, match=f"found .*({fault}).*from_pyg"):
            measure(data)
    clean = G.from_pyg(data)
    assert G.shortest_paths(clean).shape == (4, 4)
    assert clean.is_undirected()


def test_a_weight_that_differs_by_direction_is_noticed():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.tensor([1.0, 2.0]), num_nodes=2)
    with pytest.raises(GraphError, match="one direction only"):
        G.shortest_paths(data)
    assert G.from_pyg(data).edge_weight.tolist() == [1.5, 1.5]


def test_a_tiny_file_cannot_ask_for_billions_of_nodes(tmp_path):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), num_nodes=2**31 - 1)
    with pytest.raises(GraphFileError, match="2,147,483,647 nodes for 1 of those"):
        G.read_graph(tmp_path / "g.npz")
    torch.save({"edge_index": torch.tensor([[0], [2**31 - 2]])}, tmp_path / "g.pt")
    with pytest.raises(GraphFileError, match="Number the nodes without gaps"):
        G.read_graph(tmp_path / "g.pt")


def test_things_that_are_no_graph_are_named():
    for thing in (nx.path_graph(3), "friends.csv", None):
        for measure in (G.describe, G.shortest_paths, G.parallelogram_curvature):
            with pytest.raises(GraphError, match="expected a PyG Data, found"):
                measure(thing)


@pytest.mark.parametrize("order", [None, 0], ids=["sorted", "shuffled"])
@pytest.mark.parametrize("weighted", [False, True])
def test_adjacency_does_not_depend_on_the_order_of_edges(order, weighted):
    rng = np.random.default_rng(3)
    graph = assemble(*rng.integers(0, 30, (2, 60)), 30, weights=rng.random(60))
    dense = np.zeros((30, 30))
    dense[tuple(graph.edge_index.numpy())] = graph.edge_weight.numpy()
    if order is not None:
        places = torch.from_numpy(np.random.default_rng(order).permutation(graph.num_edges))
        graph.edge_index, graph.edge_weight = graph.edge_index[:, places], graph.edge_weight[places]
    matrix = adjacency(graph, weighted=weighted)
    assert matrix.dtype == (np.float64 if weighted else bool)
    assert matrix.has_canonical_format
    assert np.array_equal(matrix.toarray(), dense if weighted else dense > 0)
