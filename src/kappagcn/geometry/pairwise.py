"""All distances between two sets of points, with no tensor of size N × M × D.

From sin_κ(d/2) = |x − y|/√((1+κ|x|²)(1+κ|y|²)) and, for κ > 0, cos_κ(d/2) = half the chord from one point to the
other's antipode on the unit sphere. Rows are processed in blocks whose N × M temporaries stay in the processor's
cache; only the result and the sines are kept for the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.geometry.ambient import join
from kappagcn.geometry.checks import Scalar, as_curvature, conformal_at, read_sets
from kappagcn.geometry.numerics import (
    COINCIDENT,
    arc_gradients,
    arc_over_sine,
    arc_value,
    cosine_square,
    positive_root,
    tiny,
)
from kappagcn.geometry.vectors import EXACT, matmul, norm

BLOCK = 2**18  # entries of a block of rows


def cdist(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """Distances between all points of x and all of y: (..., N, D), (..., M, D) → (..., N, M). κ → 0: 2|x_i − y_j|.

    Where points coincide the distance has no derivative, and its gradient is 0; for second derivatives of squared
    distances use :func:`cdist2`.

    Args:
        x: Points, (..., N, D).
        y: Points, (..., M, D).
        k: Curvature: a number, or a tensor that broadcasts against the batch shape (...).

    >>> cdist(torch.zeros(1, 2), torch.tensor([[0.5, 0.0], [0.0, 0.0]]), k=-1.0)
    tensor([[1.0986, 0.0000]])
    """
    lengths: Tensor = _Distances.apply(*_read(x, y, k))[0]
    return lengths


def cdist2(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """Squared distances between all points of x and all of y, smooth where points coincide. κ → 0: 4|x_i − y_j|².

    Shapes and arguments are those of :func:`cdist`; the Hessian by x_i where x_i = y_j is 2λ² times the identity.

    >>> cdist2(torch.zeros(1, 2), torch.tensor([[0.3, 0.0], [0.0, 0.0]]), k=0.0)
    tensor([[0.3600, 0.0000]])
    """
    x, y, p, q, k = _read(x, y, k)
    squares: Tensor = _Squares.apply(x, y)
    square_of_sine = squares / (p * q.mT)
    z = k * square_of_sine
    exact = (_half_chords(x.detach(), y.detach(), p.detach(), q.detach(), k.detach())).square()
    ratio = arc_over_sine(z, cosine_square(z, exact).sqrt())
    return 4 * square_of_sine * ratio * ratio


def _read(x: Tensor, y: Tensor, k: Scalar) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x and y of one batch shape, p = 1 + κ|x|², q = 1 + κ|y|² and κ (..., 1, 1)."""
    batch = read_sets(x=x, y=y)
    k = as_curvature(k, x, batch, trailing=2)
    batch = torch.broadcast_shapes(batch, k.shape[:-2])
    x, y = x.expand(*batch, *x.shape[-2:]), y.expand(*batch, *y.shape[-2:])
    return x, y, conformal_at(x, k), conformal_at(y, k, "y"), k


