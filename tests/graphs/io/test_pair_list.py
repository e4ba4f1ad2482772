"""Pairs of nodes in files and in memory."""

import numpy as np
import pytest

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.pair_list import as_pairs, read_pairs

INDEX = {"a": 0, "b": 1, "c": 2}


def pairs_in(tmp_path, text):
    (tmp_path / "pairs.csv").write_text(text)
    return read_pairs(tmp_path / "pairs.csv", INDEX)


def test_two_columns_with_and_without_a_heading(tmp_path):
    assert pairs_in(tmp_path, "a,b\nb,c\n").pairs.tolist() == [[0, 1], [1, 2]]
    listed = pairs_in(tmp_path, "source,target\nc,a\n")
    assert (listed.pairs.tolist(), listed.third) == ([[2], [0]], None)


@pytest.mark.parametrize("order", [("source", "target", "Time"), ("Time", "source", "target")])
def test_the_third_column_is_the_one_without_nodes(tmp_path, order):
    cells = [{"source": "a", "target": "b", "Time": "3"}, {"source": "b", "target": "c", "Time": "4"}]
    rows = [order, *([row[name] for name in order] for row in cells)]
    listed = pairs_in(tmp_path, "\n".join(map("\t".join, rows)))
    assert listed.pairs.tolist() == [[0, 1], [1, 2]]
    assert listed.table.columns.column(listed.third).to_pylist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected pairs of nodes, one per line, found none"),
        ("a,b\nb,z\n", "expected nodes of the graph, such as 'a', found 'z'"),
        ("a,b,1,2\n", "line 1: expected two nodes per line, and perhaps a third column, found 4"),
    ],
)
def test_other_files_are_named(text, words, tmp_path):
    with pytest.raises(GraphFileError, match=words):
        pairs_in(tmp_path, text)


def test_pairs_in_memory_by_number_or_name():
    assert as_pairs([("a", "b"), ("b", "c")], INDEX, 3).tolist() == [[0, 1], [1, 2]]
    assert as_pairs(np.array([[0, 1], [1, 2], [0, 2]]), INDEX, 3).tolist() == [[0, 1, 0], [1, 2, 2]]
    with pytest.raises(GraphError, match="pairs: expected nodes"):
        as_pairs([("a", "z")], INDEX, 3)
    with pytest.raises(GraphError, match="pairs: expected nodes from 0 to 2"):
        as_pairs(np.array([[0, 3]]), INDEX, 3)
    for loop in ([("a", "b"), ("c", "c")], np.array([[0, 1], [2, 2]])):
        with pytest.raises(GraphFileError, match="found node 2 paired with itself"):
            as_pairs(loop, INDEX, 3)
