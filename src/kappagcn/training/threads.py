"""Threads of torch for small operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["threads_for"]

ALONE = 2**16  # numbers that one thread updates before another one has started


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """A context with one thread for an operation on few numbers, and unchanged for one on many.

    Torch divides Adam's step among all threads whatever its size. Waking them takes longer than the step of a small
    model, a busy core makes it wait for them, and while they wait for more work they take processor time from other
    loops.

    >>> with threads_for(100):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    if before == 1 or numbers >= ALONE:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
