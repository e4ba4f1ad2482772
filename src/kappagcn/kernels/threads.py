"""Threads of torch's operations and of the compiled loops."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import torch

__all__ = ["in_team", "loop_threads", "team_start", "threads_for"]

ALONE = 2**16  # numbers that one thread updates before another one has started
TeamLoop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_loop_threads: int | None = None
_owner = os.getpid()


@cache
def _start() -> int:
    """Address of GOMP_parallel of the OpenMP library that torch uses; 0 if there is none."""
    try:
        library = ctypes.CDLL(None)
        start = ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value
        threads = torch.get_num_threads()
        library.omp_set_num_threads(threads + 1)
        is_same = torch.get_num_threads() == threads + 1
        library.omp_set_num_threads(threads)
    except (AttributeError, OSError, TypeError):
        return 0
    return start if is_same and start is not None else 0


def team_start() -> int:
    """Address of the function that calls another one in each of torch's threads; 0 where there is none."""
    return _start() if os.getpid() == _owner else 0  # a team does not survive a fork


def in_team(loop: Callable[[], object]) -> None:
    """Call a function of Python in each of torch's threads, this one among them, and wait for all; needs `team_start`.

    The function should release Python's interpreter lock.
    """
    errors: list[BaseException] = []

    def guarded(_: object) -> None:
        try:
            loop()
        except BaseException as error:  # raised below: no exception may leave a function that C calls
            errors.append(error)

    begin = ctypes.CFUNCTYPE(None, TeamLoop, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)(team_start())
    begin(TeamLoop(guarded), None, torch.get_num_threads(), 0)
    if errors:
        raise errors[0]


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
