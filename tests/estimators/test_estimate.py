"""Intervals of means."""

import numpy as np
import pytest

from kappagcn.estimators import Estimate, bootstrapped


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
