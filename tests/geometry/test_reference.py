"""The reference is right where closed forms are known, so that agreeing with it means something."""

import pytest
from mpmath import mp, mpf

import reference as R


def test_textbook_values():
    half, zero = [mpf(1) / 2, mpf(0)], [mpf(0), mpf(0)]
    assert R.dist(zero, half, mpf(-1)) == pytest.approx(float(mp.log(3)), rel=1e-15)  # artanh(1/2) = log(3)/2
    assert R.dist(zero, [mpf(1), mpf(0)], mpf(1)) == pytest.approx(float(mp.pi / 2), rel=1e-15)  # to the equator
    assert R.add(half, half, mpf(-1))[0] == pytest.approx(0.8, rel=1e-15)  # relativistic addition of velocities
    assert R.dist(half, [mpf(0), mpf(1) / 2], mpf(0)) == pytest.approx(float(mp.sqrt(2)), rel=1e-15)


def test_poincare_distance_by_its_other_formula():
    x, y = [mpf("0.3"), mpf("-0.1")], [mpf("-0.2"), mpf("0.5")]
    gap = R.dot([a - b for a, b in zip(x, y, strict=True)], [a - b for a, b in zip(x, y, strict=True)])
    other = mp.acosh(1 + 2 * gap / ((1 - R.dot(x, x)) * (1 - R.dot(y, y))))
    assert abs(R.dist(x, y, mpf(-1)) - other) < mpf(10) ** -45


@pytest.mark.parametrize("k", ["-0.7", "0", "0.7"])
def test_maps_are_inverse_and_lifts_agree(k):
    k, x, v = mpf(k), [mpf("0.3"), mpf("-0.1")], [mpf("0.2"), mpf("0.4")]
    back = R.logmap(x, R.expmap(x, v, k), k)
    assert all(abs(a - b) < mpf(10) ** -45 for a, b in zip(back, v, strict=True))
    assert all(abs(a - b) < mpf(10) ** -45 for a, b in zip(R.lower(R.lift(v, k), k), v, strict=True))
    apart = R.dist(R.expmap0(x, k), R.expmap0(v, k), k)
    assert abs(R.tangent_dist(x, v, k) - apart) < mpf(10) ** -40


def test_slope():
    assert R.slope(lambda k: k**3, mpf(2)) == pytest.approx(12, rel=1e-15)
