"""The device that an estimator computes on, torch's threads on a small graph, and the memory between steps."""

from __future__ import annotations

import ctypes
import sys
from contextlib import AbstractContextManager

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import ConfigError
from kappagcn.kernels.dispatch import runs_loops
from kappagcn.kernels.threads import threads_for

REASONS = {"cuda": "no cuda that torch can use", "mps": "it has no float64, which the geometry needs"}
SMALL = 2**22  # numbers in the largest array of a step below which a second thread gains little
COLUMNS = 32  # a usual number of columns of a layer's rows
TRIM_THRESHOLD, MMAP_MAX = -1, -4  # constants of glibc's malloc.h
NEVER = 2**31 - 1


def resolve_device(name: str, *, on_cpu: str | None = None) -> torch.device:
    """The device with this name; for ``"auto"`` cuda if this machine has it, otherwise the CPU.

    Args:
        name: ``"auto"``, ``"cpu"``, ``"cuda"``; ``"mps"`` is refused because it has no float64.
        on_cpu: Name of a feature that works on the CPU only, such as training by several processes, or None.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if on_cpu is not None and name not in ("auto", "cpu"):
        raise ConfigError(f"device: expected cpu for {on_cpu}, found {name!r}.")
    usable = ["cuda", "cpu"] if torch.cuda.is_available() and on_cpu is None else ["cpu"]
    if name == "auto":
        return torch.device(usable[0])
    if name not in ("cpu", *REASONS):
        raise ConfigError(f"device: expected auto, cpu, {', '.join(REASONS)}, found {name!r}.")
    if name not in usable:
        others = ", ".join(usable)
        raise ConfigError(f"device: expected a device of this machine ({others}), found {name!r}: {REASONS[name]}.")
    return torch.device(name)


def threads_for_graph(data: Data) -> AbstractContextManager[None]:
    """A context in which torch has one thread if a network's operations on this graph are small, see `threads_for`."""
    x = data.get("x")
    return threads_for(max(data.num_nodes * COLUMNS, data.num_edges, 0 if x is None else _nonzeros(x)), SMALL)


def threads_for_pairs(data: Data) -> AbstractContextManager[None]:
    """A context with one thread of torch if operations on all pairs of nodes are small or done by compiled loops."""
    return threads_for(data.num_nodes * (COLUMNS if runs_loops() else data.num_nodes), SMALL)


def _nonzeros(x: Tensor) -> int:
    return int(x.count_nonzero()) if x.layout == torch.strided else x._nnz()


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
