r"""κ-midpoints over a sparse matrix as one operation: rows of all factors are lifted, multiplied and lowered.

The sparse product is torch's, in the rows' dtype. Where a float32 sum lies so far out that its rounding errors count,
this row alone is summed again in float64, from lift(v) = (2 sinc v, cosc) with sinc and cosc in float64; so are its
gradients. Formulas are those of `kappagcn.kernels.row_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, in_blocks
from kappagcn.kernels.dispatch import second_order
from kappagcn.kernels.lifts import lift, lift_backward, lower, lower_backward
from kappagcn.kernels.row_functions import lift_slope, lower_slopes, stretches
from kappagcn.kernels.row_vectors import combine, dot

__all__ = ["Lowered", "lower_product", "midpoints"]

Product = Callable[[Tensor, Tensor], Tensor]  # of a CSR tensor and dense rows
CSR = tuple[Array, Array, Array]  # row starts, columns and values
NOT_FAR = np.empty((0, 0), dtype=np.bool_)


class FarRows(NamedTuple):
    """Rows of the product that are far in one factor, summed in float64."""

    factor: int
    kappa: float
    begin: int  # first column of the factor
    rows: Array  # their numbers, (R,)
    place: Array  # the place of each row of the product among them, −1 for others, (M,)
    sums: Array  # vector and height of each, (R, dim + 1)
    kept: Array  # |n|², u and h, (3, R)


@compiled
def _lower_far(
    far: FarRows, v: Array, factors: Array, matrix: CSR, weight: Array, start: int, stop: int, out: Array
) -> None:
    """Far rows of the result, by sums in float64."""
    f, kappa, begin, rows, _, sums, kept = far
    starts, cols, values = matrix
    dim, width, sinc, cosc = sums.shape[1] - 1, sums.shape[1], factors[f, 1], factors[f, 2]
    p, u, h = kept[0], kept[1], kept[2]
    for n in range(start, stop):
        i, at, height = rows[n], n * width, 0.0
        for entry in range(starts[i], starts[i + 1]):
            j, a = cols[entry], np.float64(values[entry])
            combine(sums, at, 1.0, sums, at, 2 * a * sinc[j], v, j * v.shape[1] + begin, dim)
            height += a * cosc[j]
        sums[n, dim] = height
        p[n], h[n] = dot(sums, at, sums, at, dim), height if weight[i] >= 0 else -height
    stretches(p[start:stop], h[start:stop], kappa, u[start:stop])
    for n in range(start, stop):
        i, at = rows[n], n * width
        combine(out, i * out.shape[1] + begin, 0.5 * abs(weight[i]) * u[n], sums, at, 0.0, sums, at, dim)


@compiled
def _lower_far_backward(
    far: FarRows, weight: Array, grad: Array, start: int, stop: int, by_sums: Array, by_kappa: Array
) -> None:
    """Gradients by the float64 sums of far rows; that by κ is added."""
    f, kappa, begin, rows, _, sums, kept = far
    dim, width, count = sums.shape[1] - 1, sums.shape[1], stop - start
    pull, rise, turn = np.empty(count), np.empty(count), np.empty(count)
    for n in range(start, stop):
        i = rows[n]
        pull[n - start] = 0.5 * abs(weight[i]) * dot(grad, i * grad.shape[1] + begin, sums, n * width, dim)
    numbers = kept[0, start:stop], kept[1, start:stop], kept[2, start:stop]
    by_kappa[f] += lower_slopes(numbers, kappa, pull, rise, turn)
    for n in range(start, stop):
        i, at = rows[n], n * width
        scale = 0.5 * abs(weight[i]) * kept[1, n]
        combine(by_sums, at, scale, grad, i * grad.shape[1] + begin, turn[n - start], sums, at, dim)
        by_sums[n, dim] = -rise[n - start] if weight[i] >= 0 else rise[n - start]


@compiled
def _lift_far_backward(
    far: FarRows,
    v: Array,
    factors: Array,
    by_sums: Array,
    transpose: CSR,
    start: int,
    stop: int,
    by_v: Array,
    by_kappa: Array,
) -> None:
    """Add the gradients of far rows by the rows that they sum; that by κ is added."""
    f, kappa, begin, _, place, sums, _ = far
    starts, cols, values = transpose
    dim, width, grad = sums.shape[1] - 1, sums.shape[1], np.empty((1, sums.shape[1]))
    for j in range(start, stop):
        count = 0
        for entry in range(starts[j], starts[j + 1]):
            n = place[cols[entry]]
            if n >= 0:
                a, at = np.float64(values[entry]), n * width
                if count:
                    combine(grad, 0, 1.0, grad, 0, a, by_sums, at, width)
                else:
                    combine(grad, 0, a, by_sums, at, 0.0, by_sums, at, width)
                count += 1
        if count:
            at, q, sinc, cosc = j * v.shape[1] + begin, factors[f, 0, j], factors[f, 1, j], factors[f, 2, j]
            by_z = lift_slope(4 * kappa * q, sinc, cosc, dot(grad, 0, v, at, dim), grad[0, dim])
            by_kappa[f] += 4 * q * by_z
            combine(grad, 0, 2 * sinc, grad, 0, 8 * kappa * by_z, v, at, dim)
            combine(by_v, at, 1.0, by_v, at, 1.0, grad, 0, dim)


class Lowered(NamedTuple):
    """The result, and what derivatives need."""

    out: Tensor
    ends: Array
    factors: Array
    sums: Tensor
    kept: Array
    marks: Array
    far: list[FarRows]


@torch.no_grad()
def lower_product(
    v: Tensor, k: Tensor, dims: list[int], matrix: Tensor, weight: Tensor, multiply: Product
) -> Lowered | None:
    """Lowered rows of the product; None if rows are too long to be lifted in their dtype."""
    count, rows, single = len(dims), matrix.shape[0], v.dtype == torch.float32
    ends, kappas, x, w = np.cumsum([0, *dims]), as_array(k), as_array(v), as_array(weight)
    lifted, factors = v.new_empty(len(v), v.shape[1] + count), np.empty((count, 3, len(v)))
    y, limit, beyond = lifted.numpy(), ROW_EXPONENT[v.dtype], []
    in_blocks(len(x), lambda b, _: beyond.append(lift(x, kappas, ends, limit, b.start, b.stop, y, factors)))
    if single and any(beyond):
        return None
    sums, out, kept = multiply(matrix, lifted), v.new_empty(rows, v.shape[1]), np.empty((count, 3, rows))
    s, o, marked = sums.numpy(), out.numpy(), []
    marks = np.zeros((count, rows), dtype=np.bool_) if single and kappas.min() < 0 else NOT_FAR
    in_blocks(rows, lambda b, _: marked.append(lower(s, kappas, ends, w, b.start, b.stop, o, kept, marks)))
    lowered = Lowered(out, ends, factors, sums, kept, marks if any(marked) else NOT_FAR, [])
    for f, own in enumerate(lowered.marks):
        if own.any():
            lowered.far.append(_far_rows(f, kappas[f], ends[f], own, dims[f]))
            _sum_far_rows(lowered.far[-1], x, factors, _csr(matrix), w, o)
    return lowered


def _sum_far_rows(far: FarRows, x: Array, factors: Array, matrix: CSR, w: Array, out: Array) -> None:
    in_blocks(len(far.rows), lambda b, _: _lower_far(far, x, factors, matrix, w, b.start, b.stop, out))


def _far_rows(factor: int, kappa: float, begin: int, marks: Array, dim: int) -> FarRows:
    rows = marks.nonzero()[0]
    place = np.full(len(marks), -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    return FarRows(factor, kappa, begin, rows, place, np.zeros((len(rows), dim + 1)), np.empty((3, len(rows))))


class _Midpoints(torch.autograd.Function):
    """log_0(A ⊠ exp_0(V)), (N, D), (F,) → (M, D), from its lowered product; not differentiable by the matrix."""

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        lowered: Lowered,
        transpose: Tensor,
        weight: Tensor,
        multiply: Product,
        twin: Callable[..., Tensor],
    ) -> Tensor:
        ctx.save_for_backward(v, k, weight)
        ctx.inputs, ctx.twin, ctx.transpose, ctx.multiply = 2, twin, transpose, multiply
        out, *ctx.lowered = lowered  # without the result, which would keep itself alive
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None, None, None]:
        v, k, weight = ctx.saved_tensors
        ends, factors, sums, kept, marks, far = ctx.lowered
        by_sums, by_v = torch.empty_like(sums), torch.empty_like(v, memory_format=torch.contiguous_format)
        x, kappas, w, g, s, by_s, by_x = map(as_array, (v, k, weight, grad, sums, by_sums, by_v))
        low, high = block_sums(len(s), len(kappas)), block_sums(len(x), len(kappas))
        in_blocks(
            len(s),
            lambda b, n: lower_backward(s, kappas, ends, w, kept, marks, g, b.start, b.stop, by_s, low[n]),
        )
        by_y = ctx.multiply(ctx.transpose, by_sums).numpy()
        in_blocks(len(x), lambda b, n: lift_backward(x, kappas, ends, factors, by_y, b.start, b.stop, by_x, high[n]))
        for part in far:
            _far_backward(part, x, factors, w, g, _csr(ctx.transpose), by_x, low, high)
        return by_v, k.new_tensor(low.sum(0) + high.sum(0)), None, None, None, None, None


def _far_backward(
    far: FarRows,
    x: Array,
    factors: Array,
    w: Array,
    g: Array,
    transpose: CSR,
    by_x: Array,
    low: Array,
    high: Array,
) -> None:
    by_far = np.empty_like(far.sums)
    in_blocks(
        len(far.rows),
        lambda b, n: _lower_far_backward(far, w, g, b.start, b.stop, by_far, low[n]),
    )
    in_blocks(
        len(x),
        lambda b, n: _lift_far_backward(far, x, factors, by_far, transpose, b.start, b.stop, by_x, high[n]),
    )


def _csr(matrix: Tensor) -> CSR:
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()


midpoints = _Midpoints.apply
