r"""κ-midpoints over a sparse matrix as one operation: rows are lifted, summed and lowered, tile by tile.

Sums are taken in float64. Lifted rows, sums and their gradients are kept in the rows' dtype, or in float64 if float32
rows lie so far out that rounding errors of a sum would count. Formulas are those of `kappagcn.kernels.row_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

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
def _sum_packed(
    matrix: CSR, rows: Array, numbers: Array, f: int, ends: Array, start: int, stop: int, sums: Array
) -> None:
    """Sums of a factor's lifted rows."""
    (starts, cols, values), (begin, top, dim) = matrix, columns(f, ends)
    at = 4 * (ends.shape[0] - 1) + begin
    for i in range(start, stop):
        place = i * sums.shape[1] + top
        sums[i, top + dim] = scaled_sum(
            sums, place, cols, values, starts[i], starts[i + 1], rows, at, numbers, 2 * f, dim
        )


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
    _, start, stop = _next_tile(counter, sums.shape[0])
    while start < stop:
        for f in range(kappas.shape[0]):
            _sum_packed(matrix, rows, numbers, f, ends, start, stop, sums)
        lower(sums, kappas, ends, weight, bias, start, stop, out, kept)
        _, start, stop = _next_tile(counter, sums.shape[0])


@compiled
def _lower_backward(
    counter: Array, sums: Array, weight: Array, kept: Array, kappas: Array, ends: Array, grad: Array, totals: Array
) -> None:
    """Gradients in the place of the sums; those by κ and, if there is one, by the bias are added to the tile's."""
    tile, start, stop = _next_tile(counter, grad.shape[0])
    while start < stop:
        lower_backward((sums, weight, kept), kappas, ends, grad, start, stop, sums, totals[tile])
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
    """Gradients by the rows from those by the sums; that by κ is added to the tile's."""
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


class _Numbers(NamedTuple):
    """What the derivatives of midpoints need: numbers of lifted and of lowered rows, and the sums of lifted rows."""

    factors: Array
    kept: Array
    sums: Array
    buffers: Buffers  # keeps the memory of these arrays


def _compute(x: Array, kappas: Array, ends: Array, matrix: CSR, weight: Array, bias: Array, out: Array) -> _Numbers:
    """Midpoints plus bias, into `out`, and their numbers."""
    (n, d), rows, count, far, single = x.shape, len(weight), len(kappas), np.zeros(1, np.bool_), x.dtype == np.float32
    buffers, scratch, alone = Buffers(), Buffers(), max(n, rows) <= ALONE
    factors, kept = buffers.empty((count, 3, n), np.float64), buffers.empty((count, 3, rows), np.float64)
    own, target = (x, kappas, ends, factors), (kappas, ends, weight, bias, out)
    lifted = scratch.empty((n, d + count), x.dtype)
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
    return _Numbers(factors, kept, sums, buffers)


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
        out, ends, x = v.new_empty(len(weight), v.shape[1]), _bounds(dims), as_array(v)
        shift = np.zeros(v.shape[1], x.dtype) if bias is None else as_array(bias)
        ctx.numbers = _compute(x, as_array(k), ends, matrix, weight, shift, out.numpy())
        ctx.space = ends, matrix, transpose, weight, shift
        ctx.save_for_backward(v, k, *([] if bias is None else [bias]))
        ctx.inputs, ctx.twin = 2 if bias is None else 3, twin
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, *_ = ctx.saved_tensors
        ends, matrix, transpose, weight, shift = ctx.space
        by_v = torch.empty_like(v, memory_format=torch.contiguous_format)
        x, kappas, g, by_x = map(as_array, (v, k, grad, by_v))
        # Gradients take the place of the sums: a second pass through a retained graph computes these again.
        numbers = ctx.numbers or _compute(x, kappas, ends, matrix, weight, shift, np.empty(g.shape, g.dtype))
        ctx.numbers, (factors, kept, sums, _) = None, numbers
        rows, count, biased = max(len(sums), len(x)), len(kappas), ctx.needs_input_grad[2]
        alone, totals = rows <= ALONE, block_sums(rows, count + (x.shape[1] if biased else 0), TILE)
        run(_lower_backward_in_team, _lower_backward, sums, weight, kept, kappas, ends, g, totals, alone=alone)
        own = transpose, x, factors, kappas, ends, sums, by_x, totals
        run(_sum_and_lift_backward_in_team, _sum_and_lift_backward, *own, alone=alone)
        total = torch.from_numpy(totals.sum(0))
        return by_v, total[:count], total[count:].to(v.dtype) if biased else None, None, None, None, None, None


@cache
def _bounds(dims: tuple[int, ...]) -> Array:
    """Bounds of the columns of factors of these dimensions."""
    bounds: Array = np.cumsum([0, *dims])
    return bounds


midpoints = _Midpoints.apply
