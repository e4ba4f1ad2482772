"""Results for nodes as data frames: names as index, integers where all names are."""

import numpy as np
import pandas as pd
import pytest

from kappagcn import GraphEmbedder, KappaGCNClassifier, KappaGCNLinkPredictor
from kappagcn.training.graph_nodes import GraphNodes
from kappagcn.training.node_arrays import node_frame

FEW = {"epochs": 5, "verbose": False}
EDGES = [("eve", "cem"), ("cem", "bob"), ("fay", "ann"), ("ann", "eve"), ("bob", "dan")]
NODES = ["eve", "cem", "bob", "fay", "ann", "dan"]


def test_predictions_by_name() -> None:
    y = {"ann": "x", "bob": "y", "cem": "y", "fay": "x"}
    classifier = KappaGCNClassifier("H2", **FEW).fit(EDGES, y)
    frame, probabilities = classifier.predict(as_frame=True), classifier.predict_proba(as_frame=True)
    assert frame.index.tolist() == classifier.node_names_ == NODES
    assert frame.index.name == "node"
    assert frame.label.tolist() == classifier.predict().tolist()
    assert probabilities.columns.tolist() == ["x", "y"]
    np.testing.assert_array_equal(probabilities, classifier.predict_proba())
    np.testing.assert_array_equal(frame.probability, classifier.predict_proba().max(1))
    some = classifier.predict(GraphNodes(EDGES)[[3, 0]], as_frame=True)
    pd.testing.assert_frame_equal(some, frame.loc[["fay", "eve"]])


def test_all_estimators_have_names_of_nodes() -> None:
    assert GraphEmbedder("E2", **FEW).fit(EDGES).node_names_ == NODES
    assert KappaGCNLinkPredictor(**FEW, test=0.0, validation=0.2).fit(EDGES).node_names_ == NODES
    assert KappaGCNClassifier("H2", **FEW).fit([(0, 1), (1, 2)], ["a", "b", "b"]).node_names_ is None


@pytest.mark.parametrize(
    ("names", "nodes"),
    [(None, [2, 0]), (["7", "-1", "12"], [12, 7]), (["7", "x", "12"], ["12", "7"]), (["07", "8", "9"], ["9", "07"])],
)
def test_index_of_integers(names: list[str] | None, nodes: list[int | str]) -> None:
    frame = node_frame(names, np.array([2, 0]), ["label"], [np.array([True, False])])
    assert frame.index.tolist() == nodes
