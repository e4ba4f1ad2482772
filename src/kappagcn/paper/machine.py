"""What made a record: versions, processor, commit; and the memory of this process."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from kappagcn.training.provenance import commit

__all__ = ["machine", "made_by", "peak_memory", "processor", "versions"]

PACKAGES = ("kappagcn", "torch", "torch_geometric", "numpy", "scipy", "numba")


def versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of packages that influence results."""
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in packages}}


def made_by() -> dict[str, Any]:
    """What made a record: versions, the machine, and the commit of the code."""
    return {"versions": versions(), "machine": machine(), "commit": commit()}


def processor() -> str:
    """Name of the processor, if the system provides it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine() -> str:
    """Processor, number of cores and system."""
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}"


def peak_memory() -> float | None:
    """Peak memory of this process in GiB; None if the system does not provide it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if platform.system() == "Darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 2)
