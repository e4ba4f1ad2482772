"""Weighted sums of lifted rows, lowered, and their derivatives.

Float32 rows that end far from the origin (κ < 0) are lifted, summed and differentiated in float64; others are not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import (
    ROUNDING,
    ROW_FAR_TANGENT,
    ROW_LEAST,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    row_series_terms,
)
from kappagcn.nn.kernels.blocks import Array, Factors, as_array, coefficients, compiled, horner, in_blocks
from kappagcn.sparse import multiply

__all__ = ["Sums", "lower_backward", "sum_and_lower"]

FAR_TANGENT, LEAST, SERIES_BELOW = ROW_FAR_TANGENT, ROW_LEAST, ROW_SERIES_BELOW
EDGE = 1 - ROUNDING * float(np.finfo(np.float64).eps)  # tanh of the farthest radius that float64 resolves
ARTANC_FIRST, ARTANC_SECOND = row_series_terms("artanc")
ARTANC, ARTANC_BELOW = coefficients("artanc"), ROW_VALUE_SERIES_BELOW["artanc"]


@compiled
def _exact_sum(
    i: int, starts: Array, columns: Array, values: Array, v: Array, lifts: Array, f: int, ends: Array, out: Array
) -> float:
    """Row i of A · lift(v) for one factor, lifted and summed in float64: its coordinates into `out`, its height."""
    h = 0.0
    for j in range(ends[f], ends[f + 1]):
        out[np.uintp(j)] = 0
    for entry in range(starts[i], starts[i + 1]):
        row, a = np.uintp(columns[entry]), np.float64(values[entry])
        h += a * lifts[row, f, 2]
        for j in range(ends[f], ends[f + 1]):
            out[np.uintp(j)] += 2 * a * lifts[row, f, 1] * v[row, np.uintp(j)]
    return h


@compiled
def _lower(
    first: int,
    last: int,
    e: Array,
    starts: Array,
    columns: Array,
    values: Array,
    v: Array,
    lifts: Array,
    ends: Array,
    kappas: Array,
    weight: Array,
    out: Array,
    kept: Array,
    far: Array,
    wide: Array,
) -> None:
    """Rows first to last of e = A · lift(v), lowered; far rows from sums in float64, which stay in `wide`."""
    dim, in_single = out.shape[1], wide.shape[0] > 0
    for i in range(first, last):
        # A row of negative weight is that of the opposite weights, turned back by the weight itself.
        sign = -1.0 if weight[i] < 0 else 1.0
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            p, h = 0.0, sign * e[i, dim + f]
            for j in range(start, end):
                p += np.float64(e[i, np.uintp(j)]) * np.float64(e[i, np.uintp(j)])
            # Far out the digits that float32 loses count. So they do where its numbers are infinite or not numbers.
            near = p == 0 or -kappa * p < FAR_TANGENT * max(h, 0.0) ** 2
            far[i, f] = in_single and kappa < 0 and not near
            if far[i, f]:
                h = sign * _exact_sum(i, starts, columns, values, v, lifts, f, ends, wide[i])
                p = 0.0
                for j in range(start, end):
                    p += wide[i, np.uintp(j)] * wide[i, np.uintp(j)]
            size = math.sqrt(abs(kappa * p))
            z = kappa * p / max(h, LEAST) ** 2
            if kappa == 0:
                u = 1 / h if h != 0 else 0.0
            elif abs(z) < ARTANC_BELOW and h > 0:
                u = horner(ARTANC, z) / h
            elif size == 0:
                u = 0.0  # no weight at all, or the origin's antipode: no direction
            elif kappa > 0:
                u = math.atan2(size, h) / size
            else:
                t = EDGE if size >= EDGE * h else size / h
                u = math.log((1 + t) / (1 - t)) / (2 * size)
            kept[i, f, 0], kept[i, f, 1], kept[i, f, 2] = p, u, h
            # At κ = 0 the weight is the height, and may be 0.
            scale = 0.5 if kappa == 0 else 0.5 * weight[i] * sign * u
            if far[i, f]:
                for j in range(start, end):
                    out[i, np.uintp(j)] = scale * wide[i, np.uintp(j)]
            else:
                for j in range(start, end):
                    out[i, np.uintp(j)] = scale * e[i, np.uintp(j)]


@compiled
def _lower_backward(
    e: Array,
    wide: Array,
    far: Array,
    ends: Array,
    kappas: Array,
    weight: Array,
    kept: Array,
    grad: Array,
    by_e: Array,
    by_far: Array,
    by_kappa: Array,
) -> None:
    """Gradients by e; by sums of far rows in float64 instead."""
    rows, dim = grad.shape
    for i in range(rows):
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            sign = -1.0 if weight[i] < 0 else 1.0
            p, u, h = kept[i, f, 0], kept[i, f, 1], kept[i, f, 2]
            along = 0.0
            if far[i, f]:
                for j in range(start, end):
                    along += grad[i, np.uintp(j)] * wide[i, np.uintp(j)]
            else:
                for j in range(start, end):
                    along += np.float64(grad[i, np.uintp(j)]) * np.float64(e[i, np.uintp(j)])
            pull = 0.5 * abs(weight[i]) * along
            bent, ahead = kappa * p, max(h, LEAST)
            capped = bent <= 0 and math.sqrt(-bent) >= EDGE * h
            inverse = 0.0 if capped else 1 / max(h * h + bent, LEAST)
            z = bent / (ahead * ahead)
            if abs(z) < SERIES_BELOW and not capped:
                slope = (ARTANC_FIRST + ARTANC_SECOND * z) / (ahead * ahead * ahead)
            else:
                slope = 0.0 if bent == 0 else (h * inverse - u) / (2 * bent)
            by_kappa[f] += pull * slope * p
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            turn, by_height = 2 * kappa * slope * pull, -sign * pull * inverse
            if far[i, f]:
                for j in range(start, end):
                    by_far[i, np.uintp(j)] = scale * grad[i, np.uintp(j)] + turn * wide[i, np.uintp(j)]
                    by_e[i, np.uintp(j)] = 0
                by_far[i, dim + f], by_e[i, dim + f] = by_height, 0
            else:
                for j in range(start, end):
                    by_e[i, np.uintp(j)] = scale * grad[i, np.uintp(j)] + turn * e[i, np.uintp(j)]
                by_e[i, dim + f] = by_height


@compiled
def _add_far(
    first: int,
    last: int,
    starts: Array,
    columns: Array,
    values: Array,
    far: Array,
    ends: Array,
    by_far: Array,
    out: Array,
) -> None:
    """Add rows first to last of Aᵀ · by_far, of which only far rows count, by the rows and columns of Aᵀ."""
    dim = ends[-1]
    for j in range(first, last):
        for entry in range(starts[j], starts[j + 1]):
            row, a = np.uintp(columns[entry]), np.float64(values[entry])
            for f in range(far.shape[1]):
                if far[row, f]:
                    out[j, dim + f] += a * by_far[row, dim + f]
                    for c in range(ends[f], ends[f + 1]):
                        out[j, np.uintp(c)] += a * by_far[row, np.uintp(c)]


def _entries(matrix: Tensor) -> tuple[Array, Array, Array]:
    """Starts of the rows, columns and values of a CSR matrix."""
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()


class Sums(NamedTuple):
    """Sums of lifted rows and what else the backward of lowering them needs."""

    e: Tensor
    kept: Tensor
    far: Tensor
    wide: Tensor


def sum_and_lower(
    v: Tensor, lifted: Tensor, lifts: Tensor, matrix: Tensor, factors: Factors, weight: Tensor
) -> tuple[Tensor, Sums]:
    """Lowered rows of A · lifted in v's dtype, (N, D+F) → (M, D).

    Args:
        v: Tangent vectors at the origin, (N, D).
        lifted: Their lifts, (N, D+F).
        lifts: What `lift` kept, (N, F, 3).
        matrix: A, (M, N), CSR.
        factors: Where columns belong.
        weight: Sums of the rows of A, (M,).
    """
    m, count = matrix.shape[0], len(factors.kappas)
    # Of `wide` only far rows are written: what is never touched takes no memory.
    rows = m if lifted.dtype == torch.float32 else 0
    sums = Sums(
        multiply(matrix, lifted),
        v.new_empty(m, count, 3, dtype=torch.float64),
        v.new_empty(m, count, dtype=torch.bool),
        v.new_empty(rows, v.shape[1], dtype=torch.float64),
    )
    lowered, entries = v.new_empty(m, v.shape[1]), _entries(matrix)
    e, own, far, wide = (as_array(part) for part in sums)
    x, kept, w, out = as_array(v), lifts.numpy(), as_array(weight), lowered.numpy()
    in_blocks(
        m,
        lambda b, _: _lower(
            b.start, b.stop, e, *entries, x, kept, factors.ends, factors.kappas, w, out, own, far, wide
        ),
    )
    return lowered, sums


def lower_backward(
    sums: Sums, transpose: Tensor, factors: Factors, weight: Tensor, grad: Tensor
) -> tuple[Tensor, Array]:
    """Gradients by lifted rows, (N, D+F), and by the curvatures, block by block, (B, F)."""
    by_e, any_far = torch.empty_like(sums.e), bool(sums.far.any())
    by_far = sums.e.new_empty(sums.e.shape if any_far else (0, 0), dtype=torch.float64)
    e, kept, far, wide = (as_array(part) for part in sums)
    w, g, out, out_far, by_k = (
        as_array(weight),
        as_array(grad),
        by_e.numpy(),
        by_far.numpy(),
        factors.empty_sums(len(e)),
    )
    in_blocks(
        len(e),
        lambda b, number: _lower_backward(
            e[b], wide[b], far[b], factors.ends, factors.kappas, w[b], kept[b], g[b], out[b], out_far[b], by_k[number]
        ),
    )
    by_lifted = multiply(transpose, by_e)
    if any_far:
        by_lifted = by_lifted.double()
        entries, total = _entries(transpose), by_lifted.numpy()
        in_blocks(len(total), lambda b, _: _add_far(b.start, b.stop, *entries, far, factors.ends, out_far, total))
    return by_lifted, by_k
