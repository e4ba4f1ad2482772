"""The device that an estimator computes on, by name."""

from __future__ import annotations

import torch

from kappagcn.errors import ConfigError

__all__ = ["resolve_device"]


def resolve_device(name: str, *, double: bool = False, on_cpu: str | None = None) -> torch.device:
    """The device of a name; of ``"auto"`` the first of cuda, mps and cpu that this machine has.

    Args:
        name: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        double: Whether float64 is needed, which mps does not have.
        on_cpu: What is done on the CPU alone, such as training by several processes; None where any device will do.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    usable = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available() and not double, "cpu": True}
    if on_cpu is not None and name in ("cuda", "mps"):
        raise ConfigError(f"device: expected cpu for {on_cpu}, found {name!r}.")
    if name == "auto" and on_cpu is not None:
        return torch.device("cpu")
    if name == "auto":
        return torch.device(next(kind for kind, is_usable in usable.items() if is_usable))
    if name not in usable:
        raise ConfigError(f"device: expected auto, {', '.join(usable)}, found {name!r}.")
    if not usable[name]:
        reason = "no float64, which this task needs" if name == "mps" and double else f"no {name} that torch can use"
        others = ", ".join(kind for kind, is_usable in usable.items() if is_usable)
        raise ConfigError(f"device: expected a device of this machine ({others}), found {name!r}: {reason}.")
    return torch.device(name)
