"""Metrics by hand, simple scores of pairs, and what a comparison with them says."""

import networkx as nx
import numpy as np
import pytest

from kappagcn.graphs import classic, edge_split
from kappagcn.links.metrics import BASELINES, baseline_metrics, baseline_scores, hits_at, mean_reciprocal_rank, verdict


def test_hits_and_ranks():
    edges, others = [5.0, 3.0, 1.0], [4.0, 2.0]
    assert [hits_at(k, edges, others) for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert mean_reciprocal_rank(edges, others) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert mean_reciprocal_rank([1.0], [1.0]) == pytest.approx(1 / 1.5)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("common neighbours", lambda g, pairs: [len(list(nx.common_neighbors(g, *pair))) for pair in pairs]),
        ("Adamic–Adar", lambda g, pairs: [value for *_, value in nx.adamic_adar_index(g, pairs)]),
        ("degree product", lambda g, pairs: [value for *_, value in nx.preferential_attachment(g, pairs)]),
    ],
)
def test_scores_are_those_of_networkx(name, reference):
    data, graph = classic("karate"), nx.karate_club_graph()
    pairs = np.stack(np.triu_indices(34, 1))
    np.testing.assert_allclose(baseline_scores(name, data, pairs), reference(graph, list(map(tuple, pairs.T))))


def test_metrics_come_from_training_edges_alone():
    data = classic("karate")
    split = edge_split(data, 0)
    metrics = baseline_metrics(data, split)
    assert set(metrics) == set(BASELINES)
    hidden = baseline_metrics(split.training_view(data), split)
    assert metrics == hidden


@pytest.mark.parametrize(
    ("interval", "gap", "words"),
    [
        ((0.45, 0.6), (-0.35, -0.2), "not better than chance"),
        ((0.4, 0.49), (-0.4, -0.3), "not better than chance"),
        ((0.65, 0.75), (-0.15, -0.05), "worse than Adamic–Adar alone, AUC 0.800"),
        ((0.85, 0.95), (0.05, 0.15), "better than chance, and than Adamic–Adar"),
        ((0.7, 0.95), (-0.1, 0.15), "better than chance; level with Adamic–Adar"),
    ],
)
def test_the_verdict_is_plain(interval, gap, words):
    assert verdict(interval, gap, "Adamic–Adar", 0.8).startswith(words)
