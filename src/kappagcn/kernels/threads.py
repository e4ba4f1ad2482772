"""Threads of torch's operations and of the compiled loops."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import torch

__all__ = ["in_team", "loop_threads", "team_start", "threads_for"]

ALONE = 2**16  # numbers that one thread updates before another one has started
TeamLoop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_lock = threading.Lock()
_alone = 0  # threads of Python inside of `threads_for`
_threads = 1  # number of torch's threads outside of it
_here = threading.local()  # whether this thread is inside
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
