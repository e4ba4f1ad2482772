import numpy as np
import pandas as pd
import pytest
import torch

from kappagcn import graphs as G
from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.training.labelled import read_labelled, unlabelled
from random_graphs import put


@pytest.mark.parametrize(
    "text", ["person,team\nalice,red\nbob,blue\n", "# who\nalice,red\nbob,blue\n", ",0\nalice,red\nbob,blue\n"]
)
def test_headings_of_tables_are_known_by_the_nodes_below(tmp_path, text):
    edges = put(tmp_path, "g.csv", "alice,bob\n")
    data = G.read_graph(edges, labels=put(tmp_path, "y.csv", text))
    assert data.num_nodes == 2
    assert data.class_names == ["blue", "red"]
    assert data.y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,²\n1,0\n", None),  # a word like any other
        ("0,--1\n1,0\n", None),
        ("0,99999999999999999999999\n1,0\n", None),
        ("0,a\n,b\n", "line 2: expected a node, found an empty name"),
    ],
)
def test_odd_labels(tmp_path, text, words):
    edges, labels = put(tmp_path, "g.csv", "0,1\n"), put(tmp_path, "y.csv", text)
    if words is None:
        assert sorted(G.read_graph(edges, labels=labels).y.tolist()) == [0, 1]
    else:
        with pytest.raises(GraphFileError, match=words):
            G.read_graph(edges, labels=labels)


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.ones((3, 1)), "node_names": np.array(["0", "1", "1"])},
        {"x": np.ones((3, 1)), "node_names": np.array(["0", "1"])},
        {"x": np.ones((3, 1)), "node_names": np.array("0")},
        {"labels": np.ones(3), "node_names": np.array(["0", "1", "2", "3"])},
        {"labels": np.ones(3, complex)},
        {"labels": np.array(["2001-01-01"] * 3, dtype="M8[D]")},
        {"labels": np.array([0, np.nan, 1])},
        {"labels": np.array(1)},
    ],
)
def test_node_tables_in_npz_that_make_no_sense(tmp_path, arrays):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n")
    np.savez(tmp_path / "t.npz", **arrays)
    key = "features" if "x" in arrays else "labels"
    with pytest.raises(GraphFileError, match="expected") as caught:
        G.read_graph(edges, **{key: tmp_path / "t.npz"})
    assert "-9223372036854775808" not in str(caught.value)


def test_node_names_as_bytes_or_numbers_are_names(tmp_path):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n")
    for names in (np.array([b"2", b"1", b"0"]), np.array([2, 1, 0])):
        np.savez(
            tmp_path / "t.npz", x=np.array([[2.0], [1.0], [0.0]]), labels=np.array([b"c", b"b", b"a"]), node_names=names
        )
        data = G.read_graph(edges, features=tmp_path / "t.npz", labels=tmp_path / "t.npz")
        assert data.x.flatten().tolist() == [0, 1, 2]
        assert data.class_names == ["a", "b", "c"]
        assert data.y.tolist() == [0, 1, 2]


def test_the_second_of_two_equal_names_is_found_among_many(tmp_path):
    edges = put(tmp_path, "g.csv", "0,1\n")
    rows = [f"{i},0" for i in range(100_000)]
    with pytest.raises(GraphFileError, match="found '99999' 2 times"):
        G.read_graph(edges, labels=put(tmp_path, "y.csv", "\n".join([*rows, "99999,1"])))


def test_labels_counted_from_one_become_classes(tmp_path):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n2,3\n")
    data = G.read_graph(edges, labels=put(tmp_path, "y.csv", "0,5\n1,10\n2,5\n"))
    assert data.y.tolist() == [0, 1, 0, -1]
    assert data.class_names == ["5", "10"]


@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        ("0,1\n1,x\n2,3\n", None, "x.csv, line 2: expected numbers as features, found 'x'. Correct it"),
        ("0,1\n1,inf\n2,3\n", None, "x.csv: features: expected finite numbers in the column 'column 2'"),
        ("0,1\n1,2\n", None, "x.csv: features: expected a row for each of the 3 nodes, found none for 1: '2'"),
        ("0,1\n1,2,3\n", None, "x.csv, line 2: expected 2 columns, as in the first line, found 3"),
        ("0,1\n0,2\n", None, "x.csv: nodes: expected every node once, found '0' 2 times"),
        ("0\n1\n", None, "expected a node and at least one value per line"),
        ("", None, "expected nodes, one per line, found none"),
        (None, "0,1,2\n", "y.csv: expected two columns, node and label, found 3"),
        (None, "0,7\n1,0\n2,0\n", "y.csv: expected labels from 0 to 2, or −1 for unknown, found 0 to 7"),
        (None, "0,-3\n", "y.csv: expected labels from 0"),
    ],
)
def test_bad_tables_are_named(tmp_path, features, labels, words):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n")
    more = {}
    if features is not None:
        more["features"] = put(tmp_path, "x.csv", features)
    if labels is not None:
        more["labels"] = put(tmp_path, "y.csv", labels)
    with pytest.raises(GraphFileError, match=words):
        read_graph(edges, **more)


