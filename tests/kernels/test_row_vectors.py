"""Products and sums of short rows of every length, against NumPy."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")

from kappagcn.kernels.blocks import compiled
from kappagcn.kernels.row_vectors import combine, dot


@compiled
def product(x, y, at, place, dim):
    return dot(x, at, y, place, dim)


@compiled
def write_combined(out, s, x, t, y, at, place, dim):
    combine(out, at, s, x, at, t, y, place, dim)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [0, 1, 2, 3, 7, 8, 16, 17, 31])
def test_rows_of_every_length(dim, dtype):
    rng = np.random.default_rng(dim)
    x, y = rng.normal(size=(3, dim + 2)).astype(dtype), rng.normal(size=(3, dim + 5))
    at, place = x.shape[1] + 1, 2 * y.shape[1] + 4  # within the second row of x, and the third of y
    one, other = x[1, 1 : 1 + dim].astype(np.float64), y[2, 4 : 4 + dim]
    rounding = 4 * (1 + dim) * np.finfo(np.float64).eps
    assert abs(product(x, y, at, place, dim) - one @ other) <= rounding * (np.abs(one) @ np.abs(other))
    out = np.full_like(x, 9.0)
    write_combined(out, 2.0, x, -3.0, y, at, place, dim)
    want = np.full_like(x, 9.0)
    want[1, 1 : 1 + dim] = 2 * one - 3 * other
    assert np.allclose(out, want, rtol=2 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)
