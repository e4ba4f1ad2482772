"""Large arrays that are reused from one call to the next.

The system clears new memory page by page, which takes longer than some of the loops that fill it.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from kappagcn.kernels.blocks import Array

__all__ = ["Buffers"]

SMALL = 2**20  # bytes up to which the allocator reuses memory by itself
LINE = 64  # bytes of a cache line
ROOM = 2.0  # size of a buffer that is still used, by the size wanted
SPARE = 1.5  # bytes of all buffers, by the most that were in use at one time


class _Store:
    """All buffers: those in use are counted, free ones are kept, the oldest first."""

    def __init__(self) -> None:
        self.free: list[Array] = []
        self.used, self.peak = 0, 0
        self.lock = threading.RLock()  # of this kind because garbage collection may give buffers back at any time

    def take(self, size: int) -> Array:
        """A free buffer of about this size, or a new one."""
        with self.lock:
            fitting = [n for n, space in enumerate(self.free) if size <= space.size - LINE <= ROOM * size]
            if fitting:
                space = self.free.pop(min(fitting, key=lambda n: self.free[n].size))
            else:
                space = np.empty(size + LINE, np.uint8)
            self.used += space.size
            self.peak = max(self.peak, self.used)
            while self.free and self.used + sum(own.size for own in self.free) > SPARE * self.peak:
                del self.free[0]
        return space

    def give_back(self, spaces: list[Array]) -> None:
        """Keep buffers that are no longer used."""
        with self.lock:
            self.used -= sum(space.size for space in spaces)
            self.free.extend(spaces)


_store = _Store()


class Buffers:
    """Arrays that are used together, and go back for reuse when this object is deleted.

    >>> buffers = Buffers()
    >>> buffers.empty((3, 2), np.float32).shape
    (3, 2)
    """

    def __init__(self) -> None:
        self._own: list[Array] = []
        self._store = _store  # at exit, names of a module are gone before its objects

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array with any values, aligned to a cache line if it is large."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size <= SMALL:
            return np.empty(shape, dtype)
        space = self._store.take(size)
        self._own.append(space)
        start = -space.ctypes.data % LINE
        array: Array = space[start : start + size].view(dtype).reshape(shape)
        return array

    def __del__(self) -> None:
        self._store.give_back(self._own)