def test_words_for_a_missing_label_are_no_class(tmp_path):
    edges = put(tmp_path, "g.csv", "a,b\nb,c\nc,d\n")
    data = read_graph(edges, labels=put(tmp_path, "y.csv", "node,team\na,red\nb,NA\nc,blue\nd,\n"))
    assert data.class_names == ["blue", "red"]
    assert data.y.tolist() == [1, -1, 0, -1]
    data = read_graph(edges, labels=put(tmp_path, "y.csv", "node,team\na,none\nb, None\nc,blue\nd,?\n"))
    assert data.class_names == ["blue", "none"]
    assert data.report.endswith("2 nodes without label (?, None)")
    assert unlabelled(np.array(["red", "NA", "nan", "", "na"], object)).tolist() == [False, True, True, True, False]


NODES = "id,age,plan,segment\nann,30,free,a\nbob,,paid,b\ncem,50,free,\n"


def test_labels_and_features_are_columns_of_one_file(tmp_path):
    edges = put(tmp_path, "g.csv", "ann,bob\nbob,cem\n")
    nodes = put(tmp_path, "people.csv", NODES)
    data = read_graph(edges, nodes=nodes, label="segment")
    assert data.attr_names == ["age", "age is missing", "plan=free", "plan=paid"]
    assert data.x.tolist() == [[30, 0, 1, 0], [40, 1, 0, 1], [50, 0, 1, 0]]
    assert (data.class_names, data.y.tolist()) == (["a", "b"], [0, 1, -1])
    assert "features: 1 numeric column, 1 categorical column as 2 indicators" in data.report
    assert read_graph(edges, nodes=nodes, label="segment", features="plan").attr_names == ["plan=free", "plan=paid"]
    assert read_graph(edges, features=nodes, label="segment").attr_names == data.attr_names
    labels = read_graph(edges, labels=nodes, label="segment")
    assert labels.get("x") is None
    assert labels.y.tolist() == [0, 1, -1]
    nodes.rename(tmp_path / "g.nodes.csv")
    assert read_graph(edges, label="segment").attr_names == data.attr_names
    with pytest.raises(GraphFileError, match=r"g.nodes.csv: expected one column 'group', found id, age"):
        read_graph(edges, label="group")


def test_files_and_frames_of_nodes_give_the_same_graph(tmp_path):
    edges = put(tmp_path, "g.csv", "ann,bob\nbob,cem\n")
    nodes = put(tmp_path, "people.csv", NODES)
    read = read_graph(edges, nodes=nodes, label="segment")
    frame = pd.read_csv(nodes, index_col="id")
    data, labels = read_labelled(pd.DataFrame([("ann", "bob"), ("bob", "cem")]), frame, "segment")
    assert torch.equal(data.x, read.x)
    assert (data.attr_names, data.column_rules) == (read.attr_names, read.column_rules)
    assert labels.tolist() == ["a", "b", None]


def test_columns_are_encoded_as_those_of_another_graph(tmp_path):
    edges = put(tmp_path, "g.csv", "ann,bob\nbob,cem\n")
    rules = read_graph(edges, nodes=put(tmp_path, "a.csv", NODES), label="segment").column_rules
    other = put(tmp_path, "b.csv", "id,plan,age\nann,paid,10\nbob,gold,20\ncem,free,\n")
    again = read_graph(edges, nodes=other, column_rules=rules)
    assert again.x.tolist() == [[10, 0, 0, 1], [20, 0, 0, 0], [40, 1, 1, 0]]


def test_a_label_without_a_file_is_refused(tmp_path):
    edges = put(tmp_path, "g.csv", "ann,bob\nbob,cem\n")
    with pytest.raises(GraphFileError, match=r"expected a file with the column 'segment', found none"):
        read_graph(edges, label="segment")


def test_a_file_of_several_columns_needs_the_name_of_the_label(tmp_path):
    edges = put(tmp_path, "g.csv", "ann,bob\nbob,cem\n")
    with pytest.raises(GraphFileError, match=r"expected two columns, node and label, found 4. Name .* --label"):
        read_graph(edges, labels=put(tmp_path, "y.csv", NODES))
