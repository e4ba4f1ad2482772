"""Labelled graphs in many forms give the same numbers; wrong ones are refused."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.estimators import KappaGCNClassifier
from kappagcn.graphs import classic, disease
from kappagcn.graphs.io.undirected import adjacency

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
