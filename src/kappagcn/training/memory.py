"""Memory of the process between training steps."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_freed_memory"]

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # constants of glibc's malloc.h
NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Keep freed memory in this process for its next training step; False where the system does not support that.

    By default glibc returns each block of more than 32 MiB to the system, which provides new, zeroed pages in the next
    step: for a million nodes that takes longer than the computation. The process then uses somewhat more memory.

    >>> keep_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.mallopt(MMAP_MAX, 0) and libc.mallopt(TRIM_THRESHOLD, NEVER))
    except (OSError, AttributeError):  # another C library
        return False
