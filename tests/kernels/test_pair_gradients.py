"""Squared distances from S, and their derivatives, as pairs take them: against 50 digits."""

import mpmath as mp
import numpy as np
import pytest

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels import pair_distances
from kappagcn.kernels.point_blocks import BENT, BLOCK, HAVERSINE, SLOPE, SQUARE

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

    pairs, parts = np.ones(6 * BLOCK), np.ones(5 * BLOCK)
    pairs[HAVERSINE : HAVERSINE + BLOCK] = s = z / kappa
    if abs(z) < pair_distances.NEAR:
        pair_distances.near_arcs(BLOCK, kappa, pairs, parts)
    else:
        (pair_distances.hyperbolic_arcs if z < 0 else pair_distances.spherical_arcs)(BLOCK, kappa, pairs, parts)
    with mp.workdps(300):  # differences of such numbers
        by_s = mp.diff(lambda x: quarter(x, mp.mpf(kappa)), mp.mpf(s), h=mp.mpf(s) * mp.mpf(10) ** -100)
        by_kappa = mp.diff(lambda x: quarter(mp.mpf(s), x), mp.mpf(kappa), h=mp.mpf(kappa) * mp.mpf(10) ** -100)
        exact = quarter(mp.mpf(s), mp.mpf(kappa))
    for place, value, tolerance in ((SQUARE, exact, 1e-14), (SLOPE, by_s, 1e-14), (BENT, by_kappa, 1e-12)):
        assert parts[place] == pytest.approx(float(value), rel=tolerance)
