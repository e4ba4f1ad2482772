"""Mean average precision against its definition."""

import networkx as nx
import numpy as np
import pytest
import torch

from kappagcn import ProductManifold
from kappagcn.embedding.quality import mean_average_precision
from kappagcn.graphs import from_networkx
from kappagcn.nn.point_distances import distances_from


def by_hand(distances, graph):
    """The definition, set by set."""
    neighbours = {i: set(graph.edge_index[1, graph.edge_index[0] == i].tolist()) for i in range(graph.num_nodes)}
    results = []
    for a, near in neighbours.items():
        if near:
            shares = []
            for b in near:
                ball = {c for c in range(graph.num_nodes) if c != a and distances[a, c] <= distances[a, b]}
                shares.append(len(ball & near) / len(ball))
            results.append(sum(shares) / len(shares))
    return sum(results) / len(results)


@pytest.mark.parametrize("seed", range(5))
def test_precision_is_its_definition(seed):
    generator = torch.Generator().manual_seed(seed)
    graph = from_networkx(nx.gnp_random_graph(25, 0.1, seed=seed))
    manifold = ProductManifold.from_signature("H2xS1")
    v = torch.randn(25, 3, generator=generator).round(decimals=0)  # many ties
    distances = distances_from(v, manifold, range(25)).numpy().round(9)
    assert mean_average_precision(v, manifold, graph) == pytest.approx(by_hand(distances, graph), abs=0.02)
    v = torch.randn(25, 3, generator=generator)
    distances = distances_from(v, manifold, range(25)).numpy()
    assert mean_average_precision(v, manifold, graph) == pytest.approx(by_hand(distances, graph), rel=1e-12)
    some = mean_average_precision(v, manifold, graph, torch.tensor([3, 7]))
    alone = [mean_average_precision(v, manifold, graph, torch.tensor([i])) for i in (3, 7)]
    assert some == pytest.approx(np.nanmean(alone), rel=1e-12)
