"""Precision of the geometry inside layers: that of the input, but at least float32, even under autocast.

Autocast lowers products of matrices to half precision. That is right for weights, and wrong for lifted points, whose
coordinates must be consistent to the last digit.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from kappagcn.tracing import is_autocast_on


def is_lowered(v: Tensor) -> bool:
    """Whether v is in half precision, or autocast would compute its products in half precision."""
    return v.dtype in (torch.float16, torch.bfloat16) or is_autocast_on(v)


def without_autocast(v: Tensor) -> AbstractContextManager[None]:
    """A context in which autocast, if it is on for v's device, is off."""
    return torch.autocast(v.device.type, enabled=False) if is_autocast_on(v) else nullcontext()


def at_least_single(v: Tensor) -> Tensor:
    """The tensor in float32 or higher precision."""
    return v.float() if v.dtype in (torch.float16, torch.bfloat16) else v
