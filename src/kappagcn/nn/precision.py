"""Precision of the geometry inside layers: that of its input, but at least float32, also under autocast.

Autocast lowers products of matrices to half precision. That is right for weights, and wrong for lifted points, whose
coordinates must fit each other to the last digit.
"""

from __future__ import annotations

import torch
from torch import Tensor


def is_lowered(v: Tensor) -> bool:
    """Whether v is of half precision, or products of it would be, because autocast is on."""
    return v.dtype in (torch.float16, torch.bfloat16) or torch.is_autocast_enabled(v.device.type)


def at_least_single(v: Tensor) -> Tensor:
    """The same numbers in float32 or more."""
    return v.float() if v.dtype in (torch.float16, torch.bfloat16) else v
