"""Algorithm 1 beside the exact curvature that it estimates."""

import networkx as nx
import numpy as np
import pytest
import torch

import algorithm1
from algorithm1 import sampled_curvature
from kappagcn.graphs import parallelogram_curvature
from random_graphs import GRAPHS, as_data


@pytest.mark.parametrize("name", GRAPHS)
def test_algorithm_1_samples_the_exact_value(name):
    data = as_data(GRAPHS[name]())
    exact = parallelogram_curvature(data)
    means, errors, values = zip(*(sampled_curvature(data, 100, seed) for seed in range(40)), strict=True)
    means, errors, values = np.array(means), np.array(errors), torch.from_numpy(np.stack(values))
    assert abs(means.mean() - exact.mean) < 4 * means.std() / np.sqrt(40)
    assert 0.6 < means.std() / errors.mean() < 1.5  # the standard error is what it says
    per_node = values.mean(dim=0)
    assert torch.equal(torch.isnan(per_node), torch.isnan(exact.per_node))
    spread = values.std(dim=0) / np.sqrt(40)
    assert (((per_node - exact.per_node).abs() / (spread + 1e-9)).nan_to_num(0) < 6).all()


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_samples_fall_on_all_other_nodes_alike_whatever_the_blocks(monkeypatch, block):
    """Counts of (m, a) are uniform over the component of m without m itself."""
    data = as_data(nx.disjoint_union(nx.complete_graph(5), nx.path_graph(7)))
    blocks = list(algorithm1.path_blocks(data))

    def in_blocks(graph, order):
        steps = np.concatenate([s for _, s in blocks], axis=1)
        for i in range(0, len(order), block):
            yield order[i : i + block], steps[:, order[i : i + block]]

    monkeypatch.setattr(algorithm1, "path_blocks", in_blocks)
    rng = np.random.default_rng(0)
    counts = np.zeros((12, 12))
    for (nodes, steps), (m, a) in algorithm1.anchored(data, np.ones(12, bool), 3000, rng):
        assert (steps[m, a] > 0).all()
        np.add.at(counts, (m, nodes[a]), 1)
    assert (counts.sum(axis=1) == 3000).all()
    for m in range(12):
        others = [a for a in (range(5) if m < 5 else range(5, 12)) if a != m]
        expected = 3000 / len(others)
        chi = ((counts[m, others] - expected) ** 2 / expected).sum()
        assert chi < 25  # 3 or 5 degrees of freedom
        assert counts[m].sum() == counts[m, others].sum()