def _half_chords(x: Tensor, y: Tensor, p: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """cos_κ(d/2) for κ > 0: half the chord on the unit sphere from each x to the antipode of each y."""
    s = positive_root(k)
    e, opposite = join(2 * s / p * x, 2 / p - 1), join(-2 * s / q * y, 1 - 2 / q)
    return torch.cdist(e, opposite, compute_mode=EXACT) / 2


class _Squares(torch.autograd.Function):
    """|x_i − y_j|² of all pairs, differences taken first: (..., N, D), (..., M, D) → (..., N, M)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return torch.cdist(x, y, compute_mode=EXACT).square()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        return _pulls(2 * grad, *ctx.saved_tensors)


class _Distances(torch.autograd.Function):
    """d and sin_κ(d/2) from x (..., N, D), y (..., M, D), p = 1 + κ|x|², q = 1 + κ|y|² and κ (..., 1, 1)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, p: Tensor, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        gaps, cosines = torch.cdist(x, y, compute_mode=EXACT), _half_chords(x, y, p, q, k)
        a, b = p.rsqrt(), q.rsqrt().mT.contiguous()
        lengths, sines = [], []
        for a_block, gap, cosine in _blocks(a, gaps, cosines):
            sines.append(gap * a_block * b)
            lengths.append(2 * arc_value(sines[-1], cosine, k))
        return torch.cat(lengths, -2), torch.cat(sines, -2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_sine: Tensor | None) -> tuple[Tensor, ...]:
        x, y, p, q, k, lengths, sines = ctx.saved_tensors
        grad = torch.zeros_like(lengths) if grad is None else grad
        positive, root = (k > 0).to(k.dtype), positive_root(k)
        q_row = q.mT.contiguous()
        by_rows, by_columns = [], []
        # The sines get a gradient only in a second derivative.
        extra = [] if grad_sine is None else [grad_sine]
        for x_block, p_block, g, length, sine, *g_sine in _blocks(x, p, grad, lengths, sines, *extra):
            hyperbolic = (1 - k.clamp(max=0) * sine * sine).sqrt()
            cosine = torch.lerp(hyperbolic, (root / 2 * length).cos(), positive)
            by_sine, by_k = arc_gradients(2 * g, sine, cosine, k, length / 2)
            by_sine = sum(g_sine, by_sine)
            # sine = |x − y|/√(pq): gradients along x − y, and by p and q.
            roots = p_block.sqrt() * q_row.sqrt()
            weight = by_sine / (
                roots * torch.maximum(roots * sine, COINCIDENT[x.dtype] * norm(x_block) + tiny(x) ** 0.5)
            )
            share = -0.5 * by_sine * sine
            pull_x, pull_y = _pulls(weight, x_block, y)
            by_rows.append((pull_x, share.sum(-1, keepdim=True) / p_block))
            by_columns.append((pull_y, share.sum(-2, keepdim=True).mT / q, by_k.sum_to_size(k.shape)))
        by_x, by_p = (torch.cat(blocks, -2) for blocks in zip(*by_rows, strict=True))
        by_y, by_q, by_k = (sum(blocks[1:], blocks[0]) for blocks in zip(*by_columns, strict=True))
        return by_x, by_y, by_p, by_q, by_k


def _blocks(*tensors: Tensor) -> Any:
    """The tensors in blocks of rows that fit the cache; in one block under a compiler, which makes its own."""
    rows = max(1, BLOCK // max(1, tensors[-1].shape[-1]))
    if torch.compiler.is_compiling():
        rows = max(1, tensors[0].shape[-2])
    return zip(*(t.split(rows, -2) for t in tensors), strict=True)


class _Pull(torch.autograd.Function):
    """Σ_j w_ij (x_i − y_j) with the differences taken first."""

    generate_vmap_rule = True

    @staticmethod
    def forward(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        pulled: Tensor = torch.ops.aten._cdist_backward(w.contiguous(), x, y, 2.0, torch.ones_like(w))
        return pulled

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        w, x, y = ctx.saved_tensors
        by_weight = (grad * x).sum(-1, keepdim=True) - matmul(grad, y.mT)
        return by_weight, w.sum(-1, keepdim=True) * grad, -matmul(w.mT, grad)


def _pulls(w: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Σ_j w_ij (x_i − y_j) and Σ_i w_ij (y_j − x_i): (..., N, M), (..., N, D), (..., M, D) → (..., N, D), (..., M, D).

    For float32 as matrix products in float64, which has the digits that x_i − y_j cancels; float64 takes the
    differences one by one.
    """
    if w.dtype == torch.float64:
        return _Pull.apply(w, x, y), _Pull.apply(w.mT, y, x)
    w, x, y = w.double(), x.double(), y.double()
    pull_x = w.sum(-1, keepdim=True) * x - matmul(w, y)
    pull_y = w.sum(-2, keepdim=True).mT * y - matmul(w.mT, x)
    return pull_x.float(), pull_y.float()
