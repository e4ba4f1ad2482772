import numpy as np

from kappagcn.view.report.colouring import colourings
from report_runs import classified_run, embedded, tree_edges, tree_vectors
from test_content import array


def test_a_classifier_has_classes_predictions_mistakes_and_roles(tmp_path):
    made = classified_run(tmp_path / "run").embedded
    ways = {way["key"]: way for way in colourings(made, np.arange(90), 0)}
    assert list(ways) == ["class", "prediction", "mistake", "split", "depth", "degree", "distortion"]
    guesses = made.probabilities.argmax(1)
    assert array(ways["prediction"]["values"]).tolist() == guesses.tolist()
    wrong = int((guesses != made.labels).sum())
    assert ways["mistake"]["counts"] == [90 - wrong, wrong, 0]
    assert ways["split"]["names"] == ["training", "early stopping", "validation", "test"]


def test_numbers_of_nodes():
    made = embedded(
        tree_vectors(40), [2], [-1.0], tree_edges(40), columns=np.ones((40, 1)), column_names=np.array(["x"])
    )
    ways = {way["key"]: way for way in colourings(made, np.arange(40), 0)}
    assert list(ways) == ["depth", "degree", "distortion", "column-0"]
    assert ways["depth"]["ends"] == [0, 3]
    assert array(ways["degree"]["values"])[0] == 3
    assert ways["column-0"]["title"] == "x"


def test_nodes_without_a_path_have_no_depth():
    made = embedded(np.zeros((4, 2)), [2], [-1.0], np.array([[0, 1], [1, 2]]))
    depth = colourings(made, np.arange(4), 0)[0]
    assert np.isnan(array(depth["values"])[3])
    assert depth["ends"] == [0, 2]


def test_where_all_nodes_are_neighbours_of_the_central_one_degrees_come_first():
    made = embedded(np.zeros((4, 2)), [2], [-1.0], np.array([[0, 1], [0, 2], [0, 3], [1, 2]]))
    assert [way["key"] for way in colourings(made, np.arange(4), 0)][:2] == ["degree", "depth"]
