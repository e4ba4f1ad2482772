r"""κ-midpoints over a sparse matrix as one operation: rows of all factors are lifted, multiplied and lowered.

The sparse product is torch's, in the rows' dtype. Where a float32 sum lies so far out that its rounding errors count,
this row alone is summed again in float64, from lift(v) = (2 sinc v, cosc) with sinc and cosc in float64; so are its
gradients. Formulas and derivatives are those of `kappagcn.kernels.rows`. Lifted rows have the vector and the height of
each factor in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_FAR, ROW_FAR_TANGENT
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, in_blocks
from kappagcn.kernels.dispatch import second_order
from kappagcn.kernels.rows import lift_factors, lift_slope, lower_slopes, stretch

__all__ = ["Lowered", "lower_product", "midpoints"]

FAR, FAR_TANGENT = ROW_FAR, ROW_FAR_TANGENT
Product = Callable[[Tensor, Tensor], Tensor]  # of a CSR tensor and dense rows
LARGEST_SHARE = 0.5  # of rows that are summed again one by one; beyond it a product in float64 takes less time


@compiled
def _columns(f: int, ends: Array) -> tuple[Any, Any, Any]:
    """First column of a factor, the same among lifted columns, and its dimension; as unsigned integers.

    Signed ones could be negative and count from the end, so the compiler would not see that columns are consecutive.
    """
    return np.uint64(ends[f]), np.uint64(ends[f] + f), np.uint64(ends[f + 1] - ends[f])


@compiled
def _lift(v: Array, kappas: Array, ends: Array, limit: float, lifted: Array, factors: Array, beyond: Array) -> None:
    """Lifted rows; |v|², sinc and cosc of each row and factor, (N, F, 3); 1 in `beyond` if a row lies beyond limit."""
    for f in range(kappas.shape[0]):
        (start, first, dim), kappa = _columns(f, ends), kappas[f]
        for i in range(v.shape[0]):
            q = 0.0
            for d in range(dim):
                q += np.float64(v[i, start + d]) * np.float64(v[i, start + d])
            sinc, cosc = lift_factors(4 * kappa * q, kappa, limit)
            factors[i, f, 0], factors[i, f, 1], factors[i, f, 2] = q, sinc, cosc
            if kappa < 0 and -4 * kappa * q > limit * limit:
                beyond[0] = 1.0
            for d in range(dim):
                lifted[i, first + d] = 2 * sinc * v[i, start + d]
            if kappa < 0 and cosc > FAR:
                # The height of the point as rounded: far out, lowering needs them to agree.
                p = 0.0
                for d in range(dim):
                    p += np.float64(lifted[i, first + d]) * np.float64(lifted[i, first + d])
                cosc = math.sqrt(1 - kappa * p)
            lifted[i, first + dim] = cosc


@compiled
def _lower(
    sums: Array, kappas: Array, ends: Array, weight: Array, single: bool, kept: Array, out: Array, far: Array
) -> None:
    """Lowered sums; |n|², u and h of each, (M, F, 3). A far one (float32 and κ < 0) is marked instead."""
    for f in range(kappas.shape[0]):
        (start, first, dim), kappa = _columns(f, ends), kappas[f]
        for i in range(out.shape[0]):
            # A row of negative weight is that of the opposite weights, with the sign of the weight.
            p, h = 0.0, np.float64(sums[i, first + dim] if weight[i] >= 0 else -sums[i, first + dim])
            for d in range(dim):
                p += np.float64(sums[i, first + d]) * np.float64(sums[i, first + d])
            ahead = max(h, 0.0)
            if single and kappa < 0 and not (p == 0 or -kappa * p < FAR_TANGENT * ahead * ahead):
                far[i, f] = True
                continue
            u = stretch(kappa, p, h)
            kept[i, f, 0], kept[i, f, 1], kept[i, f, 2] = p, u, h
            # At κ = 0 the weight is the height, and may be 0.
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            for d in range(dim):
                out[i, start + d] = scale * sums[i, first + d]


@compiled
def _lower_backward(
    sums: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    kept: Array,
    far: Array,
    grad: Array,
    by_sums: Array,
    by_kappa: Array,
) -> None:
    """Gradients by the sums of lifted rows, 0 for far ones."""
    for f in range(kappas.shape[0]):
        (start, first, dim), kappa = _columns(f, ends), kappas[f]
        for i in range(grad.shape[0]):
            if far[i, f]:
                by_sums[i, ends[f] + f : ends[f + 1] + f + 1] = 0.0
                continue
            along = 0.0
            for d in range(dim):
                along += np.float64(grad[i, start + d]) * np.float64(sums[i, first + d])
            p, u, h = kept[i, f, 0], kept[i, f, 1], kept[i, f, 2]
            rise, turn, bend = lower_slopes(kappa, p, h, u, 0.5 * abs(weight[i]) * along)
            by_kappa[f] += bend
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            for d in range(dim):
                by_sums[i, first + d] = scale * grad[i, start + d] + turn * sums[i, first + d]
            by_sums[i, first + dim] = -rise if weight[i] >= 0 else rise


@compiled
def _lift_backward(
    v: Array, kappas: Array, ends: Array, factors: Array, grad: Array, by_v: Array, by_kappa: Array
) -> None:
    """Gradients by the rows from those by lifted rows."""
    for f in range(kappas.shape[0]):
        (start, first, dim), kappa = _columns(f, ends), kappas[f]
        for i in range(v.shape[0]):
            q, sinc, cosc, along = factors[i, f, 0], factors[i, f, 1], factors[i, f, 2], 0.0
            for d in range(dim):
                along += np.float64(grad[i, first + d]) * np.float64(v[i, start + d])
            t = 2 * lift_slope(4 * kappa * q, sinc, cosc) * along - 0.5 * sinc * grad[i, first + dim]
            by_kappa[f] += 4 * t * q
            for d in range(dim):
                by_v[i, start + d] = 2 * sinc * grad[i, first + d] + 8 * kappa * t * v[i, start + d]


@compiled
def _sum_again(
    v: Array, factors: Array, f: int, start: int, stop: int, cols: Array, values: Array, total: Array
) -> tuple[float, float]:
    """Into `total` the vector of one factor of a row of the product, in float64; returns |n|² and the height."""
    total[:] = 0.0
    p, h = 0.0, 0.0
    for place in range(cols.shape[0]):
        j, a = cols[place], np.float64(values[place])
        for d in range(start, stop):
            total[d - start] += 2 * a * factors[j, f, 1] * v[j, d]
        h += a * factors[j, f, 2]
    for d in range(total.shape[0]):
        p += total[d] * total[d]
    return p, h


@compiled
def _lower_far(
    rows: Array,
    places: Array,
    v: Array,
    factors: Array,
    kappas: Array,
    ends: Array,
    starts: Array,
    cols: Array,
    values: Array,
    weight: Array,
    out: Array,
) -> None:
    """Far rows and factors, by sums in float64."""
    space = np.empty(v.shape[1])
    for n in range(rows.shape[0]):
        i, f = rows[n], places[n]
        start, stop, first, last = ends[f], ends[f + 1], starts[i], starts[i + 1]
        total = space[: stop - start]
        p, h = _sum_again(v, factors, f, start, stop, cols[first:last], values[first:last], total)
        scale = 0.5 * abs(weight[i]) * stretch(kappas[f], p, h if weight[i] >= 0 else -h)
        for d in range(start, stop):
            out[i, d] = scale * total[d - start]


@compiled
def _far_backward(
    rows: Array,
    places: Array,
    v: Array,
    factors: Array,
    kappas: Array,
    ends: Array,
    starts: Array,
    cols: Array,
    values: Array,
    weight: Array,
    grad: Array,
    by_v: Array,
    by_kappa: Array,
) -> None:
    """Add gradients of far rows and factors: by each of the rows that they sum, one after another."""
    space = np.empty((2, v.shape[1]))
    for n in range(rows.shape[0]):
        i, f = rows[n], places[n]
        start, stop, kappa, first, last = ends[f], ends[f + 1], kappas[f], starts[i], starts[i + 1]
        total, by_total, pull = space[0, : stop - start], space[1, : stop - start], 0.0
        p, h = _sum_again(v, factors, f, start, stop, cols[first:last], values[first:last], total)
        h = h if weight[i] >= 0 else -h
        u = stretch(kappa, p, h)
        for d in range(start, stop):
            pull += grad[i, d] * total[d - start]
        rise, turn, bend = lower_slopes(kappa, p, h, u, 0.5 * abs(weight[i]) * pull)
        by_kappa[f] += bend
        by_height, scale = -rise if weight[i] >= 0 else rise, 0.5 * abs(weight[i]) * u
        for d in range(start, stop):
            by_total[d - start] = scale * grad[i, d] + turn * total[d - start]
        for place in range(first, last):
            j, a, along = cols[place], np.float64(values[place]), 0.0
            q, sinc, cosc = factors[j, f, 0], factors[j, f, 1], factors[j, f, 2]
            for d in range(start, stop):
                along += by_total[d - start] * v[j, d]
            t = a * (2 * lift_slope(4 * kappa * q, sinc, cosc) * along - 0.5 * sinc * by_height)
            by_kappa[f] += 4 * t * q
            for d in range(start, stop):
                by_v[j, d] += 2 * a * sinc * by_total[d - start] + 8 * kappa * t * v[j, d]


class Lowered(NamedTuple):
    """The result without its far rows, and what they and derivatives need."""

    out: Tensor
    ends: Array
    factors: Array
    sums: Tensor
    kept: Array
    far: Array


@torch.no_grad()
def lower_product(
    v: Tensor, k: Tensor, dims: list[int], matrix: Tensor, weight: Tensor, multiply: Product
) -> Lowered | None:
    """Lowered rows of the product; None if too many lie far out."""
    count, rows, single = len(dims), matrix.shape[0], v.dtype == torch.float32
    ends, kappas, x = np.cumsum([0, *dims]), as_array(k), as_array(v)
    lifted, factors, beyond = v.new_empty(len(v), v.shape[1] + count), np.empty((len(v), count, 3)), block_sums(len(v))
    y, limit = lifted.numpy(), ROW_EXPONENT[v.dtype]
    in_blocks(len(x), lambda b, n: _lift(x[b], kappas, ends, limit, y[b], factors[b], beyond[n]))
    if single and beyond.any():
        return None
    sums, out = multiply(matrix, lifted), v.new_empty(rows, v.shape[1])
    kept, far = np.empty((rows, count, 3)), np.zeros((rows, count), dtype=np.bool_)
    s, w, o = sums.numpy(), as_array(weight), out.numpy()
    in_blocks(rows, lambda b, _: _lower(s[b], kappas, ends, w[b], single, kept[b], o[b], far[b]))
    if far.sum() > LARGEST_SHARE * far.size:
        return None
    return Lowered(out, ends, factors, sums, kept, far)


class _Midpoints(torch.autograd.Function):
    """log_0(A ⊠ exp_0(V)), (N, D), (F,) → (M, D), from its lowered product; not differentiable by the matrix."""

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        lowered: Lowered,
        matrices: tuple[Tensor, Tensor],
        weight: Tensor,
        multiply: Product,
        twin: Callable[..., Tensor],
    ) -> Tensor:
        rows, columns = lowered.far.nonzero()
        if len(rows):
            x, kappas, w, result = map(as_array, (v, k, weight, lowered.out))
            starts, cols, values = _csr(matrices[0])
            _lower_far(rows, columns, x, lowered.factors, kappas, lowered.ends, starts, cols, values, w, result)
        ctx.save_for_backward(v, k, weight)
        ctx.inputs, ctx.twin, ctx.matrices, ctx.multiply = 2, twin, matrices, multiply
        out, *ctx.lowered = lowered  # without the result, which would keep itself alive
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None, None, None]:
        v, k, weight = ctx.saved_tensors
        ends, factors, sums, kept, far = ctx.lowered
        by_sums, by_v = torch.empty_like(sums), torch.empty_like(v, memory_format=torch.contiguous_format)
        x, kappas, w, g, s, by_s, by_x = map(as_array, (v, k, weight, grad, sums, by_sums, by_v))
        lower, lift = block_sums(len(s), len(kappas)), block_sums(len(x), len(kappas))
        in_blocks(
            len(s), lambda b, n: _lower_backward(s[b], kappas, ends, w[b], kept[b], far[b], g[b], by_s[b], lower[n])
        )
        by_lifted = ctx.multiply(ctx.matrices[1], by_sums).numpy()
        in_blocks(len(x), lambda b, n: _lift_backward(x[b], kappas, ends, factors[b], by_lifted[b], by_x[b], lift[n]))
        rows, columns = far.nonzero()
        if len(rows):
            starts, cols, values = _csr(ctx.matrices[0])
            _far_backward(rows, columns, x, factors, kappas, ends, starts, cols, values, w, g, by_x, lift[0])
        return by_v, k.new_tensor(lower.sum(0) + lift.sum(0)), None, None, None, None, None


def _csr(matrix: Tensor) -> tuple[Array, Array, Array]:
    """Row starts, columns and values of a CSR tensor."""
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()


midpoints = _Midpoints.apply
