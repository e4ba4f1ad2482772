"""What the compiled functions share: how they are compiled, blocks of rows over threads, series, factors of a product.

Rows go in blocks whose bounds do not depend on the number of threads; neither do sums over rows, then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.geometry.numerics import ROW_VALUE_TERMS, SERIES, derivative_series

__all__ = [
    "Array",
    "Factors",
    "as_array",
    "block_sums",
    "compiled",
    "horner",
    "in_blocks",
    "parallel_for",
    "slope_terms",
    "value_terms",
]

Array = NDArray[Any]
BLOCK = 2048
ALONE = 65536  # rows that one thread finishes before another has woken up and found its block

# Sums may be reordered to use vector registers; nothing else is relaxed.
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})


class Factors(NamedTuple):
    """Factors of a product, as the compiled functions take them."""

    ends: Array  # where factors begin and end among the columns, (F + 1,)
    kappas: Array  # their curvatures, (F,)

    @classmethod
    def of(cls, dims: list[int], k: Tensor) -> Factors:
        """From dimensions and a tensor of curvatures."""
        return cls(_ends(tuple(dims)), np.array(k.tolist()))


@cache
def _ends(dims: tuple[int, ...]) -> Array:
    return np.cumsum([0, *dims])


def value_terms(name: str) -> Array:
    """Coefficients of a function's series, highest power first, for `horner`."""
    return np.array(SERIES[name][: ROW_VALUE_TERMS[name]][::-1])


def slope_terms(name: str) -> tuple[float, float]:
    """First two coefficients of the series of a function's derivative."""
    first, second = derivative_series(name)[:2]
    return first, second


@compiled
def horner(terms: Array, z: float) -> float:
    """The polynomial with these coefficients, highest power first, at z."""
    total = 0.0
    for n in range(terms.shape[0]):
        total = total * z + terms[n]
    return total


def as_array(x: Tensor) -> Array:
    """The same numbers for numba, which wants them contiguous."""
    array: Array = x.contiguous().numpy()
    return array


def block_sums(rows: int, *shape: int) -> Array:
    """Zeros for what each block sums up."""
    return np.zeros((-(-rows // BLOCK) or 1, *shape))


def in_blocks(rows: int, work: Callable[[slice, int], None]) -> None:
    """Call `work` with the slice and the number of each block of rows."""
    blocks = -(-rows // BLOCK) or 1
    parallel_for(blocks, lambda n: work(slice(n * BLOCK, min((n + 1) * BLOCK, rows)), n), alone=rows <= ALONE)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads of this process: those of a parent do not survive a fork."""
    return ThreadPoolExecutor(threads)


def parallel_for(count: int, work: Callable[[int], None], *, alone: bool = False) -> None:
    """Call ``work(0)`` to ``work(count - 1)`` in as many threads as torch uses, without waiting for late ones to start.

    Args:
        count: Number of calls.
        work: A function that releases Python's lock.
        alone: Use this thread only, where waking others takes longer.
    """
    numbers = iter(range(count))

    def drain() -> None:
        for number in numbers:
            work(number)

    helpers = 0 if alone else min(torch.get_num_threads(), count) - 1
    tasks = [_pool(os.getpid(), torch.get_num_threads()).submit(drain) for _ in range(helpers)]
    drain()
    for task in tasks:
        if not task.cancel():
            task.result()
