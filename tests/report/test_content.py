import json

import numpy as np
import pytest

from kappagcn.report.content import edges_among, shown_nodes
from report_runs import Tags, embedded, save_run, tree_edges, tree_run, tree_vectors, written


def test_small_graphs_are_shown_whole():
    assert shown_nodes(2000).tolist() == list(range(2000))


def test_the_choice_is_always_the_same_and_in_order():
    first, second = shown_nodes(74374), shown_nodes(74374)
    assert np.array_equal(first, second)
    assert len(np.unique(first)) == 2000
    assert (np.diff(first) > 0).all()
    assert first.max() > 70000  # not the first ones


def test_edges_are_those_among_shown_nodes():
    edges = np.array([[0, 1], [2, 4], [4, 4], [3, 4]])
    found, among = edges_among(edges, np.array([2, 3, 4]), 5)
    assert found.tolist() == [[0, 2], [1, 2]]
    assert among == 2


def test_too_many_edges_are_thinned_and_counted():
    edges = np.column_stack([np.arange(100), np.arange(100) + 1])
    found, among = edges_among(edges, np.arange(101), 101, most=10)
    assert (len(found), among) == (10, 100)


def test_the_same_run_gives_the_same_page(tmp_path):
    run = tree_run(tmp_path / "tree", nodes=2500)
    text = written(run, tmp_path)
    assert text == written(run, tmp_path)
    view = json.loads(Tags(text).data)["view"]
    assert (view["nodes"], view["shown"], len(view["labels" if "labels" in view else "depths"])) == (2500, 2000, 2000)
    assert max(map(max, view["near"])) < len(view["names"])


@pytest.mark.parametrize("nodes", [1, 2])
def test_tiny_graphs(tmp_path, nodes):
    run = save_run(tmp_path / "run", embedded(tree_vectors(nodes), [2], [-1.0], tree_edges(nodes)))
    assert json.loads(Tags(written(run, tmp_path)).data)["view"]["shown"] == nodes
