"""Threads of torch's operations and of the compiled loops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["loop_threads", "threads_for"]

ALONE = 2**16  # numbers that one thread updates before another one has started

_lock = threading.Lock()
_alone = 0  # threads of Python inside of `threads_for`
_threads = 1  # number of torch's threads outside of it
_here = threading.local()  # whether this thread is inside


def loop_threads() -> int:
    """Number of threads of the compiled loops: that of torch outside of `threads_for`."""
    return _threads if getattr(_here, "is_alone", False) else torch.get_num_threads()


@contextmanager
def threads_for(numbers: int, alone: int = ALONE) -> Iterator[None]:
    """A context in which torch has one thread for operations on few numbers; unchanged for many.

    Torch divides Adam's step and matrix products among all threads whatever their size. Waking them takes longer than
    a small operation, and afterwards they spin where other loops want to run: beside a busy core a step takes up to
    sixty times as long. Compiled loops, whose threads sleep, keep theirs. Several threads of Python may be inside at
    once: torch's number is that of each thread, and new threads start with the one that was set last.

    >>> with threads_for(100):
    ...     torch.get_num_threads()
    1
    """
    global _alone, _threads
    if numbers >= alone or getattr(_here, "is_alone", False):
        yield
        return
    with _lock:
        if not _alone:
            _threads = torch.get_num_threads()
        _alone, _here.is_alone = _alone + 1, True
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _alone, _here.is_alone = _alone - 1, False
            torch.set_num_threads(_threads)
