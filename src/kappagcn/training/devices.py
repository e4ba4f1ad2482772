"""The device that an estimator computes on, by name."""

from __future__ import annotations

import torch

from kappagcn.errors import ConfigError

__all__ = ["resolve_device"]

REASONS = {"cuda": "no cuda that torch can use", "mps": "it has no float64, which the geometry needs"}


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
