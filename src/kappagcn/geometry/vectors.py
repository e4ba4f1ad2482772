"""Products and lengths of vectors along the last axis."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kappagcn.geometry.numerics import MAGNIFIED_BELOW, MAGNIFIER, is_onnx_export, tiny

EXACT = "donot_use_mm_for_euclid_dist"  # mode of torch.cdist that takes differences first


def _own_precision(x: Tensor) -> AbstractContextManager[Any]:
    """A context in which autocast leaves the products of ``x`` in its own dtype."""
    if not x.is_meta and torch.is_autocast_enabled(x.device.type):
        return torch.autocast(x.device.type, enabled=False)
    return nullcontext()


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in the dtype of its arguments, under autocast too: bfloat16 has too few digits for any geometry."""
    with _own_precision(b):
        return a @ b


def dot(x: Tensor, y: Tensor) -> Tensor:
    """⟨x, y⟩ over the last axis, kept: (..., D), (..., D) → (..., 1)."""
    return (x * y).sum(-1, keepdim=True)


def _length(x: Tensor) -> Tensor:
    plain: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    if is_onnx_export():  # constants in ONNX are limited to float32
        return plain
    magnified = torch.linalg.vector_norm(x * MAGNIFIER[x.dtype], dim=-1, keepdim=True) / MAGNIFIER[x.dtype]
    return torch.where(plain * MAGNIFIER[x.dtype] < MAGNIFIED_BELOW, magnified, plain)


def _over(grad: Tensor, length: Tensor) -> Tensor:
    """grad/length, and 0 where the length is 0; `where` is used twice, so that the unused branch gives no NaN."""
    zero = length < tiny(length)
    return torch.where(zero, 0, grad / torch.where(zero, 1, length))


class _Norm(torch.autograd.Function):
    """|x| that does not underflow; its derivative at 0 is 0."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return _length(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, length = ctx.saved_tensors
        by_x: Tensor = _over(grad, length) * x
        return by_x


def norm(x: Tensor) -> Tensor:
    """Euclidean norm over the last axis, kept: (..., D) → (..., 1); gradient 0 at x = 0."""
    length: Tensor = _Norm.apply(x)
    return length


def unit(x: Tensor) -> Tensor:
    """x/|x|, and 0 for x = 0, with an accurate gradient for x of any length: (..., D) → (..., D)."""
    # Dividing by the length as a constant first keeps squares of the gradient's terms from underflowing.
    length = _length(x.detach())
    rescaled = x / torch.where(length == 0, 1, length)
    return rescaled / torch.where(length == 0, 1, norm(rescaled))


class Gram(NamedTuple):
    """The products of two vectors x and y, (..., 1) each."""

    xx: Tensor
    xy: Tensor
    yy: Tensor
    square: Tensor  # |y − x|², smooth at x = y
    length: Tensor  # |y − x|, with a derivative of 0 at x = y


def gram(x: Tensor, y: Tensor) -> Gram:
    """⟨x,x⟩, ⟨x,y⟩, ⟨y,y⟩, |y − x|² and |y − x| of vectors of one shape: (..., D), (..., D) → (..., 1) each."""
    delta = y - x
    return Gram(dot(x, x), dot(x, y), dot(y, y), dot(delta, delta), norm(delta))
