import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import contains_self_loops, is_undirected

from kappagcn.errors import GraphError
from kappagcn.graphs import adjacency, assemble, components, induced, largest_component, normalize_rows, standardize
from kappagcn.graphs.io.undirected import as_features, as_labels
from random_graphs import as_data, networks

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
    assert assemble(np.array([0]), np.array([1]), 2, directed=True).report.endswith("made undirected (1 one-way)")


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_no_weights_are_refused(bad):
    with pytest.raises(GraphError, match=r"expected weights that are positive and finite, found .* at edge 1"):
        assemble(np.array([0, 1]), np.array([1, 2]), 3, weights=[1.0, bad])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: assemble(np.array([0]), np.array([3]), 3), "expected nodes from 0 to 2, found 3 to 3"),
        (lambda: assemble(np.array([0.5]), np.array([1]), 3), "expected nodes as a list of integers"),
        (lambda: assemble(np.array([0, 1]), np.array([1]), 3), "as many edge starts as ends"),
        (lambda: assemble(np.array([0]), np.array([1]), 2, weights=[1.0, 2.0]), "one weight per edge"),
        (lambda: assemble(np.array([0]), np.array([1]), 2, x=torch.ones(3, 1)), "expected x for 2 nodes, found 3"),
        (lambda: assemble(np.array([0]), np.array([1]), 2, y=torch.ones(3)), "expected y for 2 nodes, found 3"),
        (lambda: as_features([[1.0, np.nan]]), "expected finite features, found 1 entry that"),
        (lambda: as_features([[1e300, 1e300]]), "found 2 entries"),
        (lambda: as_features([["a"]]), "features that are numbers"),
        (lambda: as_features([1.0]), r"shape \(nodes, features\)"),
        (lambda: as_labels([0, 1, 7]), "expected labels from 0 to 2, or −1 for unknown, found 0 to 7"),
        (lambda: as_labels([0, -2]), "found -2 to 0"),
        (lambda: as_labels([0.5]), "expected labels that are integers"),
        (lambda: as_labels([np.nan]), "expected labels that are integers"),
        (lambda: as_labels(["a"]), "labels as a list of integers"),
        (lambda: as_labels([0, 5, 1, 2, 3, 4], classes=3), "from 0 to 2"),
    ],
)
def test_what_cannot_be_used_is_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()


def test_features_stay_sparse_when_asked():
    import scipy.sparse as sp

    matrix = sp.random_array((20, 30), density=0.1, rng=np.random.default_rng(0))
    dense, sparse = as_features(matrix), as_features(matrix, sparse=True)
    assert sparse.layout == torch.sparse_csr
    assert torch.equal(sparse.to_dense(), dense)
    assert torch.allclose(normalize_rows(sparse).to_dense(), normalize_rows(dense), rtol=1e-6)
    sums = normalize_rows(dense).abs().sum(dim=1)
    filled = dense.abs().sum(dim=1) > 0
    assert torch.allclose(sums, filled.float())


@given(networks())
def test_components_are_networkxs_largest_first(graph):
    part = components(as_data(graph))
    sizes = sorted((len(c) for c in nx.connected_components(graph)), reverse=True)
    assert np.bincount(part).tolist() == sizes
    assert {frozenset(np.flatnonzero(part == i).tolist()) for i in range(len(sizes))} == {
        frozenset(c) for c in nx.connected_components(graph)
    }


@given(networks(least=2), st.data())
def test_the_induced_subgraph_takes_along_what_belongs_to_nodes(graph, draw):
    n = len(graph)
    nodes = np.array(draw.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1)))
    data = as_data(graph)
    data.x = as_features(np.arange(2.0 * n).reshape(n, 2), sparse=draw.draw(st.booleans()))
    data.y = torch.arange(n)
    data.node_names = [f"n{i}" for i in range(n)]
    found = induced(data, nodes)
    assert found.y.tolist() == nodes.tolist()
    assert found.node_names == [f"n{i}" for i in nodes]
    assert (found.x.to_dense()[:, 0] == 2 * torch.from_numpy(nodes)).all()
    want = nx.to_numpy_array(graph, nodelist=list(range(n)))[np.ix_(nodes, nodes)]
    assert (adjacency(found).toarray() == want).all()


def test_standardizing_drops_weights_and_the_smaller_components():
    data = assemble(np.array([0, 1, 3]), np.array([1, 2, 4]), 6, weights=[2.0, 3.0, 1.0])
    plain = standardize(data)
    assert plain.num_nodes == 3
    assert "edge_weight" not in plain
    assert "edge_weight" in data  # the given graph is left alone
    assert plain.report.startswith("3 nodes, 2 edges; cut from a graph of 6 nodes, 3 edges")
    assert largest_component(plain) is plain
