"""Metrics of scores by definition and as in scikit-learn; intervals of means."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from kappagcn.errors import ConfigError
from kappagcn.training.estimate import (
    Estimate,
    average_precision,
    bootstrapped,
    drawn_variance,
    mean_overlap,
    over_splits,
    roc_auc,
)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_metrics_are_those_of_the_definition_and_of_scikit_learn(seed, ties):
    rng = np.random.default_rng(seed)
    positive, negative = rng.normal(1, 1, 57), rng.normal(0, 1, 83)
    if ties:
        positive, negative = positive.round(1), negative.round(1)
    wins = (positive[:, None] > negative).mean() + 0.5 * (positive[:, None] == negative).mean()
    labelled = np.repeat([1, 0], [57, 83]), np.concatenate([positive, negative])
    assert roc_auc(positive, negative) == pytest.approx(wins, abs=1e-12)
    assert roc_auc(positive, negative) == pytest.approx(roc_auc_score(*labelled), abs=1e-12)
    assert average_precision(positive, negative) == pytest.approx(average_precision_score(*labelled), abs=1e-12)


def test_average_precision_by_hand():
    """Thresholds 3, 2 and 1 with precision 1, 1/2 (tied) and 3/5."""
    expected = 1 / 3 * 1 + 1 / 3 * 2 / 4 + 1 / 3 * 3 / 5
    assert average_precision([3.0, 2.0, 1.0], [2.0, 2.0]) == pytest.approx(expected)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ConfigError, match="at least one edge"):
        roc_auc([], [1.0])
    with pytest.raises(ConfigError, match="finite"):
        roc_auc([np.nan], [1.0])


def test_bootstrap_interval_is_that_of_the_mean():
    rng = np.random.default_rng(3)
    values = rng.normal(0.8, 0.02, 40)
    result = bootstrapped(values)
    with pytest.raises(ValueError, match="expected at least one value"):
        bootstrapped([])
    assert result.mean == values.mean()
    assert result.interval == pytest.approx(1.96 * values.std() / 40**0.5, rel=0.15)
    hits = sum(abs((e := bootstrapped(rng.normal(0, 1, 20))).mean) < e.interval for _ in range(300))
    assert 0.88 < hits / 300 < 0.98
    assert bootstrapped([0.7]) == Estimate(0.7, None)
    assert str(Estimate(-1.25, 0.5)) == "−1.250 ± 0.500"
    assert str(Estimate(0.7, None)) == "0.700"


def test_runs_that_share_their_test_nodes_have_at_least_the_interval_of_these():
    values, drawn = [0.8, 0.82, 0.81, 0.83], [0.815 * 0.185 / 200] * 4
    binomial = 1.96 * drawn[0] ** 0.5
    apart = over_splits(values, [set(range(200 * i, 200 * (i + 1))) for i in range(4)], drawn)
    shared = over_splits(values, [set(range(200))] * 4, drawn)
    assert apart.mean == shared.mean == np.mean(values)
    assert binomial / 2 * 0.999 < apart.interval < binomial < shared.interval
    assert over_splits([0.8] * 4, [set(range(200))] * 4, drawn).interval == pytest.approx(binomial)
    assert over_splits([0.8], [{1, 2}], drawn[:1]).interval == pytest.approx(binomial)
    assert over_splits([0.8], [{1, 2}]).interval is None


@pytest.mark.parametrize("shared", [0, 100, 200])
def test_an_interval_over_splits_covers_the_truth_however_many_test_nodes_they_share(shared):
    rng, hits, trials = np.random.default_rng(shared), 0, 200
    for _ in range(trials):  # whether a node is easy is the same in all splits; 0.8 of all nodes are
        tests = [[*range(shared), *range(1000 * (run + 1), 1000 * (run + 1) + 200 - shared)] for run in range(5)]
        right = {node: rng.random() < 0.8 for test in tests for node in test}
        marks = [np.array([right[node] for node in test], float) for test in tests]
        variances = [drawn_variance(each, 0, 1) for each in marks]
        estimate = over_splits([each.mean() for each in marks], [set(test) for test in tests], variances)
        hits += abs(estimate.mean - 0.8) < estimate.interval
    assert 0.9 < hits / trials <= 0.995


def test_shares_of_test_sets():
    assert mean_overlap([{1, 2}, {2, 3}, {1, 2}]) == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert mean_overlap([{1, 2}]) == 0
