import numpy as np

from kappagcn.view.centre import central_node, depths, nodes_near


def tree_edges(nodes, branching=3):
    children = np.arange(1, nodes)
    return np.column_stack([(children - 1) // branching, children])


def test_the_middle_of_a_graph_and_depths_from_it():
    edges = tree_edges(40)  # three children each: the root is the middle
    assert central_node(edges, 40) == 0
    assert depths(edges, 42, 0).tolist()[39:] == [3, np.inf, np.inf]


def test_a_part_of_a_graph_is_connected_and_around_the_middle():
    edges = tree_edges(500)
    shown = nodes_near(edges, 502, 0, 100)
    assert len(shown) == 100
    assert (np.diff(shown) > 0).all()
    inside = np.isin(edges, shown).all(1)
    assert inside.sum() == 99  # a tree with 100 nodes: nothing is cut off
    assert nodes_near(edges, 502, 0, 501)[-1] == 500  # the nodes without a path come last
