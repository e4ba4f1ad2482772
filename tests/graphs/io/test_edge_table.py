"""Edges in memory: lists, arrays and data frames give the same graph as a file of them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import as_graph, from_edges, read_graph, save_npz

EDGES = [("ann", "bob", 2.0), ("bob", "cem", 0.5), ("cem", "ann", 1.5)]
COLUMNS = {"weight": [w for *_, w in EDGES], "to": [v for _, v, _ in EDGES], "from": [u for u, _, _ in EDGES]}


def same(one, other):
    assert one.num_nodes == other.num_nodes
    assert torch.equal(one.edge_index, other.edge_index)
    for name in ("edge_weight", "node_names"):
        first, second = one.get(name), other.get(name)
        assert (first is None and second is None) or list(first) == list(second)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_are_read_as_a_file_is(frame, tmp_path):
    (tmp_path / "friends.csv").write_text("weight,to,from\n2.0,bob,ann\n0.5,cem,bob\n1.5,ann,cem\n")
    wanted = read_graph(tmp_path / "friends.csv")
    same(as_graph(frame(COLUMNS)), wanted)
    same(from_edges(EDGES), wanted)
    categories = pd.DataFrame(COLUMNS).astype({"to": "category", "from": "category"})
    same(as_graph(categories), wanted)


def test_integers_in_every_form():
    pairs = [(0, 1), (3, 1), (3, 4)]
    wanted = as_graph(pairs)
    assert wanted.node_names == ["0", "1", "3", "4"]
    array = np.array(pairs)
    columns = {"a": array[:, 0], "b": array[:, 1]}
    for edges in (array, array.astype(np.uint16), [tuple(map(np.int32, p)) for p in pairs], torch.tensor(array.T)):
        same(as_graph(edges), wanted)
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pd.DataFrame(columns).astype(float)):
        same(as_graph(frame), wanted)
    whole = as_graph(pairs, num_nodes=6)
    assert whole.get("node_names") is None
    assert (whole.num_nodes, whole.num_edges) == (6, 6)
    assert whole.edge_index[0].tolist() == [0, 1, 1, 3, 3, 4]
    assert as_graph([]).num_nodes == 0


def test_a_square_frame_of_numbers_is_a_matrix():
    matrix = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0.0]])
    graph = as_graph(pd.DataFrame(matrix, columns=list("abcd")))
    assert graph.node_names == list("abcd")
    assert graph.num_edges == 12
    assert "a matrix" in graph.report
    same(as_graph(pd.DataFrame(matrix)), as_graph(matrix))
    named = pd.DataFrame({"source": [0, 1, 2, 3], "target": [1, 2, 3, 0], "x": [1, 2, 3, 4], "y": [1, 2, 3, 4]})
    assert as_graph(named).num_edges == 8


def test_paths_and_names(tmp_path):
    graph = as_graph([(0, 1), (1, 2)])
    same(as_graph(save_npz(graph, tmp_path / "mine.npz")), graph)
    same(as_graph(str(tmp_path / "mine.npz")), graph)
    assert as_graph("karate").num_nodes == 34
    with pytest.raises(GraphError, match="expected a file or a built-in name"):
        as_graph("karaoke")


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([(0, 1), (2,)], r"found \(2,\) at edge 1"),
        ([(0, 1), (1, 2, 3.0)], "at edge 1"),
        ([(0, "a"), (1.5, "b")], "fractions"),
        ([("a", "b", "heavy")], "expected numbers as weights in weight"),
        ([(0, 1), (None, 2)], "expected a node in every row of source, found 1 empty"),
        ([(0, 1, -2.0)], "expected weights that are positive"),
        (pd.DataFrame({"a": [1, 2]}), "found 1 columns"),
        (pd.DataFrame({"a": [1, None], "b": [1, 2]}), "expected a node in every row of a"),
        (np.zeros((5, 2)), r"expected edges as integers \(E, 2\), found float64"),
        (torch.zeros(3, 5), r"expected edges as a tensor \(2, E\)"),
        ({"a": [1]}, "expected PyG's Data"),
    ],
)
def test_wrong_edges_are_refused(edges, words):
    with pytest.raises(GraphError, match=words):
        as_graph(edges)
