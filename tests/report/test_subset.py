import numpy as np

from kappagcn.report.subset import edges_among, shown_nodes


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
