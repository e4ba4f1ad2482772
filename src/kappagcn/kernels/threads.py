"""Work in blocks that other threads may take a share of."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch

__all__ = ["spread"]


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads of this process: those of a parent do not survive a fork."""
    return ThreadPoolExecutor(threads)


def spread(blocks: int, work: Callable[[int], None], *, alone: bool = False) -> None:
    """Call `work` for each block, in as many threads as torch uses; where others wake too late, nobody waits for them.

    Args:
        blocks: How many.
        work: What to do with the block of that number; it has to let go of Python's lock.
        alone: Whether one thread is faster than waking others.
    """
    numbers = iter(range(blocks))

    def drain() -> None:
        for number in numbers:
            work(number)

    helpers = 0 if alone else min(torch.get_num_threads(), blocks) - 1
    tasks = [_pool(os.getpid(), torch.get_num_threads()).submit(drain) for _ in range(helpers)]
    drain()
    for task in tasks:
        if not task.cancel():
            task.result()
