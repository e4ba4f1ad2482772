"""The walk along a curvature, and the interval that it ends with."""

import math

import pytest
import torch

from kappagcn.training.curvature_interval import CurvatureInterval, interval_of, upper_limit


def walk(value_at, learned=-1.0, refinements=6):
    """The interval of a curvature whose value is a function of it, and the curvatures that were tried."""
    kappa, tried = torch.tensor(learned, dtype=torch.float64), []

    def value():
        tried.append(float(kappa))
        return value_at(float(kappa))

    least = value_at(learned)
    interval = interval_of(kappa, 1.0, value, lambda: kappa.fill_(learned), least, upper_limit(least), refinements)
    assert float(kappa) == learned, "the curvature is as it was"
    return interval, tried


@pytest.mark.parametrize("power", [1, 2, 4])
def test_at_the_ends_the_value_has_risen_by_one_per_cent(power):
    interval, _ = walk(lambda k: 2 + abs(k + 1) ** power)
    for end in (interval.low, interval.high):
        assert 2 + abs(end + 1) ** power == pytest.approx(1.01 * 2, rel=1e-3)
    assert interval.low < -1 < interval.high
    assert interval.profile == sorted(interval.profile)


def test_one_interpolation_finds_the_end_of_a_parabola():
    interval, _ = walk(lambda k: 1 + 0.01 * (math.asinh(k) - math.asinh(-1)) ** 2, refinements=0)
    assert math.asinh(interval.high) - math.asinh(-1) == pytest.approx(1, rel=1e-3)


def test_a_side_without_a_rise_has_no_end():
    interval, tried = walk(lambda k: 1 + max(k + 1, 0))
    assert interval.low is None
    assert not interval.identified
    assert interval.holds(-1e9)
    assert not interval.holds(interval.high + 1e-6)
    assert min(tried) > -math.sinh(20)


def test_a_value_that_is_not_finite_is_beyond_the_end():
    interval, _ = walk(lambda k: 1.0 if k < -0.5 else math.nan)
    assert interval.high == pytest.approx(-0.5, abs=0.05)
    assert all(math.isfinite(value) for _, value in interval.profile)


def test_plain_values_and_back():
    interval = CurvatureInterval(-1.0, -2.0, None, [(-2.0, 0.2), (-1.0, 0.1)])
    assert CurvatureInterval.from_dict(interval.as_dict()) == interval
    assert CurvatureInterval.from_dict({k: v for k, v in interval.as_dict().items() if k != "local"}) == interval
    assert not interval.identified


def test_a_unit_of_length_scales_all_numbers():
    interval = CurvatureInterval(-1.0, -2.0, None, [(-2.0, 0.2), (-1.0, 0.1)], local=False).in_units(10.0)
    assert interval == CurvatureInterval(-0.01, -0.02, None, [(-0.02, 0.2), (-0.01, 0.1)], local=False)
