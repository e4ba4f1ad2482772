"""Compiler options of the loops, and blocks of rows over threads.

The bounds of blocks do not depend on the number of threads, so neither do sums over rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import get_ident
from time import perf_counter
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.kernels.threads import in_team, loop_threads, team_start

Array = NDArray[Any]
BLOCK = 8192  # rows
LINE = 8  # float64 numbers in a cache line
PAUSES = 4, 64  # fewest and most loops without other threads, after one that waited for them longer than it worked
ALONE = 65536  # rows up to which a second thread gains nothing beside torch's, which spin for some milliseconds

# Sums may be reordered to use vector registers; nothing else is relaxed.
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})


def as_array(x: Tensor) -> Array:
    """A contiguous NumPy array with the values of a tensor, for numba."""
    array: Array = x.contiguous().numpy()
    return array


def block_sums(rows: int, count: int = 1, block: int = BLOCK) -> Array:
    """Zeros for `count` sums of each block of rows, (B, count)."""
    return np.zeros((-(-rows // block) or 1, count))


def aligned_zeros(*shape: int) -> Array:
    """Zeros in float64, aligned to a cache line: vector loads across two lines take twice the time."""
    count = math.prod(shape)
    space = np.zeros(count + LINE)
    start = -(space.ctypes.data // space.itemsize) % LINE
    return space[start : start + count].reshape(shape)


def in_blocks(rows: int, work: Callable[[slice, int], object]) -> None:
    """Call `work` with the slice and the number of each block of rows."""
    blocks = -(-rows // BLOCK) or 1
    parallel_for(blocks, lambda n: work(slice(n * BLOCK, min((n + 1) * BLOCK, rows)), n), alone=rows <= ALONE)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def pool_of_threads() -> ThreadPoolExecutor:
    """The thread pool of this process: threads do not survive a fork."""
    return _pool(os.getpid(), loop_threads())


_pause, _next_pause = 0, PAUSES[0]  # loops still without other threads, and the length of the next pause


def parallel_for(count: int, work: Callable[[int], object], *, alone: bool = False) -> None:
    """Call ``work(0)`` to ``work(count - 1)`` in as many threads as torch uses, or in this one alone.

    `work` has to release Python's interpreter lock. Threads are torch's own, which spin after each operation, so that
    others find no free core. Inside of `threads_for` they are those of a pool, of which the ones that start too late
    are not used. Beside a busy core a thread may stop in the middle of its work until the system lets it go on, so a
    loop that waited for it longer than it worked is followed by some without other threads: by few the first time, by
    twice as many each time, and by one less after each loop that did not wait.
    """
    global _pause, _next_pause
    numbers, own, ends = iter(range(count)), get_ident(), []

    def drain() -> None:
        for number in numbers:
            work(number)
        if get_ident() == own:
            ends.append(perf_counter())

    helpers = 0 if alone else min(loop_threads(), count) - 1
    if helpers > 0 and _pause:
        helpers, _pause = 0, _pause - 1
    if helpers <= 0:
        drain()
        return
    start = perf_counter()
    if torch.get_num_threads() > 1 and team_start():
        in_team(drain)
    else:
        tasks = [pool_of_threads().submit(drain) for _ in range(helpers)]
        drain()
        for task in tasks:
            if not task.cancel():
                task.result()
    if perf_counter() - ends[0] > ends[0] - start:
        _pause, _next_pause = _next_pause, min(2 * _next_pause, PAUSES[1])
    else:
        _next_pause = max(_next_pause - 1, PAUSES[0])
