r"""κ-midpoints over a sparse matrix as one operation: rows are lifted, summed and lowered, tile by tile.

Sums are taken in float64. Lifted rows, sums and their gradients are kept in the rows' dtype, or in float64 if float32
rows lie so far out that rounding errors of a sum would count. Formulas are those of `kappagcn.kernels.row_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, in_blocks
from kappagcn.kernels.dispatch import second_order
from kappagcn.kernels.lifts import TILE, lift, lift_backward, lift_numbers, lower, lower_backward
from kappagcn.kernels.row_vectors import weighted_sum

__all__ = ["midpoints"]

CSR = tuple[Array, Array, Array]  # row starts, columns and values
LIMIT = ROW_EXPONENT[torch.float64]


@compiled
def _sum_and_lower(
    matrix: CSR,
    lifted: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    start: int,
    stop: int,
    out: Array,
    sums: Array,
    kept: Array,
) -> bool:
    """Lowered rows of the product, their sums and numbers; returns whether some sums are far."""
    (starts, cols, values), width, far = matrix, sums.shape[1], False
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for i in range(first, last):
            weighted_sum(sums, i * width, cols, values, starts[i], starts[i + 1], lifted, width)
        far |= lower(sums, kappas, ends, weight, first, last, out, kept)
    return far


@compiled
def _sum_and_lift_backward(
    transpose: CSR,
    v: Array,
    factors: Array,
    kappas: Array,
    ends: Array,
    by_sums: Array,
    start: int,
    stop: int,
    by_v: Array,
    by_kappa: Array,
) -> None:
    """Gradients by the rows from those by the sums; that by κ is added."""
    (starts, cols, values), width = transpose, by_sums.shape[1]
    grad = np.empty((TILE, width))
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for j in range(first, last):
            weighted_sum(grad, (j - first) * width, cols, values, starts[j], starts[j + 1], by_sums, width)
        lift_backward(v, kappas, ends, factors, grad, first, first, last, by_v, by_kappa)


def _sums(
    x: Array, kappas: Array, ends: Array, factors: Array, matrix: CSR, weight: Array, out: Array, kind: Any
) -> tuple[Array, Array, bool]:
    """Sums of rows lifted in this dtype, the numbers of these, and whether some are far; `out` is filled."""
    (rows, _), far = out.shape, []
    lifted, kept = np.empty((len(x), x.shape[1] + len(kappas)), kind), np.empty((len(kappas), 3, rows))
    sums = np.empty((rows, lifted.shape[1]), kind)
    in_blocks(len(x), lambda b, _: lift(x, kappas, ends, factors, b.start, b.stop, lifted))
    own = matrix, lifted, kappas, ends, weight
    in_blocks(rows, lambda b, _: far.append(_sum_and_lower(*own, b.start, b.stop, out, sums, kept)))
    return sums, kept, any(far)


class _Midpoints(torch.autograd.Function):
    """log_0(A ⊠ exp_0(V)), (N, D), (F,) → (M, D); not differentiable by the matrix."""

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        matrix: Tensor,
        dims: list[int],
        transpose: Tensor,
        weight: Tensor,
        twin: Callable[..., Tensor],
    ) -> Tensor:
        out, ends = v.new_empty(matrix.shape[0], v.shape[1]), np.cumsum([0, *dims])
        factors = np.empty((len(dims), 3, len(v)))
        x, kappas, w, o, far = as_array(v), as_array(k), as_array(weight), out.numpy(), []
        in_blocks(len(x), lambda b, _: far.append(lift_numbers(x, kappas, ends, LIMIT, b.start, b.stop, factors)))
        own = x, kappas, ends, factors, _csr(matrix), w, o
        sums, kept, any_far = _sums(*own, np.float64 if any(far) else x.dtype)
        if any_far and sums.dtype != np.float64:  # sums with negative weights may lie farther out than all rows
            sums, kept, _ = _sums(*own, np.float64)
        ctx.save_for_backward(v, k, weight)
        ctx.inputs, ctx.twin, ctx.transpose = 2, twin, transpose
        ctx.numbers = ends, factors, sums, kept
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None, None, None]:
        v, k, weight = ctx.saved_tensors
        ends, factors, sums, kept = ctx.numbers
        by_v, by_sums = torch.empty_like(v, memory_format=torch.contiguous_format), np.empty_like(sums)
        x, kappas, w, g, by_x = map(as_array, (v, k, weight, grad, by_v))
        by_k, own = block_sums(max(len(sums), len(x)), len(kappas)), (_csr(ctx.transpose), x, factors, kappas, ends)
        in_blocks(
            len(sums),
            lambda b, n: lower_backward((sums, w, kept), kappas, ends, g, b.start, b.stop, by_sums, by_k[n]),
        )
        in_blocks(
            len(x),
            lambda b, n: _sum_and_lift_backward(*own, by_sums, b.start, b.stop, by_x, by_k[n]),
        )
        return by_v, torch.from_numpy(by_k.sum(0)), None, None, None, None, None


def _csr(matrix: Tensor) -> CSR:
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()


midpoints = _Midpoints.apply
