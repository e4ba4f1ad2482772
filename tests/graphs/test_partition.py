"""Parts of a graph, and the folder in the order of parts."""

import numpy as np
import pytest

from kappagcn.errors import GraphError
from kappagcn.graphs import adjacency, assemble, disease, partition
from kappagcn.graphs.io.folder import map_folder, read_folder, save_folder
from kappagcn.graphs.io.node_data import as_features
from kappagcn.graphs.partition import METHODS, assign_parts, cut_edges, order_by_parts


def local_graph(nodes, edges, seed=0):
    """Edges between close numbers, but for a tenth."""
    rng = np.random.default_rng(seed)
    first = rng.integers(nodes, size=edges)
    second = (first + rng.integers(1, 20, size=edges)) % nodes
    strays = rng.random(edges) < 0.1
    second[strays] = rng.integers(nodes, size=strays.sum())
    return assemble(first, second, nodes)


GRAPH = local_graph(3000, 15_000)
MATRIX = adjacency(GRAPH)


@pytest.mark.parametrize("method", METHODS)
def test_parts_are_balanced_and_cut_fewer_edges_than_dealing_out(method):
    owner = assign_parts(MATRIX.indptr, MATRIX.indices, 4, method)
    assert owner.dtype == np.int32
    assert set(owner.tolist()) == {0, 1, 2, 3}
    assert np.bincount(owner).max() <= 1.25 * 3000 / 4
    cut = cut_edges(MATRIX.indptr, MATRIX.indices, owner)
    exact = (owner[GRAPH.edge_index[0]] != owner[GRAPH.edge_index[1]]).sum() // 2
    assert cut == exact
    assert method == "hash" or cut < 0.2 * len(MATRIX.indices) / 2, "0.75 if nodes are dealt out"


def test_the_streaming_rule_groups_nodes_whose_numbers_are_mixed():
    mixed = np.random.default_rng(1).permutation(3000)
    matrix = adjacency(assemble(mixed[GRAPH.edge_index[0]], mixed[GRAPH.edge_index[1]], 3000))
    owner = assign_parts(matrix.indptr, matrix.indices, 4, "stream")
    assert cut_edges(matrix.indptr, matrix.indices, owner) < 0.5 * len(matrix.indices) / 2
    assert np.bincount(owner).max() <= 1.25 * 3000 / 4


def test_blocks_do_not_change_the_number_of_cut_edges(monkeypatch):
    owner = assign_parts(MATRIX.indptr, MATRIX.indices, 3, "hash")
    whole = cut_edges(MATRIX.indptr, MATRIX.indices, owner)
    monkeypatch.setattr(partition, "BLOCK", 100)
    assert cut_edges(MATRIX.indptr, MATRIX.indices, owner) == whole


def test_small_graphs_have_no_empty_part():
    matrix = adjacency(disease(20))
    for method in METHODS:
        assert set(assign_parts(matrix.indptr, matrix.indices, 20, method).tolist()) == set(range(20))


def test_wrong_arguments_are_refused(monkeypatch):
    with pytest.raises(GraphError, match="method: expected auto, metis, stream, hash, found 'best'"):
        assign_parts(MATRIX.indptr, MATRIX.indices, 2, "best")
    with pytest.raises(GraphError, match="parts: expected from 1 to 3000"):
        assign_parts(MATRIX.indptr, MATRIX.indices, 3001)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(GraphError, match="expected pymetis"):
        assign_parts(MATRIX.indptr, MATRIX.indices, 2, "metis")


@pytest.mark.parametrize("sparse", [False, True])
def test_the_folder_in_the_order_of_parts_is_the_same_graph(sparse, tmp_path, monkeypatch):
    monkeypatch.setattr(partition, "BLOCK", 64)
    data = disease(200)
    data.edge_weight = 1 + data.edge_index.sum(0).float()
    data.x = as_features(data.x, sparse=True) if sparse else data.x
    data.train_mask = data.y > 0
    folder = order_by_parts(save_folder(data, tmp_path / "whole"), tmp_path / "parts", 4)
    about, arrays = map_folder(folder)
    ordered = read_folder(folder)
    order = [int(name) for name in ordered.node_names]
    assert sorted(order) == list(range(200))
    assert np.array_equal(adjacency(ordered).toarray(), adjacency(data).toarray()[np.ix_(order, order)])
    assert np.array_equal(ordered.x.to_dense().numpy(), data.x.to_dense().numpy()[order])
    assert np.array_equal(ordered.y, data.y[order])
    assert np.array_equal(ordered.train_mask, data.train_mask[order])
    assert np.allclose(arrays["strengths"], adjacency(ordered).sum(1))
    owner = np.repeat(np.arange(4), np.diff(about["parts"]))
    assert about["cut_edges"] == cut_edges(arrays["indptr"], arrays["indices"], owner)
    again = read_folder(order_by_parts(folder, tmp_path / "again", 2))
    assert sorted(map(int, again.node_names)) == list(range(200))
