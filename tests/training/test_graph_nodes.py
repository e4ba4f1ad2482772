"""Nodes of a graph as samples."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.errors import GraphError
from kappagcn.graphs import load_graph
from kappagcn.training.graph_nodes import GraphNodes


@pytest.fixture
def data(epidemic):
    return epidemic


FEW = {"epochs": 5, "verbose": False}


def test_some_of_them_keep_the_whole_graph(data):
    nodes = GraphNodes(data)
    assert (len(nodes), nodes.shape, nodes[3]) == (200, (200,), 3)
    some = nodes[np.array([5, 2, 9])][[True, False, True]]
    assert some.indices.tolist() == np.asarray(some).tolist() == [5, 9]
    assert some.data is nodes.data
    assert some.labels.tolist() == data.y[[5, 9]].tolist()
    assert GraphNodes(data, nodes=data.y > 0).indices.tolist() == (data.y > 0).nonzero().flatten().tolist()
    assert repr(some) == "GraphNodes(2 of 200 nodes)"


def test_nodes_with_a_label():
    half = load_graph("karate")
    half.y[::2] = -1
    nodes, y = GraphNodes.labelled(half)
    assert nodes.indices.tolist() == list(range(1, 34, 2))
    assert set(y) == {"Mr. Hi", "Officer"}
    nodes, y = GraphNodes.labelled([(0, 1), (1, 2), (2, 3)], y=["a", "", "b", None])
    assert (nodes.indices.tolist(), y.tolist()) == ([0, 2], ["a", "b"])
    with pytest.raises(GraphError, match=r"expected labels, data\.y or y"):
        GraphNodes.labelled([(0, 1)])


def test_predictions_of_some_nodes_are_rows_of_all(data, fitted):
    nodes = GraphNodes(data)
    np.testing.assert_allclose(fitted.predict_proba(nodes[7:9]), fitted.predict_proba()[7:9], atol=1e-6)
    np.testing.assert_allclose(fitted.embed(nodes[7:9]), fitted.embed()[7:9], atol=1e-6)
    own = KappaGCNClassifier("H4", **FEW).fit(nodes[:150])
    assert own.score(nodes[150:]) == (own.predict()[150:] == data.y[150:].numpy()).mean()


def test_without_features_they_have_to_be_of_the_fitted_graph():
    club = load_graph("karate")
    nodes, y = GraphNodes.labelled(club)
    classifier = KappaGCNClassifier("H4", **FEW).fit(nodes[::2], y[::2])
    again = GraphNodes(load_graph("karate"))
    assert np.array_equal(classifier.predict(again[:5]), classifier.predict()[:5])
    other = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=34)
    with pytest.raises(GraphError, match="expected no other graph"):
        classifier.predict(GraphNodes(other))


def test_wrong_nodes_and_labels_are_refused(data):
    with pytest.raises(GraphError, match="expected numbers from 0 to 199"):
        GraphNodes(data, nodes=[200])
    with pytest.raises(GraphError, match="expected labels of 3 nodes"):
        KappaGCNClassifier("H4", **FEW).fit(GraphNodes(data)[:3], [0, 1])
    bare = GraphNodes(Data(x=data.x, edge_index=data.edge_index))
    for ask in (KappaGCNClassifier("H4", **FEW).fit, KappaGCNClassifier("H4", **FEW).fit(data).score):
        with pytest.raises(GraphError, match="expected labels of the nodes as y"):
            ask(bare)


def test_what_there_is_to_say_of_tables(capsys, data):
    edges, y = [("ann", "bob"), ("bob", "cem"), ("cem", "dan")], {"ann": -1, "bob": 0, "dan": 1}
    KappaGCNClassifier("H4", epochs=2).fit(edges, y, x={name: [1.0] for name in ("ann", "bob", "cem", "dan")})
    assert capsys.readouterr().err.splitlines()[:2] == [
        "4 nodes, 3 edges; features: 1 numeric column; labels of 2 nodes",
        "labels: −1 means no label, in 1 node. If it is a class, number the classes from 0.",
    ]
    KappaGCNClassifier("H4", epochs=2).fit(data)
    assert not capsys.readouterr().err, "nothing, of a graph that brings its labels"
