"""Nodes that come later."""

import networkx as nx
import numpy as np
import pytest
import torch

from kappagcn import GraphEmbedder
from kappagcn.errors import GraphError
from kappagcn.graphs import balanced_tree, from_networkx, path, shortest_paths


def grown(graph, extra):
    """A NetworkX graph with more nodes, in the order of their numbers."""
    larger = nx.Graph()
    larger.add_nodes_from(range(graph.num_nodes + len({n for edge in extra for n in edge if n >= graph.num_nodes})))
    larger.add_edges_from(graph.edge_index.T.tolist())
    larger.add_edges_from(extra)
    return from_networkx(larger)


@pytest.mark.parametrize("space", ["H3", "H2xS2", "E4"])
def test_new_leaves_find_their_place_and_the_others_stay(space):
    tree = balanced_tree(3, 3)
    embedder = GraphEmbedder(space, epochs=200, verbose=False).fit(tree)
    larger = grown(tree, [(5, 40), (40, 41), (12, 42)])
    points = embedder.transform(larger)
    assert np.array_equal(points[:40], embedder.embedding_)
    placed, wanted = embedder.placed(larger), shortest_paths(larger).double().numpy()
    again = GraphEmbedder(space, epochs=1, verbose=False)
    again._place(embedder.manifold_.dims, embedder.curvatures_, torch.from_numpy(placed))
    ratio = again.distances([40, 41, 42])[:, :40] / wanted[40:, :40]
    assert np.abs(ratio - 1).mean() < max(0.1, 2 * embedder.d_avg_)


def test_a_node_without_a_path_and_fewer_nodes_are_refused():
    tree = balanced_tree(2, 2)
    embedder = GraphEmbedder("H2", epochs=20, verbose=False).fit(tree)
    with pytest.raises(GraphError, match="found none from node 7"):
        embedder.transform(grown(tree, [(7, 8)]))
    assert np.array_equal(embedder.transform(tree), embedder.embedding_)
    with pytest.raises(GraphError, match="expected more than the 7 nodes"):
        embedder.transform(path(6))
