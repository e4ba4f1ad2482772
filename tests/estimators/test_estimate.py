"""Intervals of means."""

import numpy as np
import pytest

from kappagcn.estimators import Estimate, bootstrapped
from kappagcn.estimators.estimate import mean_overlap


def test_bootstrap_interval_is_that_of_the_mean():
    rng = np.random.default_rng(3)
    values = rng.normal(0.8, 0.02, 40)
    result = bootstrapped(values)
    assert result.mean == values.mean()
    assert result.interval == pytest.approx(1.96 * values.std() / 40**0.5, rel=0.15)
    hits = sum(abs((e := bootstrapped(rng.normal(0, 1, 20))).mean) < e.interval for _ in range(300))
    assert 0.88 < hits / 300 < 0.98
    assert bootstrapped([0.7]) == Estimate(0.7, None)
    assert str(Estimate(-1.25, 0.5)) == "−1.250 ± 0.500"
    assert str(Estimate(0.7, None)) == "0.700"


def test_runs_that_share_their_test_set_have_a_wider_interval():
    values = [0.8, 0.82, 0.81, 0.83]
    alone, shared = bootstrapped(values), bootstrapped(values, overlap=1.0)
    assert shared.mean == alone.mean
    assert shared.interval == pytest.approx(2 * alone.interval)
    assert mean_overlap([{1, 2}, {2, 3}, {1, 2}]) == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert mean_overlap([{1, 2}]) == 0
