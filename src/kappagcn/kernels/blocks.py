"""Compiler options of the loops, and blocks of rows over threads.

Rows go in blocks whose bounds do not depend on the number of threads; neither do sums over rows, then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
BLOCK = 2048
ALONE = 65536  # rows that one thread finishes before another has woken up and found its block

# Sums may be reordered to use vector registers; nothing else is relaxed.
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})


def as_array(x: Tensor) -> Array:
    """The same numbers for numba, which wants them contiguous."""
    array: Array = x.contiguous().numpy()
    return array


def block_sums(rows: int) -> Array:
    """A zero for what each block of rows sums up, (B, 1)."""
    return np.zeros((-(-rows // BLOCK) or 1, 1))


def in_blocks(rows: int, work: Callable[[slice, int], None]) -> None:
    """Call `work` with the slice and the number of each block of rows."""
    blocks = -(-rows // BLOCK) or 1
    parallel_for(blocks, lambda n: work(slice(n * BLOCK, min((n + 1) * BLOCK, rows)), n), alone=rows <= ALONE)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads of this process: those of a parent do not survive a fork."""
    return ThreadPoolExecutor(threads)


def parallel_for(count: int, work: Callable[[int], None], *, alone: bool = False) -> None:
    """Call ``work(0)`` to ``work(count - 1)`` in as many threads as torch uses, or in this one alone.

    `work` has to release Python's lock. Threads that start too late are not waited for.
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
