"""Threads of torch's operations and of the compiled loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["loop_threads", "threads_for"]

ALONE = 2**16  # numbers that one thread updates before another one has started

_loop_threads: int | None = None


def loop_threads() -> int:
    """Number of threads of the compiled loops: that of torch outside of `threads_for`."""
    return torch.get_num_threads() if _loop_threads is None else _loop_threads


@contextmanager
def threads_for(numbers: int, alone: int = ALONE) -> Iterator[None]:
    """A context in which torch has one thread for operations on few numbers; unchanged for many.

    Torch divides Adam's step and matrix products among all threads whatever their size. Waking them takes longer than
    a small operation, and afterwards they spin where other loops want to run: beside a busy core a step takes up to
    sixty times as long. Compiled loops, whose threads sleep, keep theirs.

    >>> with threads_for(100):
    ...     torch.get_num_threads()
    1
    """
    global _loop_threads
    before, loops = torch.get_num_threads(), _loop_threads
    if before == 1 or numbers >= alone:
        yield
        return
    torch.set_num_threads(1)
    _loop_threads = before
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _loop_threads = loops
