"""What the compiled functions share: how they are compiled, blocks of rows, series, the factors of a product.

Rows go in blocks whose bounds do not depend on the number of threads; neither do sums over rows, then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.geometry.numerics import ROW_VALUE_TERMS, SERIES
from kappagcn.kernels.threads import spread

__all__ = ["BLOCK", "Array", "Factors", "as_array", "coefficients", "compiled", "horner", "in_blocks"]

Array = NDArray[Any]
BLOCK = 2048
ALONE = 65536  # rows that one thread finishes before another has woken up and found its block

# Sums may be reordered to use vector registers; nothing else is relaxed.
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})


def coefficients(name: str) -> Array:
    """The series of a function, highest power first, for `horner`."""
    return np.array(SERIES[name][: ROW_VALUE_TERMS[name]][::-1])


@compiled
def horner(terms: Array, z: float) -> float:
    """The polynomial with these coefficients, highest power first, at z."""
    total = 0.0
    for n in range(terms.shape[0]):
        total = total * z + terms[n]
    return total


def in_blocks(rows: int, work: Callable[[slice, int], None]) -> None:
    """Work on all rows, block by block."""
    blocks = -(-rows // BLOCK) or 1
    spread(blocks, lambda n: work(slice(n * BLOCK, min((n + 1) * BLOCK, rows)), n), alone=rows <= ALONE)


def as_array(x: Tensor) -> Array:
    """The same numbers for numba, which wants them contiguous."""
    array: Array = x.contiguous().numpy()
    return array


@cache
def _ends(dims: tuple[int, ...]) -> Array:
    return np.cumsum([0, *dims])


class Factors:
    """Dimensions and curvatures of the factors, as the compiled functions take them."""

    def __init__(self, dims: list[int], kappas: list[float]) -> None:
        self.ends, self.kappas = _ends(tuple(dims)), np.array(kappas)

    def empty_sums(self, rows: int) -> Array:
        """A place for each block's gradients by the curvatures."""
        return np.zeros((-(-rows // BLOCK) or 1, len(self.kappas)))
