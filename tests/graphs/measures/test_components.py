import networkx as nx
import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn import graphs as G
from kappagcn.graphs import adjacency, assemble, components, induced_subgraph, largest_component
from kappagcn.graphs.io.node_data import as_features
from random_graphs import as_data, networks


def test_names_of_columns_and_classes_are_not_cut_with_the_nodes():
    data = as_data(nx.disjoint_union(nx.path_graph(2), nx.cycle_graph(3)))
    data.x, data.attr_names = torch.eye(5), list("abcde")
    data.y, data.class_names = torch.arange(5), list("VWXYZ")
    part = G.largest_component(data)
    assert part.x.shape == (3, 5)
    assert (part.attr_names, part.class_names) == (list("abcde"), list("VWXYZ"))
    assert part.y.tolist() == [2, 3, 4]


@given(networks())
def test_components_are_networkxs_largest_first(graph):
    part = components(as_data(graph))
    sizes = sorted((len(c) for c in nx.connected_components(graph)), reverse=True)
    assert np.bincount(part).tolist() == sizes
    assert {frozenset(np.flatnonzero(part == i).tolist()) for i in range(len(sizes))} == {
        frozenset(c) for c in nx.connected_components(graph)
    }


@given(networks(least=2), st.data())
def test_the_induced_subgraph_takes_along_what_belongs_to_nodes(graph, draw):
    n = len(graph)
    nodes = np.array(draw.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1)))
    data = as_data(graph)
    data.x = as_features(np.arange(2.0 * n).reshape(n, 2), sparse=draw.draw(st.booleans()))
    data.y = torch.arange(n)
    data.node_names = [f"n{i}" for i in range(n)]
    part = induced_subgraph(data, nodes)
    assert part.y.tolist() == nodes.tolist()
    assert part.node_names == [f"n{i}" for i in nodes]
    assert (part.x.to_dense()[:, 0] == 2 * torch.from_numpy(nodes)).all()
    want = nx.to_numpy_array(graph, nodelist=list(range(n)))[np.ix_(nodes, nodes)]
    assert (adjacency(part).toarray() == want).all()


def test_the_largest_component_is_reported_with_the_graph_it_was_cut_from():
    data = assemble(np.array([0, 1, 3]), np.array([1, 2, 4]), 6, weights=[2.0, 3.0, 1.0])
    part = largest_component(data)
    assert part.num_nodes == 3
    assert part.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert part.report.startswith("3 nodes, 2 edges; weighted; cut from a graph of 6 nodes, 3 edges")
    assert largest_component(part) is part
