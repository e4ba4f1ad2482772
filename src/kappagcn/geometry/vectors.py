"""Products of vectors along the last axis, and their gradients in as few passes over memory as they take."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.geometry.numerics import MAGNIFIED_BELOW, MAGNIFIER, tiny

__all__ = ["combine", "dot", "fused_dot", "gram", "norm"]


def dot(x: Tensor, y: Tensor) -> Tensor:
    """⟨x, y⟩ over the last axis, kept: (..., D), (..., D) → (..., 1)."""
    return (x * y).sum(-1, keepdim=True)


def _length(x: Tensor) -> Tensor:
    plain = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    magnified = torch.linalg.vector_norm(x * MAGNIFIER[x.dtype], dim=-1, keepdim=True) / MAGNIFIER[x.dtype]
    return torch.where(plain * MAGNIFIER[x.dtype] < MAGNIFIED_BELOW, magnified, plain)


def _over(grad: Tensor, length: Tensor) -> Tensor:
    """grad/length, and 0 where the length is: twice `where`, or the part left out would make NaN of a derivative."""
    zero = length < tiny(length)
    return torch.where(zero, 0, grad / torch.where(zero, 1, length))


def fused_dot(x: Tensor, y: Tensor) -> Tensor:
    """As :func:`dot`, without a product of all entries in memory; slower for few rows."""
    return torch.einsum("...d,...d->...", x, y).unsqueeze(-1)


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


class _Gram(torch.autograd.Function):
    """The products of two vectors, with one pass over the vectors per gradient instead of one per product."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return fused_dot(x, x), fused_dot(x, y), fused_dot(y, y), _length(y - x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs, output[3])

    @staticmethod
    def backward(ctx: Any, g_xx: Tensor, g_xy: Tensor, g_yy: Tensor, g_length: Tensor) -> tuple[Tensor, Tensor]:
        x, y, length = ctx.saved_tensors
        pull, delta = _over(g_length, length), y - x
        g_x = torch.addcmul(torch.addcmul(2 * g_xx * x, g_xy, y), -pull, delta)
        g_y = torch.addcmul(torch.addcmul(2 * g_yy * y, g_xy, x), pull, delta)
        return g_x, g_y


def gram(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """⟨x,x⟩, ⟨x,y⟩, ⟨y,y⟩ and |y − x| of vectors of one shape: (..., D), (..., D) → (..., 1) each."""
    products: tuple[Tensor, Tensor, Tensor, Tensor] = _Gram.apply(x, y)
    return products


class _Combine(torch.autograd.Function):
    """a·x + b·y, saving the temporaries of its gradients."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> Tensor:
        return torch.addcmul(a * x, b, y)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a, x, b, y = ctx.saved_tensors
        return fused_dot(grad, x), a * grad, fused_dot(grad, y), b * grad


def combine(a: Tensor, x: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """a·x + b·y of vectors of one shape with one number a row: (..., 1), (..., D), (..., 1), (..., D) → (..., D)."""
    total: Tensor = _Combine.apply(a, x, b, y)
    return total
