"""(d/2)² from S and its derivatives, as pairs take them: against 50 digits."""

import mpmath as mp
import pytest

from kappagcn.kernels.pairs import hyperbolic_arc, near_arc, spherical_arc
from kappagcn.kernels.points import NEAR

SIZES = (
    1e-9,
    1e-3,
    0.01,
    0.0199,
    0.0201,
    0.03,
    0.1,
    0.1464,
    0.1465,
    0.3,
    0.499,
    0.501,
    0.86,
    0.99,
    3.0,
    30.0,
    1e9,
    1e200,
)


@pytest.mark.parametrize("z", [-size for size in SIZES] + [size for size in SIZES if size < 1])
def test_squares_and_slopes_on_both_sides_of_the_series(z):
    kappa = -0.7 if z < 0 else 0.7

    def quarter(s, k):  # (d/2)²
        root = mp.sqrt(abs(k * s))
        return s * ((mp.asinh(root) if k < 0 else mp.asin(root)) / root) ** 2

    s = z / kappa
    arc = near_arc if abs(z) < NEAR else (hyperbolic_arc if z < 0 else spherical_arc)
    with mp.workdps(300):  # differences of such numbers
        by_s = mp.diff(lambda x: quarter(x, mp.mpf(kappa)), mp.mpf(s), h=mp.mpf(s) * mp.mpf(10) ** -100)
        by_kappa = mp.diff(lambda x: quarter(mp.mpf(s), x), mp.mpf(kappa), h=mp.mpf(kappa) * mp.mpf(10) ** -100)
        exact = quarter(mp.mpf(s), mp.mpf(kappa))
    for actual, value, tolerance in zip(arc(s, kappa), (exact, by_s, by_kappa), (1e-14, 1e-14, 1e-12), strict=True):
        assert actual == pytest.approx(float(value), rel=tolerance)
