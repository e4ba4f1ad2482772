"""Matrix Market files."""

import numpy as np
import pytest

from kappagcn.errors import GraphFileError
from kappagcn.graphs import adjacency, read_graph

HEAD = "%%MatrixMarket matrix"


def put(folder, text):
    (folder / "g.mtx").write_text(text)
    return folder / "g.mtx"


def test_patterns_weights_and_arrays(tmp_path):
    pattern = read_graph(put(tmp_path, f"{HEAD} coordinate pattern symmetric\n% a comment\n3 3 2\n2 1\n3 2\n"))
    assert pattern.report == "3 nodes, 2 edges"
    assert pattern.name == "g"
    weighted = read_graph(put(tmp_path, f"{HEAD} coordinate real general\n4 4 3\n1 2 0.5\n2 1 1.5\n3 3 9\n"))
    assert adjacency(weighted)[[0, 1], [1, 0]].tolist() == [1, 1], "the mean of both directions, which is 1"
    assert "1 self-loop removed" in weighted.report
    assert "2 isolated nodes" in weighted.report
    array = read_graph(put(tmp_path, f"{HEAD} array real general\n2 2\n0\n3\n3\n0\n"))
    assert array.edge_weight.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2\n", "expected a Matrix Market file, found something else or damage"),
        (f"{HEAD} coordinate real general\n2 2 2\n1 2 1\n", "expected a Matrix Market file"),
        (f"{HEAD} coordinate real general\n2 3 1\n1 2 1\n", "expected a square adjacency matrix"),
        (f"{HEAD} coordinate real general\n2 2 1\n1 2 -1\n", "expected weights that are positive"),
        (f"{HEAD} coordinate complex general\n2 2 1\n1 2 1 1\n", "expected an adjacency matrix of numbers"),
        (f"{HEAD} coordinate real general\n2 2 1\n1 5 1\n", "expected a Matrix Market file"),
    ],
)
def test_wrong_files_are_named(tmp_path, text, words):
    with pytest.raises(GraphFileError, match=words):
        read_graph(put(tmp_path, text))


def test_labels_beside_a_matrix(tmp_path):
    path = put(tmp_path, f"{HEAD} coordinate pattern symmetric\n3 3 1\n2 1\n")
    (tmp_path / "g.labels.csv").write_text("node,label\n0,a\n2,b\n")
    assert np.array_equal(read_graph(path).y, [0, -1, 1])
