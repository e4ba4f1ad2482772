r"""κ-midpoints over a sparse matrix as one operation: rows are lifted, summed and lowered, tile by tile.

Sums are taken in float64. Lifted rows, sums and their gradients are kept in the rows' dtype, or in float64 if float32
rows lie so far out that rounding errors of a sum would count. Formulas are those of `kappagcn.kernels.row_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled
from kappagcn.kernels.buffers import Buffers
from kappagcn.kernels.dispatch import second_order
from kappagcn.kernels.lifts import (
    TILE,
    add_rows,
    columns,
    lift,
    lift_backward,
    lift_numbers,
    lower,
    lower_backward,
    pack,
)
from kappagcn.kernels.row_vectors import scaled_sum, weighted_sum
from kappagcn.kernels.team import call_in_threads, next_number, run
from kappagcn.kernels.vector_math import inlined

__all__ = ["midpoints"]

CSR = tuple[Array, Array, Array]  # row starts, columns and values
LIMIT = ROW_EXPONENT[torch.float64]
ALONE = 2048  # rows up to which one thread is used; torch divides its own operations from about as many on


@inlined
def _next_tile(counter: Array, rows: int) -> tuple[int, int, int]:
    """Number of the next tile, its first row and the row behind its last one; the same twice behind the last tile."""
    tile = next_number(counter)
    return tile, min(tile * TILE, rows), min((tile + 1) * TILE, rows)


@compiled
def _measure(counter: Array, v: Array, kappas: Array, ends: Array, factors: Array, lifted: Array, far: Array) -> None:
    """Numbers of rows, and, unless some are far, the rows lifted; whether some are far."""
    _, start, stop = _next_tile(counter, v.shape[0])
    while start < stop:
        if lift_numbers(v, kappas, ends, LIMIT, start, stop, factors):
            far[0] = True
        if not (far[0] and v.itemsize < 8):  # float32 rows are then packed
            lift(v, kappas, ends, factors, start, stop, lifted)
        _, start, stop = _next_tile(counter, v.shape[0])


@compiled
def _pack(counter: Array, v: Array, kappas: Array, ends: Array, factors: Array, rows: Array, numbers: Array) -> None:
    """Rows with the numbers of their lifts."""
    _, start, stop = _next_tile(counter, v.shape[0])
    while start < stop:
        pack(v, kappas, ends, factors, start, stop, rows, numbers)
        _, start, stop = _next_tile(counter, v.shape[0])


@compiled
def _sum_and_lower(
    counter: Array,
    matrix: CSR,
    lifted: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    bias: Array,
    out: Array,
    sums: Array,
    kept: Array,
    far: Array,
) -> None:
    """Lowered rows of the product, their sums and numbers; whether some sums are far."""
    (starts, cols, values), width = matrix, sums.shape[1]
    _, start, stop = _next_tile(counter, sums.shape[0])
    while start < stop:
        for i in range(start, stop):
            weighted_sum(sums, i * width, cols, values, starts[i], starts[i + 1], lifted, width)
        if lower(sums, kappas, ends, weight, bias, start, stop, out, kept):
            far[0] = True
        _, start, stop = _next_tile(counter, sums.shape[0])


@compiled
def _sum_packed_and_lower(
    counter: Array,
    matrix: CSR,
    rows: Array,
    numbers: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    bias: Array,
    out: Array,
    sums: Array,
    kept: Array,
) -> None:
    """As `_sum_and_lower`, of rows that are lifted on the way."""
    (starts, cols, values), width, count = matrix, sums.shape[1], kappas.shape[0]
    _, start, stop = _next_tile(counter, sums.shape[0])
    while start < stop:
        for i in range(start, stop):
            for f in range(count):
                begin, top, dim = columns(f, ends)
                place, at = i * width + top, 4 * count + begin
                sums[i, top + dim] = scaled_sum(
                    sums, place, cols, values, starts[i], starts[i + 1], rows, at, numbers, 2 * f, dim
                )
        lower(sums, kappas, ends, weight, bias, start, stop, out, kept)
        _, start, stop = _next_tile(counter, sums.shape[0])


@compiled
def _lower_backward(
    counter: Array,
    lowered: CSR,
    kappas: Array,
    ends: Array,
    grad: Array,
    by_sums: Array,
    totals: Array,
) -> None:
    """Gradients by the sums; those by κ and, if there is one, by the bias are added to those of the tile."""
    tile, start, stop = _next_tile(counter, grad.shape[0])
    while start < stop:
        lower_backward(lowered, kappas, ends, grad, start, stop, by_sums, totals[tile])
        if totals.shape[1] > kappas.shape[0]:
            add_rows(grad, start, stop, totals[tile], kappas.shape[0])
        tile, start, stop = _next_tile(counter, grad.shape[0])


@compiled
def _sum_and_lift_backward(
    counter: Array,
    transpose: CSR,
    v: Array,
    factors: Array,
    kappas: Array,
    ends: Array,
    by_sums: Array,
    by_v: Array,
    totals: Array,
) -> None:
    """Gradients by the rows from those by the sums; that by κ is added to that of the tile."""
    (starts, cols, values), width = transpose, by_sums.shape[1]
    grad = np.empty((TILE, width))
    tile, start, stop = _next_tile(counter, v.shape[0])
    while start < stop:
        for j in range(start, stop):
            weighted_sum(grad, (j - start) * width, cols, values, starts[j], starts[j + 1], by_sums, width)
        lift_backward(v, kappas, ends, factors, grad, start, start, stop, by_v, totals[tile])
        tile, start, stop = _next_tile(counter, v.shape[0])


@compiled
def _measure_in_team(begin: int, threads: int, arguments: Any) -> None:
    call_in_threads(begin, threads, _measure, arguments)


@compiled
def _pack_in_team(begin: int, threads: int, arguments: Any) -> None:
    call_in_threads(begin, threads, _pack, arguments)


@compiled
def _sum_and_lower_in_team(begin: int, threads: int, arguments: Any) -> None:
    call_in_threads(begin, threads, _sum_and_lower, arguments)


@compiled
def _sum_packed_and_lower_in_team(begin: int, threads: int, arguments: Any) -> None:
    call_in_threads(begin, threads, _sum_packed_and_lower, arguments)


@compiled
def _lower_backward_in_team(begin: int, threads: int, arguments: Any) -> None:
    call_in_threads(begin, threads, _lower_backward, arguments)


@compiled
def _sum_and_lift_backward_in_team(begin: int, threads: int, arguments: Any) -> None:
    call_in_threads(begin, threads, _sum_and_lift_backward, arguments)


class _Midpoints(torch.autograd.Function):
    """log_0(A ⊠ exp_0(V)) + b, (N, D), (F,), (D,) → (M, D); not differentiable by the matrix. Without b it is None."""

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        bias: Tensor | None,
        matrix: CSR,
        dims: tuple[int, ...],
        transpose: CSR,
        weight: Array,
        twin: Callable[..., Tensor],
    ) -> Tensor:
        rows, (n, d), count, buffers, scratch = len(weight), v.shape, len(dims), Buffers(), Buffers()
        out, ends, far = v.new_empty(rows, d), _bounds(dims), np.zeros(1, np.bool_)
        x, kappas = as_array(v), as_array(k)
        factors, kept = buffers.empty((count, 3, n), np.float64), buffers.empty((count, 3, rows), np.float64)
        shift = np.zeros(d, x.dtype) if bias is None else as_array(bias)
        own, alone, single = (x, kappas, ends, factors), max(n, rows) <= ALONE, x.dtype == np.float32
        target, lifted, sums = (kappas, ends, weight, shift, out.numpy()), scratch.empty((n, d + count), x.dtype), None
        run(_measure_in_team, _measure, *own, lifted, far, alone=alone)
        if not (single and far[0]):
            sums = buffers.empty((rows, d + count), x.dtype)
            run(_sum_and_lower_in_team, _sum_and_lower, matrix, lifted, *target, sums, kept, far, alone=alone)
        if single and far[0]:  # with negative weights sums may lie farther out than all rows
            sums = buffers.empty((rows, d + count), np.float64)
            numbers = scratch.empty((n, 2 * count + (d + 2) // 2), np.float64)
            packed = numbers.view(np.float32), numbers
            run(_pack_in_team, _pack, *own, *packed, alone=alone)
            run(_sum_packed_and_lower_in_team, _sum_packed_and_lower, matrix, *packed, *target, sums, kept, alone=alone)
        ctx.save_for_backward(v, k, *([] if bias is None else [bias]))
        ctx.inputs, ctx.twin = 2 if bias is None else 3, twin
        ctx.numbers = ends, weight, transpose, factors, kept, sums
        ctx.buffers = buffers
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, *_ = ctx.saved_tensors
        ends, weight, transpose, factors, kept, sums = ctx.numbers
        buffers, by_v = Buffers(), torch.empty_like(v, memory_format=torch.contiguous_format)
        by_sums = buffers.empty(sums.shape, sums.dtype)
        x, kappas, g, by_x = map(as_array, (v, k, grad, by_v))
        rows, count, biased = max(len(sums), len(x)), len(kappas), ctx.needs_input_grad[2]
        alone, totals = rows <= ALONE, block_sums(rows, count + (x.shape[1] if biased else 0), TILE)
        lowered = sums, weight, kept
        run(_lower_backward_in_team, _lower_backward, lowered, kappas, ends, g, by_sums, totals, alone=alone)
        own = transpose, x, factors, kappas, ends, by_sums, by_x, totals
        run(_sum_and_lift_backward_in_team, _sum_and_lift_backward, *own, alone=alone)
        total = torch.from_numpy(totals.sum(0))
        return by_v, total[:count], total[count:].to(v.dtype) if biased else None, None, None, None, None, None


@cache
def _bounds(dims: tuple[int, ...]) -> Array:
    """Bounds of the columns of factors of these dimensions."""
    bounds: Array = np.cumsum([0, *dims])
    return bounds


midpoints = _Midpoints.apply
