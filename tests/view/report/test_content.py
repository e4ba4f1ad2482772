import base64
import json

import numpy as np
import pytest

from kappagcn.view.report import content
from kappagcn.view.report.content import edges_among
from report_runs import Tags, embedded, save_run, tree_edges, tree_run, tree_vectors, written

TYPES = {"f8": np.float64, "f4": np.float32, "u2": np.uint16, "i4": np.int32}


def array(arrays):
    ((kind, text),) = arrays.items()
    return np.frombuffer(base64.b64decode(text), TYPES[kind])


def view_of(run, tmp_path):
    return json.loads(Tags(written(run, tmp_path)).data)["view"]


def test_edges_are_those_among_shown_nodes():
    edges = np.array([[0, 1], [2, 4], [4, 4], [3, 4]])
    chosen, among = edges_among(edges, np.array([2, 3, 4]), 5)
    assert chosen.tolist() == [False, True, False, True]
    assert among.tolist() == [[0, 2], [1, 2]]


def test_graphs_of_twenty_thousand_nodes_are_shown_whole(tmp_path):
    run = tree_run(tmp_path / "tree", nodes=4941)
    view = view_of(run, tmp_path)
    assert (view["nodes"], view["shown"], view["edgesAmong"], view["edgesAll"]) == (4941, 4941, 4940, 4940)
    assert np.array_equal(array(view["edges"]).reshape(-1, 2), run.embedded.edges)
    factor = view["runs"][0]["factors"][0]
    assert np.array_equal(array(factor["tangent"]).reshape(-1, 2), run.embedded.tangent)


def test_of_larger_graphs_a_connected_part_is_shown_and_all_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "MOST_NODES", 300)
    monkeypatch.setattr(content, "MOST_EDGES", 250)
    run = tree_run(tmp_path / "tree", nodes=900, labels=np.arange(900) % 2, class_names=np.array(["a", "b"]))
    text = written(run, tmp_path)
    assert text == written(run, tmp_path)
    view = json.loads(Tags(text).data)["view"]
    assert (view["shown"], view["edgesAmong"], len(view["names"])) == (300, 299, 300)  # one tree
    assert len(array(view["edges"])) == 2 * 250
    assert view["colourings"][0]["counts"] == [450, 450, 0]


def test_twenty_thousand_nodes_are_a_small_page(tmp_path):
    rng = np.random.default_rng(0)
    edges = np.vstack([tree_edges(20000), rng.integers(0, 20000, (40000, 2))])
    tangent = rng.normal(size=(20000, 10))
    run = save_run(tmp_path / "run", embedded(tangent, [10], [-1.0], edges))
    assert len(written(run, tmp_path)) < 4e6


@pytest.mark.parametrize("nodes", [1, 2])
def test_tiny_graphs(tmp_path, nodes):
    run = save_run(tmp_path / "run", embedded(tree_vectors(nodes), [2], [-1.0], tree_edges(nodes)))
    assert view_of(run, tmp_path)["shown"] == nodes
