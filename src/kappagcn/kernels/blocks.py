"""Compiler options of the loops, and loops over fixed blocks in the threads of a pool.

Bounds of blocks do not depend on the number of threads, so neither do sums over rows. A pool of Python's threads, whose
loops release the interpreter lock, survives a fork, may be used by several threads at once, and costs no compilation.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.kernels.threads import loop_threads

__all__ = ["Array", "aligned_zeros", "as_array", "for_row_blocks", "loop", "parallel_for"]

Array = NDArray[Any]
ROWS = 16384  # of a block
LINE = 8  # float64 numbers in a cache line

# Sums may be reordered to use vector registers, and divisions may become products; infinities and NaN are respected.
FAST = {"reassoc", "contract", "nsz", "arcp"}
loop: Callable[[Any], Any] = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)


def as_array(x: Tensor) -> Array:
    """A contiguous NumPy array with the values of a tensor, for numba."""
    array: Array = x.contiguous().numpy()
    return array


def aligned_zeros(*shape: int) -> Array:
    """Zeros in float64, aligned to a cache line: vector loads across two lines take twice the time."""
    count = math.prod(shape)
    space = np.zeros(count + LINE)
    start = -(space.ctypes.data // space.itemsize) % LINE
    return space[start : start + count].reshape(shape)


def for_row_blocks(
    rows: int, work: Callable[[int, int, Array], object], *, sums: int = 0, threads: int | None = None
) -> Array:
    """Call `work` with the first row of each block, the row behind its last, and zeros, (sums,), to add to.

    Returns:
        The sums of all blocks, added in their order.
    """
    blocks = -(-rows // ROWS) or 1
    totals = np.zeros((blocks, sums))
    parallel_for(blocks, lambda n: work(n * ROWS, min((n + 1) * ROWS, rows), totals[n]), threads)
    total: Array = totals.sum(0)
    return total


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """The pool of a process: threads do not survive a fork."""
    return ThreadPoolExecutor(threads)


def parallel_for(count: int, work: Callable[[int], object], threads: int | None = None) -> None:
    """Call ``work(0)`` to ``work(count - 1)`` in so many threads, by default as many as torch uses.

    This thread is one of them. Helpers that have not started when everything is done are not waited for.
    """
    numbers = iter(range(count))

    def drain() -> None:
        for number in numbers:
            work(number)

    helpers = min(loop_threads() if threads is None else threads, count) - 1
    tasks = [_pool(os.getpid(), helpers).submit(drain) for _ in range(helpers)]
    drain()
    for task in tasks:
        if not task.cancel():
            task.result()
