"""The derivative of arsinc that pairs take, against 50 digits."""

import mpmath as mp
import numpy as np
import pytest

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels import pair_distances, pair_gradients


@pytest.mark.parametrize("z", [-1e-9, -1e-3, -0.01, -0.0199, -0.0201, -0.03, -0.3, -3.0, -30.0])
def test_slopes_on_both_sides_of_the_series(z):
    with mp.workdps(50):
        slope = mp.diff(lambda x: mp.asinh(mp.sqrt(-x)) / mp.sqrt(-x), mp.mpf(z))
        value = mp.asinh(mp.sqrt(-mp.mpf(z))) / mp.sqrt(-mp.mpf(z))
    arc, root, x, power = (np.ones(1) for _ in range(4))
    pair_distances._hyperbolic_arcs(np.array([-z]), -1.0, arc, root, x, x.view(np.int64), power)
    near = abs(z) <= pair_distances.NEAR
    ours = pair_gradients.slope_near(z) if near else (root[0] - arc[0]) / (2 * z)
    assert arc[0] == pytest.approx(float(value), rel=1e-12)
    assert ours == pytest.approx(float(slope), rel=1e-12)
