"""Metrics of scores: by definition, by scikit-learn, and without it."""

import numpy as np
import pytest

from kappagcn.errors import TrainingError
from kappagcn.links.metrics import (
    average_precision,
    exact_average_precision,
    exact_roc_auc,
    hits_at,
    link_metrics,
    mean_reciprocal_rank,
    roc_auc,
)


def scores(seed, ties):
    rng = np.random.default_rng(seed)
    edges, others = rng.normal(1, 1, 57), rng.normal(0, 1, 83)
    return (edges.round(1), others.round(1)) if ties else (edges, others)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_both_ways_give_the_same_numbers_as_the_definition(seed, ties):
    edges, others = scores(seed, ties)
    wins = (edges[:, None] > others).mean() + 0.5 * (edges[:, None] == others).mean()
    assert exact_roc_auc(edges, others) == pytest.approx(wins, abs=1e-12)
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    assert roc_auc(edges, others) == pytest.approx(exact_roc_auc(edges, others), abs=1e-12)
    assert average_precision(edges, others) == pytest.approx(exact_average_precision(edges, others), abs=1e-12)


def test_average_precision_by_hand():
    """Thresholds 3, 2 and 1 with precision 1, 1/2 (tied) and 3/5."""
    expected = 1 / 3 * 1 + 1 / 3 * 2 / 4 + 1 / 3 * 3 / 5
    assert exact_average_precision(np.array([3.0, 2.0, 1.0]), np.array([2.0, 2.0])) == pytest.approx(expected)


def test_without_scikit_learn(monkeypatch):
    edges, others = scores(3, ties=True)
    expected = link_metrics(edges, others)
    monkeypatch.setitem(__import__("sys").modules, "sklearn.metrics", None)
    assert link_metrics(edges, others) == pytest.approx(expected, abs=1e-12)


def test_hits_and_ranks():
    edges, others = [5.0, 3.0, 1.0], [4.0, 2.0]
    assert [hits_at(k, edges, others) for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert mean_reciprocal_rank(edges, others) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert mean_reciprocal_rank([1.0], [1.0]) == pytest.approx(1 / 1.5)


def test_nothing_to_compare_is_refused():
    with pytest.raises(TrainingError, match="at least one edge"):
        roc_auc([], [1.0])
    with pytest.raises(TrainingError, match="finite"):
        roc_auc([np.nan], [1.0])
