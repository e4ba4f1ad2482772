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
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, in_blocks
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

__all__ = ["Numbers", "bounds", "compute", "compute_gradients", "entry_gradients", "midpoints"]

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


class Numbers(NamedTuple):
    """What the derivatives of midpoints need: numbers of lifted and of lowered rows, and the sums of lifted rows.

    Attributes:
        factors: (F, 3, N) of float64.
        lowered: (F, 3, M) of float64.
        sums: Memory of (M, D + F) numbers of float64, of which float32 sums take the first half.
    """

    factors: Array
    lowered: Array
    sums: Array

    @classmethod
    def empty(cls, shape: tuple[int, int], rows: int, count: int, make: Callable[..., Array] = np.empty) -> Numbers:
        """Memory for N rows of D columns, M rows of the result and F factors."""
        n, d = shape
        sizes = (count, 3, n), (count, 3, rows), (rows, d + count)
        return cls(*(make(size, np.float64) for size in sizes))

    def sums_as(self, dtype: Any) -> Array:
        """The sums in the dtype in which they were computed."""
        sums: Array = self.sums.reshape(-1).view(dtype)[: self.sums.size].reshape(self.sums.shape)
        return sums


def compute(
    x: Array, kappas: Array, ends: Array, matrix: CSR, weight: Array, bias: Array, out: Array, numbers: Numbers
) -> Any:
    """Midpoints plus bias, into `out`, and their numbers; returns the dtype of the sums."""
    (n, d), rows, count, far, single = x.shape, len(weight), len(kappas), np.zeros(1, np.bool_), x.dtype == np.float32
    scratch, alone, (factors, lowered, _) = Buffers(), max(n, rows) <= ALONE, numbers
    sources, target = (x, kappas, ends, factors), (kappas, ends, weight, bias, out)
    lifted = scratch.empty((n, d + count), x.dtype)
    run(_measure_in_team, _measure, *sources, lifted, far, alone=alone)
    if not (single and far[0]):
        sums = numbers.sums_as(x.dtype)
        run(_sum_and_lower_in_team, _sum_and_lower, matrix, lifted, *target, sums, lowered, far, alone=alone)
    if single and far[0]:  # with negative weights sums may lie farther out than all rows
        wide = scratch.empty((n, 2 * count + (d + 2) // 2), np.float64)
        packed = wide.view(np.float32), wide
        run(_pack_in_team, _pack, *sources, *packed, alone=alone)
        sums = numbers.sums
        run(_sum_packed_and_lower_in_team, _sum_packed_and_lower, matrix, *packed, *target, sums, lowered, alone=alone)
    return sums.dtype


def compute_gradients(
    x: Array,
    kappas: Array,
    ends: Array,
    transpose: CSR,
    weight: Array,
    numbers: Numbers,
    dtype: Any,
    grad: Array,
    by_x: Array,
    *,
    biased: bool,
) -> Array:
    """Gradients with respect to the rows, into `by_x`, and to curvatures and bias; they take the place of the sums."""
    (factors, lowered, _), sums = numbers, numbers.sums_as(dtype)
    rows, count = max(len(sums), len(x)), len(kappas)
    alone, totals = rows <= ALONE, block_sums(rows, count + (x.shape[1] if biased else 0), TILE)
    run(_lower_backward_in_team, _lower_backward, sums, weight, lowered, kappas, ends, grad, totals, alone=alone)
    arguments = transpose, x, factors, kappas, ends, sums, by_x, totals
    run(_sum_and_lift_backward_in_team, _sum_and_lift_backward, *arguments, alone=alone)
    total: Array = totals.sum(0)
    return total


@compiled
def _entry_products(
    by_sums: Array, lifted: Array, by_weight: Array, rows: Array, cols: Array, start: int, stop: int, out: Array
) -> None:
    for e in range(start, stop):
        i, j, total = rows[e], cols[e], 0.0
        for c in range(lifted.shape[1]):
            total += by_sums[i, c] * lifted[j, c]
        out[e] = total + by_weight[i]


def entry_gradients(by_sums: Array, lifted: Array, by_weight: Array, rows: Array, cols: Array) -> Array:
    """Gradients with respect to the entries of the matrix, ⟨∂/∂S_i, lift(v_j)⟩ + ∂/∂w_i with row sums w, (E,)."""
    out = np.empty(len(rows), lifted.dtype)

    def products(part: slice, _: int) -> None:
        _entry_products(by_sums, lifted, by_weight, rows, cols, part.start, part.stop, out)

    in_blocks(len(rows), products)
    return out


class _Midpoints(torch.autograd.Function):
    """log_0(A ⊠ exp_0(V)) + b, (N, D), (F,), (D,) → (M, D); not differentiable by the matrix. Without b it is None.

    Tensors with the entries of the matrix are saved so that torch notices if they change before the backward pass. κ
    and b, which are parameters, are copied: torch cannot free a parameter's memory (FSDP) after NumPy has seen it.
    """

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        bias: Tensor | None,
        entries: list[Tensor],
        matrix: CSR,
        dims: tuple[int, ...],
        transpose: CSR,
        weight: Array,
        twin: Callable[..., Tensor],
    ) -> Tensor:
        out, ends, x = v.new_empty(len(weight), v.shape[1]), bounds(dims), as_array(v)
        shift = np.zeros(v.shape[1], x.dtype) if bias is None else as_array(bias.clone())
        ctx.buffers = Buffers()  # keeps the memory of the numbers
        ctx.numbers = Numbers.empty(x.shape, len(weight), len(dims), ctx.buffers.empty)
        ctx.dtype = compute(x, as_array(k.clone()), ends, matrix, weight, shift, out.numpy(), ctx.numbers)
        ctx.space = ends, matrix, transpose, weight
        ctx.inputs, ctx.twin = 2 if bias is None else 3, twin
        ctx.save_for_backward(*(v, k, bias)[: ctx.inputs], *entries)
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, *_ = ctx.saved_tensors
        ends, matrix, transpose, weight = ctx.space
        by_v = torch.empty_like(v, memory_format=torch.contiguous_format)
        x, kappas, g, by_x = map(as_array, (v, k.clone(), grad, by_v))
        # Gradients take the place of the sums: a second pass through a retained graph computes these again.
        numbers, count = ctx.numbers, len(kappas)
        if numbers is None:
            numbers, shift = Numbers.empty(x.shape, len(weight), count), np.zeros(x.shape[1], x.dtype)
            ctx.dtype = compute(x, kappas, ends, matrix, weight, shift, np.empty(g.shape, g.dtype), numbers)
        biased, ctx.numbers = ctx.needs_input_grad[2], None
        total = compute_gradients(x, kappas, ends, transpose, weight, numbers, ctx.dtype, g, by_x, biased=biased)
        ctx.buffers = None
        by_k, by_bias = torch.from_numpy(total[:count]), torch.from_numpy(total[count:]).to(v.dtype)
        return by_v, by_k, by_bias if biased else None, None, None, None, None, None, None


@cache
def bounds(dims: tuple[int, ...]) -> Array:
    """Bounds of the columns of factors of these dimensions."""
    bounds: Array = np.cumsum([0, *dims])
    return bounds


midpoints = _Midpoints.apply
