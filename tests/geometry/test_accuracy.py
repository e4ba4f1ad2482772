"""Against 50-digit mpmath: a sample of what `make accuracy` measures with 1000 inputs per cell."""

import math

import pytest
import torch

import accuracy

CELLS = [(name, dtype) for name in accuracy.CASES for dtype in accuracy.TARGETS]


@pytest.mark.parametrize(("name", "dtype"), CELLS, ids=lambda c: str(c).removeprefix("torch."))
def test_values_and_slopes_are_within_the_targets(name, dtype):
    value_target, slope_target = accuracy.targets(name, dtype)
    for kappa in accuracy.KAPPAS:
        measured = accuracy.measure(name, kappa, dtype, count=25, seed=7)["kappagcn"]
        assert measured["value"] <= value_target, (kappa, measured)
        assert measured["slope"] <= slope_target, (kappa, measured)


# A dozen roundings of the points, each worth ε·cosh²(r/2) at distance r from the origin; three are seen at most.
ROUNDINGS = 12


@pytest.mark.parametrize("name", accuracy.FAR_CASES)
@pytest.mark.parametrize("dtype", accuracy.TARGETS, ids=lambda c: str(c).removeprefix("torch."))
def test_far_points_lose_only_what_their_own_rounding_loses(name, dtype):
    for radius in accuracy.RADII:
        bound = ROUNDINGS * torch.finfo(dtype).eps * math.cosh(radius / 2) ** 2
        assert accuracy.measure_far(name, -1.0, radius, dtype, count=15)["error"] <= bound, radius


@pytest.mark.parametrize("name", accuracy.FAR_CASES)
@pytest.mark.parametrize("dtype", accuracy.TARGETS, ids=lambda c: str(c).removeprefix("torch."))
def test_near_antipodes_only_directions_lose_digits(name, dtype):
    for gap in accuracy.FROM_ANTIPODE:
        bound = ROUNDINGS * torch.finfo(dtype).eps / gap
        assert accuracy.measure_far(name, 1.0, gap, dtype, count=15)["error"] <= bound, gap


def test_the_comparison_can_fail():
    """geoopt's distance misses the float32 target near zero curvature: the measure sees what it should."""
    measured = accuracy.measure("dist", -1e-6, torch.float32, count=25)["geoopt"]
    assert measured["value"] > accuracy.TARGETS[torch.float32][0]
    assert measured["slope"] > 1
