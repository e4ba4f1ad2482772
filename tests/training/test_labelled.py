"""Labelled graphs in many forms give the same numbers; wrong ones are refused."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.errors import GraphError
from kappagcn.graphs import classic, disease, from_networkx, read_graph
from kappagcn.graphs.io.undirected import adjacency
from kappagcn.training.graph_nodes import GraphNodes
from kappagcn.training.labelled import encode_labels, node_labels, note_of_unlabelled, read_labelled, unlabelled


@pytest.fixture
def data(epidemic):
    return epidemic


FEW = {"epochs": 15, "verbose": False}


def as_networkx(data, labels):
    graph = nx.Graph()
    for i, row in enumerate(data.x.tolist()):
        graph.add_node(i, x=row, kind=labels[i])
    graph.add_edges_from(data.edge_index.T.tolist())
    return graph


def test_the_same_from_pyg_scipy_and_networkx(data, fitted):
    words = np.array(["well", "ill"])[data.y.numpy()]
    order = [1, 0]  # "ill" comes before "well"
    matrix = sp.csr_array(adjacency(data))
    from_scipy = KappaGCNClassifier("H4xS2", **FEW).fit(matrix, data.y.numpy(), x=data.x.numpy())
    dense = KappaGCNClassifier("H4xS2", **FEW).fit(matrix.toarray(), data.y.tolist(), x=data.x)
    from_networkx = KappaGCNClassifier("H4xS2", **FEW).fit(as_networkx(data, words), "kind", x=["x"])
    by_array = KappaGCNClassifier("H4xS2", **FEW).fit(as_networkx(data, words), words, x=data.x.numpy())
    wanted = fitted.predict_proba()
    assert wanted.shape == (200, 2)
    np.testing.assert_allclose(wanted.sum(axis=1), 1, rtol=1e-6)
    assert np.array_equal(from_scipy.predict_proba(), wanted)
    assert np.array_equal(dense.predict_proba(), wanted)
    assert from_networkx.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(from_networkx.predict_proba(), by_array.predict_proba())
    assert np.array_equal(from_networkx.predict(), from_networkx.classes_[from_networkx.predict_proba().argmax(1)])
    swapped = KappaGCNClassifier("H4xS2", **FEW).fit(matrix, np.array(order)[data.y.numpy()], x=data.x.numpy())
    assert np.array_equal(from_networkx.predict_proba(), swapped.predict_proba())


def test_named_classes_of_a_graph():
    classifier = KappaGCNClassifier("S4", **FEW).fit(classic("karate"))
    assert set(classifier.predict()) <= {"Mr. Hi", "Officer"}
    data = disease(200)
    data.class_names = ["well", "ill"]
    named = KappaGCNClassifier("S4", **FEW).fit(data)
    assert named.classes_.tolist() == ["well", "ill"]
    del data.class_names
    plain = KappaGCNClassifier("S4", **FEW).fit(data)
    assert np.array_equal(named.predict_proba(), plain.predict_proba())
    assert np.array_equal(named.predict() == "ill", plain.predict() == 1)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda d: (3,), GraphError, "expected PyG's Data"),
        (lambda d: (Data(x=d.x, edge_index=d.edge_index),), GraphError, "expected labels"),
        (lambda d: (sp.csr_array(adjacency(d)), d.x[:50], d.y), GraphError, "expected features of 200 nodes"),
        (lambda d: (sp.csr_array(adjacency(d)), d.x, d.y[:50]), GraphError, "expected labels of 200 nodes"),
        (lambda d: (sp.csr_array(adjacency(d)), d.x, [-1] * 200), GraphError, "expected labelled nodes"),
        (lambda d: (sp.csr_array(adjacency(d)), d.x, [3] * 200), GraphError, "expected at least two classes"),
        (lambda d: (sp.csr_array(adjacency(d)), d.x, np.array([0, "b"] * 100, object)), GraphError, "of one kind"),
        (lambda d: (Data(x=d.x, edge_index=d.edge_index, y=d.y, class_names=["a"]),), GraphError, "class_names"),
        (lambda d: (Data(x=d.x, edge_index=d.edge_index, y=torch.ones(200, 2)),), GraphError, "labels of 200 nodes"),
        (lambda d: (as_networkx(d, d.y.tolist()), ["x"], "colour"), GraphError, "expected nodes with an attribute"),
    ],
)
def test_wrong_graphs_are_refused(data, arguments, error, words):
    graph, x, y = (*arguments(data), None, None)[:3]
    with pytest.raises(error, match=words):
        KappaGCNClassifier(**FEW).fit(graph, y, x=x)


def test_features_and_labels_in_many_forms(data):
    matrix = sp.csr_array(adjacency(data))
    plain = KappaGCNClassifier("S4", feature_norm="rows", **FEW).fit(matrix, data.y, x=data.x).predict_proba()
    for x in (sp.csr_array(data.x.numpy()), data.x.to_sparse_csr(), data.x.clone().requires_grad_(), data.x.double()):
        classifier = KappaGCNClassifier("S4", feature_norm="rows", dropout=0.0, l2=0.0, **FEW).fit(matrix, data.y, x=x)
        np.testing.assert_allclose(classifier.predict_proba(), plain, atol=1e-5)
    dense = KappaGCNClassifier("S4", **FEW).fit(matrix, data.y, x=data.x)
    sparse = dense.predict_proba(matrix, sp.csr_array(data.x.numpy()))
    np.testing.assert_allclose(sparse, dense.predict_proba(), atol=1e-6)
    wanted = dense.predict_proba()
    for y in (data.y.double() + 0.5, data.y.bool(), 500 + 1000 * data.y, data.y[:, None]):
        graph = Data(x=data.x, y=y, edge_index=data.edge_index)
        assert np.array_equal(KappaGCNClassifier("S4", **FEW).fit(graph).predict_proba(), wanted)
    some = data.y.double()
    some[:50] = float("nan")
    half = KappaGCNClassifier("S4", **FEW).fit(Data(x=data.x, y=some, edge_index=data.edge_index))
    assert half.classes_.tolist() == [0.0, 1.0]
    one_way = Data(x=data.x, y=data.y, edge_index=data.edge_index[:, data.edge_index[0] < data.edge_index[1]])
    assert np.array_equal(KappaGCNClassifier("S4", **FEW).fit(one_way).predict_proba(), wanted)


PEOPLE = pd.DataFrame(
    {
        "person": ["ann", "bob", "cem", "dan", "eve", "fay"],
        "kind": ["x", "y", None, "x", "y", "y"],
        "age": [31.0, 24.0, 45.0, np.nan, 52.0, 38.0],
        "city": ["Rome", "Bern", "Bern", "Rome", None, "Bern"],
    }
)
FRIENDS = [("eve", "cem"), ("cem", "bob"), ("fay", "ann"), ("ann", "eve"), ("bob", "dan")]
NODES = ["eve", "cem", "bob", "fay", "ann", "dan"]  # in the order of the edges


def labels_of(graph, x, y):
    data, labels = read_labelled(graph, x, y)
    return dict(zip(data.node_names, labels.tolist(), strict=True))


def test_labels_by_name_in_every_form():
    by_name = dict(zip(PEOPLE.person, PEOPLE.kind.astype(object).where(PEOPLE.kind.notna(), None), strict=True))
    series = PEOPLE.set_index("person").kind
    features = PEOPLE.drop(columns="kind")
    other = pl.from_pandas(PEOPLE)
    forms = [
        (None, series),
        (None, series.sample(frac=1, random_state=0)),
        (None, series.to_frame()),
        (None, series.to_dict()),
        (None, PEOPLE[["person", "kind"]]),
        (None, other.select("kind", person_id="person")),
        (None, pa.table({"person": PEOPLE.person, "kind": PEOPLE.kind})),
        (None, [by_name[name] for name in NODES]),
        (features, PEOPLE.kind),
        (features.set_index("person"), series),
        (features, PEOPLE.kind.dropna()),
        (PEOPLE, "kind"),
        (other.drop("kind"), other["kind"]),
        (features, other.select("person", "kind")),
    ]
    for x, y in forms:
        assert labels_of(FRIENDS, x, y) == by_name
    assert GraphNodes.labelled(FRIENDS, y=series)[1].tolist() == ["y", "y", "y", "x", "x"]
    some = GraphNodes(FRIENDS)[[4, 0, 2]]
    assert node_labels(series[["eve", "bob", "ann"]], {name: i for i, name in enumerate(NODES)})[4] == "x"
    assert some.labels_of(series[["eve", "bob", "ann"]]).tolist() == ["x", "y", "y"]


def test_features_by_name_in_every_form():
    columns = PEOPLE.drop(columns="kind")
    wanted = {
        "age": [52, 45, 24, 38, 31, 38],
        "age is missing": [0, 0, 0, 0, 0, 1],
        "city=Bern": [0, 1, 1, 1, 0, 0],
        "city=Rome": [0, 0, 0, 0, 1, 1],
        "city is missing": [1, 0, 0, 0, 0, 0],
    }
    for x in (columns, columns.set_index("person"), pl.from_pandas(columns), columns.sample(frac=1, random_state=1)):
        data, _ = read_labelled(FRIENDS, x, None)
        assert data.attr_names == list(wanted)
        np.testing.assert_array_equal(data.x, np.array(list(wanted.values())).T)
        assert "features: 1 numeric column, 1 categorical column as 2 indicators, missing" in data.report
    numbers = {name: [age, 1.0] for name, age in zip(PEOPLE.person, PEOPLE.age.fillna(0), strict=True)}
    assert read_labelled(FRIENDS, numbers, None)[0].x[:, 0].tolist() == [52, 45, 24, 38, 31, 0]
    graph = nx.Graph(FRIENDS)
    assert read_labelled(from_networkx(graph), columns, None)[0].x[:, 0].tolist() == wanted["age"]
    assert read_labelled(graph, columns, None)[0].x[:, 0].tolist() == wanted["age"]


def test_integers_as_names():
    edges = pd.DataFrame({"source": [30, 10], "target": [20, 40]})
    y = pd.Series([1.0, 0.0, np.nan, 1.0], [40, 30, 20, 10])
    data, labels = read_labelled(edges, None, y)
    assert data.node_names == ["10", "20", "30", "40"]
    assert labels.tolist() == [1, None, 0, 1]
    assert all(isinstance(label, int) for label in labels[[0, 2, 3]]), "pandas made floats of them"
    numbered = read_labelled(edges // 10 - 1, None, pd.Series(["a", "b", "c", "d", "e"]))
    assert numbered[0].num_nodes == 5, "the default index counts the nodes, the last one has no edge"
    assert numbered[1].tolist() == ["a", "b", "c", "d", "e"]
    assert read_labelled(edges // 10 - 1, None, pl.Series([4, 5, 6, 7]))[1].tolist() == [4, 5, 6, 7]


def test_nodes_without_edges():
    y = pd.concat([PEOPLE.set_index("person").kind, pd.Series({"gus": "x"})])
    data, labels = read_labelled(FRIENDS, None, y)
    assert data.node_names == [*NODES, "gus"]
    assert labels[-1] == "x"
    assert "1 node without an edge, from x or y" in data.report
    assert read_labelled([(3, 5)], None, {3: "x", 4: "y", 5: "x"})[0].node_names == ["3", "4", "5"]
    with pytest.raises(GraphError, match=r"found 1 other node: .gus.\. Leave"):
        read_labelled(read_labelled(FRIENDS, None, None)[0], None, y)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (None, PEOPLE.kind, "such as 'eve', 'cem', 'bob', …, found rows without names. Name the rows by the index"),
        (None, pl.Series(["x"] * 6), "found rows without names"),
        (None, PEOPLE.set_index(PEOPLE.person + "1").kind, "found 'ann1', 'bob1', 'cem1', … .0 of 6 are nodes"),
        (None, {"ann": 1, "bab": 1, "cam": 2, "den": 2, "eva": 1}, "1 of 5 are nodes"),
        (None, pd.concat([PEOPLE, PEOPLE[:1]]).set_index("person").kind, "every node once, found 'ann' 2 times"),
        (None, PEOPLE.set_index("person"), "expected one column of labels, found kind, age, city"),
        (None, PEOPLE.set_index(["person", "age"]).kind, "expected one node for each row"),
        (PEOPLE[:4].drop(columns="kind"), None, "found none for 2: 'eve', 'fay'"),
        (PEOPLE, PEOPLE.kind, "features without the label, found the column 'kind'"),
        (PEOPLE.drop(columns="kind"), PEOPLE.kind.tolist(), "y: expected values named by nodes, as in x"),
        (pl.from_pandas(PEOPLE).drop("kind"), pl.Series(["x", "y"]), "found rows without names"),
        (PEOPLE.drop(columns="kind"), PEOPLE.kind.dropna().reset_index(drop=True), "found rows without names"),
        (np.eye(6), PEOPLE.set_index("person").kind, "x: expected values named by nodes, as in y"),
    ],
)
def test_rows_that_name_no_nodes_are_refused(x, y, words):
    with pytest.raises(GraphError, match=words):
        read_labelled(FRIENDS, x, y)


def test_a_series_gives_what_aligned_labels_give(data):
    names = [f"n{i}" for i in np.random.default_rng(0).permutation(data.num_nodes)]
    edges = pd.DataFrame(np.array(names)[data.edge_index.T.numpy()], columns=["source", "target"])
    x = pd.DataFrame(data.x.numpy(), names).add_prefix("x")
    y = pd.Series(data.y.numpy(), names)
    by_name = KappaGCNClassifier("H4", **FEW).fit(edges, y.sort_index(), x=x.sort_index())
    order = by_name.node_names_
    assert order != sorted(names)
    by_position = KappaGCNClassifier("H4", **FEW).fit(edges, y[order].to_numpy(), x=x.loc[order].to_numpy())
    assert np.array_equal(by_name.predict_proba(), by_position.predict_proba())
    assert by_name.score(edges, y, x=x) == by_position.score(edges, y[order].to_numpy(), x=x.loc[order].to_numpy())


def test_minus_one_and_one_are_two_classes(tmp_path):
    for y in ([-1, 1, 1, -1], [-1.0, 1.0, None, -1.0], torch.tensor([1, 1, -1, -1])):
        classes, _ = encode_labels(np.asarray(y, object))
        assert classes.tolist() == [-1, 1]
    assert note_of_unlabelled(np.array([-1, 1])) is None
    assert note_of_unlabelled(np.array([-1, 2, 1])) is None, "the classes do not look as if −1 were one"
    beside = np.array([-1, 1, 0, -1])
    assert encode_labels(beside)[0].tolist() == [0, 1]
    assert note_of_unlabelled(beside) == (
        "labels: −1 means no label, in 2 nodes. If it is a class, number the classes from 0."
    )
    assert unlabelled(np.array([1, -1]), classes=np.array([0, 1, 2])).tolist() == [False, True]
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nc,d\n")
    (tmp_path / "edges.labels.csv").write_text("a,-1\nb,1\nc,1\n")
    read = read_graph(tmp_path / "edges.csv")
    assert (read.y.tolist(), read.class_names) == ([0, 1, 1, -1], ["-1", "1"])


def test_measurements_and_names_are_no_classes(data):
    for labels in (np.linspace(0, 1, data.num_nodes), np.array([f"C{i}" for i in range(data.num_nodes)])):
        with pytest.raises(GraphError, match="expected classes that several nodes share"):
            KappaGCNClassifier("H2", epochs=1, verbose=False).fit(data, y=labels)


def test_minus_one_beside_other_labels_in_a_file_is_named(tmp_path):
    (tmp_path / "ring.csv").write_text("source,target\n" + "".join(f"n{i},n{(i + 1) % 6}\n" for i in range(6)))
    (tmp_path / "ring.labels.csv").write_text("node,mood\n" + "".join(f"n{i},{i % 3 - 1}\n" for i in range(6)))
    assert "2 nodes without label (-1)" in read_graph(tmp_path / "ring.csv").report
