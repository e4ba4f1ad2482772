"""Whether Python may read the values of tensors: not while torch traces or transforms the running code."""

from __future__ import annotations

import sys

import torch
from torch import Tensor


def is_concrete(*tensors: Tensor) -> bool:
    """Whether these tensors hold values that Python can read.

    False under ``torch.compile``, ``torch.export`` and transforms of ``torch.func``, and for meta and fake tensors.

    >>> is_concrete(torch.ones(2)), is_concrete(torch.ones(2, device="meta"))
    (True, False)
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    return not any(t.is_meta or (type(t) not in (Tensor, torch.nn.Parameter) and _is_fake(t)) for t in tensors)


def is_compiled_for_cpu(*tensors: Tensor) -> bool:
    """Whether ``torch.compile`` traces the running code for the CPU, where it calls registered operations."""
    if not torch.compiler.is_compiling() or torch.compiler.is_exporting():
        return False
    return not torch._C._are_functorch_transforms_active() and all(t.is_cpu for t in tensors)


def _is_fake(t: Tensor) -> bool:
    module = sys.modules.get("torch._subclasses.fake_tensor")  # without this module there are no fake tensors
    return module is not None and isinstance(t, module.FakeTensor)


def is_autocast_on(x: Tensor) -> bool:
    """Whether autocast lowers the precision of products of x; never for meta tensors."""
    device = x.device.type
    return device != "meta" and torch.is_autocast_enabled(device)


def is_cheap_to_read(*tensors: Tensor) -> bool:
    """Whether values can be read without waiting for a device: concrete, and on the CPU."""
    return is_concrete(*tensors) and all(t.is_cpu for t in tensors)


def is_slow_to_read(v: Tensor) -> bool:
    """Whether values are on another device, for which the CPU would have to wait."""
    return not v.is_cpu and is_concrete(v)
