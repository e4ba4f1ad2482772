"""Splits of nodes and of edges in files: npz, JSON, tables with parts or times, wrong files."""

import json

import networkx as nx
import numpy as np
import pytest
import torch

from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import (
    classic,
    cycle,
    disease,
    edge_split,
    read_edge_split,
    read_split,
    save_edge_split,
    save_split,
)
from random_graphs import put


def test_a_saved_split_comes_back_whatever_the_nodes_are_called(tmp_path):
    for names in (
        [(5, 3), (3, 1), (1, 0), (0, 2), (2, 4)],
        [("e", "c"), ("c", "b"), ("b", "a"), ("a", "d"), ("d", "f")],
    ):
        data = G.from_networkx(nx.Graph(names))
        split = G.Split([0, 1], [2], [3], [4, 5])
        again = G.read_split(G.save_split(split, tmp_path / "s.json"), data)
        assert again.train.tolist() == [0, 1]
        assert again.final_test_nodes().tolist() == [4, 5]
    np.savez(tmp_path / "s.npz", train=[0, 1], test=[4])
    assert G.read_split(tmp_path / "s.npz", data).train.tolist() == [0, 1]
    np.savez(tmp_path / "s.npz", idx_train=[2], idx_val=[1], idx_test=[0], labels=[0, 1, 1])
    assert G.read_split(tmp_path / "s.npz", data).train.tolist() == [2]
    put(tmp_path, "s.json", '{"train": ["e"], "test": [5]}')
    assert G.read_split(tmp_path / "s.json", data).train.tolist() == [0]
    put(tmp_path, "s.json", '{"train": [0, %s]}' % ("9" * 5000))
    with pytest.raises(GraphError, match="something else"):
        G.read_split(tmp_path / "s.json", data)


def test_names_given_twice_are_kept_but_cannot_be_looked_up(tmp_path):
    data = G.from_networkx(nx.Graph([(1, "1"), ("1", 2)]))
    assert data.node_names == ["1", "1", "2"]
    put(tmp_path, "s.json", '{"train": ["1"], "test": ["2"]}')
    with pytest.raises(GraphError, match="found '1' twice"):
        G.read_split(tmp_path / "s.json", data)


@pytest.mark.parametrize(
    "parts", ['{"Train": [0], "val": [1], "test": [2]}', '{"train": [0], "valid": [1], "test": [2]}']
)
def test_usual_names_of_parts_are_understood(tmp_path, parts):
    split = G.read_split(put(tmp_path, "s.json", parts), G.cycle(4))
    assert split.validation.tolist() == [1]
    np.savez(tmp_path / "m.npz", train_mask=[True, False, False, False], val_mask=[False, True, False, False])
    assert G.read_split(tmp_path / "m.npz", G.cycle(4)).validation.tolist() == [1]


def parts(split):
    return split.train, split.stopping, split.validation, split.final_test_nodes()


NAMED = {"train": ["a", "b"], "stopping": ["c"], "validation": ["d"], "test": ["e"]}


@pytest.mark.parametrize("form", ["json", "csv", "npz"])
def test_splits_in_files(tmp_path, form):
    data = cycle(5)
    path = tmp_path / f"mine.{form}"
    if form == "json":
        data.node_names = list("abcde")
        path.write_text(json.dumps(NAMED))
    elif form == "csv":
        data.node_names = list("abcde")
        path.write_text("node,part\n" + "".join(f"{n},{p}\n" for p, nodes in NAMED.items() for n in nodes))
    else:
        np.savez(path, train=[0, 1], stopping=[2], validation=[3], test=[4])
    split = read_split(path, data)
    assert [p.tolist() for p in parts(split)] == [[0, 1], [2], [3], [4]]
    again = read_split(save_split(split, tmp_path / "again.json"), cycle(5))
    assert [p.tolist() for p in parts(again)] == [[0, 1], [2], [3], [4]]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "expected a split as JSON"),
        ("a.json", "[1]", "found something else or damage .ValueError: a list"),
        ("a.json", '{"train": [0], "tset": [1]}', "found train, tset"),
        ("a.json", '{"train": [0], "test": [9]}', "expected nodes of the graph, found '9'"),
        ("a.json", '{"train": [0], "test": [0]}', "train and test nodes to differ"),
        ("a.json", '{"train": 3}', "expected lists of nodes"),
        ("a.csv", "0\n", "line 1: expected a node and at least one value"),
        ("a.npz", "no zip", "expected an npz archive"),
    ],
)
def test_bad_split_files_are_named(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(GraphError, match=words):
        read_split(path, cycle(5))
    with pytest.raises(GraphError, match=r"cannot be read \(No such file"):
        read_split(tmp_path / "none.json", cycle(5))


def test_a_saved_split_is_read_back(tmp_path):
    data = disease()
    split = edge_split(data, 2)
    same = read_edge_split(save_edge_split(split, tmp_path / "one.npz"), data)
    assert torch.equal(same.train, split.train)
    for one, other in zip((*split.validation, *split.final_test_pairs()), (*same.validation, *same._test), strict=True):
        assert torch.equal(one, other)


def test_parts_by_name_with_negatives_drawn(tmp_path):
    data = classic("florentine")
    file = tmp_path / "parts.csv"
    file.write_text(
        "source,target,part\nAcciaiuoli,Medici,train\nBarbadori,Medici,train\nCastellani,Peruzzi,val\n"
        "Peruzzi,Strozzi,test\n"
    )
    split = read_edge_split(file, data, seed=3)
    assert [split.train.shape[1], split.validation.edges.shape[1], split.final_test_pairs().others.shape[1]] == [
        2,
        1,
        1,
    ]
    file.write_text("Acciaiuoli,Medici,train\nBarbadori,Medici,validation\nPazzi,Medici,validation negatives\n")
    assert read_edge_split(file, data).validation.others.shape[1] == 1


def test_times(tmp_path):
    data = classic("karate")
    first, second = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    file = tmp_path / "times.txt"
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    for times in (range(len(pairs)), [f"{1900 + time}-01-31" for time in range(len(pairs))]):
        file.write_text("\n".join(f"{a} {b} {time}" for time, (a, b) in zip(times, pairs, strict=True)))
        split = read_edge_split(file, data)
        assert split.name == "by time"
        assert split.final_test_pairs().edges[:, -1].tolist() == list(pairs[-1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,2\n", "expected a third column with the part or the time"),
        ("0,1,train\n1,99,test\n", "expected nodes of the graph, such as '0', found '99'"),
        ("0,1,train\n1,2,probe\n", "expected train, validation, test, .* found 'probe'"),
        ("0,1,train\n1,0,test\n", "train and test to differ"),
        ("", "expected pairs of nodes, one per line, found none"),
        ("0,1,2,3\n", "expected two nodes per line"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, text, message):
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    with pytest.raises(GraphError, match=message):
        read_edge_split(file, classic("karate"))


def test_missing_files_and_arrays_are_refused(tmp_path):
    with pytest.raises(GraphError, match="none"):
        read_edge_split(tmp_path / "none.csv", disease())
    np.savez(tmp_path / "part.npz", train=np.zeros((2, 1), int))
    with pytest.raises(GraphError, match="found no validation"):
        read_edge_split(tmp_path / "part.npz", disease())
