"""Weighted sums of lifted rows, lowered, and their derivatives.

A sum (n, h) lowers to ½u·n with u = ρ/|n|, tan_κ(ρ) = |n|/h. With Q = h² + κ|n|² and G = (h/Q − u)/(2κ|n|²), a power
series where κ|n|²/h² is small,

    ∂u = 2κG n·∂n − ∂h/Q + |n|²G ∂κ.

For κ < 0 a row that does not point into the space, √−κ|n| ≥ h up to rounding, counts as the farthest point in the
direction of n that float64 resolves, at distance artanh(1 − 4ε)/√−κ, and has that point's derivatives.

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
)
from kappagcn.kernels.blocks import (
    Array,
    Factors,
    as_array,
    block_sums,
    compiled,
    horner,
    in_blocks,
    slope_terms,
    value_terms,
)

__all__ = ["Lowered", "add_far", "lower", "lower_backward"]

FAR_TANGENT, LEAST, SERIES_BELOW = ROW_FAR_TANGENT, ROW_LEAST, ROW_SERIES_BELOW
EDGE = 1 - ROUNDING * float(np.finfo(np.float64).eps)  # tanh of the farthest radius that float64 resolves
ARTANC_FIRST, ARTANC_SECOND = slope_terms("artanc")
ARTANC, ARTANC_BELOW = value_terms("artanc"), ROW_VALUE_SERIES_BELOW["artanc"]


class Matrix(NamedTuple):
    """A CSR matrix, as the compiled functions take it."""

    starts: Array
    columns: Array
    values: Array

    @classmethod
    def of(cls, matrix: Tensor) -> Matrix:
        """From a CSR tensor."""
        return cls(matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy())


@compiled
def _stretch(kappa: float, p: float, h: float) -> float:
    """ρ/|n| from |n|² = p and h, tan_κ(ρ) = |n|/h; a row that points out of the space (κ < 0) is at its edge."""
    size, z = math.sqrt(abs(kappa * p)), kappa * p / max(h, LEAST) ** 2
    if kappa == 0:
        return 1 / h if h != 0 else 0.0
    if abs(z) < ARTANC_BELOW and h > 0:
        return horner(ARTANC, z) / h
    if size == 0:
        return 0.0  # no weight at all, or the origin's antipode: no direction
    if kappa > 0:
        return math.atan2(size, h) / size
    t = EDGE if size >= EDGE * h else size / h
    return math.log((1 + t) / (1 - t)) / (2 * size)


@compiled
def _slopes(kappa: float, p: float, h: float, u: float, pull: float) -> tuple[float, float, float]:
    """Pull times 1/Q, 2κG and |n|²G of the derivative of u = ρ/|n| (see above)."""
    bent, ahead = kappa * p, max(h, LEAST)
    capped = bent <= 0 and (h <= 0 or -bent >= EDGE * EDGE * h * h)
    inverse = 0.0 if capped else 1 / max(h * h + bent, LEAST)
    z = bent / (ahead * ahead)
    if abs(z) < SERIES_BELOW and not capped:
        bend = pull * (ARTANC_FIRST + ARTANC_SECOND * z) / (ahead * ahead * ahead)
        return pull * inverse, 2 * kappa * bend, p * bend
    if bent == 0:
        return pull * inverse, 0.0, 0.0
    change = h * inverse - u
    return pull * inverse, change * (pull / p), change * (pull / (2 * kappa))


@compiled
def _lower(e: Array, factors: Factors, weight: Array, in_single: bool, out: Array, kept: Array, far: Array) -> int:
    """Lower rows, but for those that lie too far out for float32, which are marked as far; how many those are."""
    (rows, dim), ends, kappas, count = out.shape, factors.ends, factors.kappas, 0
    for i in range(rows):
        # A row of negative weight is that of the opposite weights, turned back by the weight itself.
        sign = -1.0 if weight[i] < 0 else 1.0
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            p, h = 0.0, sign * e[i, dim + f]
            for j in range(start, end):
                p += np.float64(e[i, np.uintp(j)]) * np.float64(e[i, np.uintp(j)])
            if in_single and kappa < 0:
                # So they do where float32 overflows and numbers are infinite, or none at all.
                near = p == 0 or -kappa * p < FAR_TANGENT * max(h, 0.0) ** 2
                far[i, f] = not near
                if not near:
                    count += 1
                    continue
            u = _stretch(kappa, p, h)
            kept[i, f, 0], kept[i, f, 1], kept[i, f, 2] = p, u, h
            # At κ = 0 the weight is the height, and may be 0.
            scale = 0.5 if kappa == 0 else 0.5 * weight[i] * sign * u
            for j in range(start, end):
                out[i, np.uintp(j)] = scale * e[i, np.uintp(j)]
    return count


@compiled
def _lower_backward(
    sums: Array,
    factors: Factors,
    weight: Array,
    kept: Array,
    far: Array,
    of_far: bool,
    grad: Array,
    by_sums: Array,
    by_kappa: Array,
) -> None:
    """Gradients by the sums that are far, or by those that are not; others stay as they are."""
    (rows, dim), ends, kappas = grad.shape, factors.ends, factors.kappas
    for i in range(rows):
        sign = -1.0 if weight[i] < 0 else 1.0
        for f in range(kappas.shape[0]):
            if far[i, f] != of_far:
                continue
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            p, u, h = kept[i, f, 0], kept[i, f, 1], kept[i, f, 2]
            along = 0.0
            for j in range(start, end):
                along += np.float64(grad[i, np.uintp(j)]) * np.float64(sums[i, np.uintp(j)])
            pull = 0.5 * abs(weight[i]) * along
            rise, turn, bend = _slopes(kappa, p, h, u, pull)
            by_kappa[f] += bend
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            for j in range(start, end):
                by_sums[i, np.uintp(j)] = scale * grad[i, np.uintp(j)] + turn * sums[i, np.uintp(j)]
            by_sums[i, dim + f] = -sign * rise


@compiled
def _lower_far(
    first: int,
    last: int,
    matrix: Matrix,
    v: Array,
    lifts: Array,
    factors: Factors,
    weight: Array,
    far: Array,
    out: Array,
    kept: Array,
    wide: Array,
) -> None:
    """Far rows of first to last: lifted, summed (the sums stay in `wide`) and lowered in float64."""
    ends, kappas = factors.ends, factors.kappas
    for i in range(first, last):
        sign = -1.0 if weight[i] < 0 else 1.0
        for f in range(kappas.shape[0]):
            if not far[i, f]:
                continue
            start, end = ends[f], ends[f + 1]
            h = 0.0
            wide[i, start:end] = 0
            for entry in range(matrix.starts[i], matrix.starts[i + 1]):
                row, a = np.uintp(matrix.columns[entry]), np.float64(matrix.values[entry])
                h += a * lifts[row, f, 2]
                for j in range(start, end):
                    wide[i, np.uintp(j)] += 2 * a * lifts[row, f, 1] * v[row, np.uintp(j)]
            p, h = 0.0, sign * h
            for j in range(start, end):
                p += wide[i, np.uintp(j)] * wide[i, np.uintp(j)]
            u = _stretch(kappas[f], p, h)
            kept[i, f, 0], kept[i, f, 1], kept[i, f, 2] = p, u, h
            for j in range(start, end):
                out[i, np.uintp(j)] = 0.5 * weight[i] * sign * u * wide[i, np.uintp(j)]


@compiled
def _add_far(first: int, last: int, transpose: Matrix, far: Array, ends: Array, by_e: Array, out: Array) -> None:
    """Add rows first to last of Aᵀ · by_e, of which only far rows count."""
    dim = ends[-1]
    for j in range(first, last):
        for entry in range(transpose.starts[j], transpose.starts[j + 1]):
            row, a = np.uintp(transpose.columns[entry]), np.float64(transpose.values[entry])
            for f in range(far.shape[1]):
                if far[row, f]:
                    out[j, dim + f] += a * by_e[row, dim + f]
                    for c in range(ends[f], ends[f + 1]):
                        out[j, np.uintp(c)] += a * by_e[row, np.uintp(c)]


class Lowered(NamedTuple):
    """Lowered rows and what the backward needs."""

    rows: Tensor  # (M, D)
    kept: Tensor  # |n|², ρ/|n| and h, (M, F, 3)
    far: Tensor  # whether a row is far in a factor, (M, F)
    wide: Tensor  # sums of far rows in float64, (M, D); without far rows (0, D)


def lower(sums: Tensor, matrix: Tensor, v: Tensor, lifts: Tensor, factors: Factors, weight: Tensor) -> Lowered:
    """Weighted sums of lifted rows, lowered in v's dtype, (M, D+F) → (M, D).

    Args:
        sums: A · lift(v), (M, D+F).
        matrix: A, (M, N), CSR.
        v: Tangent vectors at the origin, (N, D).
        lifts: What `kappagcn.kernels.lifting.lift` kept of them, (N, F, 3).
        factors: Dimensions and curvatures of the factors.
        weight: Sums of the rows of A, (M,).
    """
    (m, _), dim, count = sums.shape, v.shape[1], len(factors.kappas)
    lowered, far = v.new_empty(m, dim), v.new_zeros(m, count, dtype=torch.bool)
    kept = v.new_empty(m, count, 3, dtype=torch.float64)
    in_single = sums.dtype == torch.float32
    e, w, out, own, marks = as_array(sums), as_array(weight), lowered.numpy(), kept.numpy(), far.numpy()
    counts: list[int] = []
    in_blocks(m, lambda b, _: counts.append(_lower(e[b], factors, w[b], in_single, out[b], own[b], marks[b])))
    wide = v.new_empty(m if sum(counts) else 0, dim, dtype=torch.float64)
    if len(wide):
        rows = Matrix.of(matrix), as_array(v), lifts.numpy()
        exact = wide.numpy()
        in_blocks(m, lambda b, _: _lower_far(b.start, b.stop, *rows, factors, w, marks, out, own, exact))
    return Lowered(lowered, kept, far, wide)


def lower_backward(
    sums: Tensor, lowered: Lowered, factors: Factors, weight: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Array]:
    """Gradients by sums, (M, D+F), by far ones in float64 apart, and by the curvatures, (F,)."""
    by_k = block_sums(len(grad), len(factors.kappas))
    by_sums, by_far = torch.zeros_like(sums), sums.new_empty(len(lowered.wide), sums.shape[1], dtype=torch.float64)
    kept, far, w, g = lowered.kept.numpy(), lowered.far.numpy(), as_array(weight), as_array(grad)
    e, near_out, wide, far_out = as_array(sums), by_sums.numpy(), lowered.wide.numpy(), by_far.numpy()

    def work(b: slice, n: int) -> None:
        _lower_backward(e[b], factors, w[b], kept[b], far[b], False, g[b], near_out[b], by_k[n])
        if len(wide):
            _lower_backward(wide[b], factors, w[b], kept[b], far[b], True, g[b], far_out[b], by_k[n])

    in_blocks(len(grad), work)
    return by_sums, by_far, by_k.sum(0)


def add_far(by_lifted: Tensor, transpose: Tensor, far: Tensor, by_far: Tensor, factors: Factors) -> Tensor:
    """Aᵀ · by_sums, (N, D+F), with the share of far sums added, in float64 then."""
    if not len(by_far):
        return by_lifted
    by_lifted, matrix = by_lifted.double(), Matrix.of(transpose)
    total, marks, exact = by_lifted.numpy(), far.numpy(), by_far.numpy()
    in_blocks(len(total), lambda b, _: _add_far(b.start, b.stop, matrix, marks, factors.ends, exact, total))
    return by_lifted
