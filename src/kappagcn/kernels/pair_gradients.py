"""Gradients of a sum over pairs by both points and by κ, from its derivatives by the squared distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import aligned_zeros
from kappagcn.kernels.intrinsics import borrowed
from kappagcn.kernels.pair_limits import TURN
from kappagcn.kernels.point_blocks import (
    B1,
    B2,
    B3,
    B4,
    B5,
    BENT,
    BLOCK,
    CHUNKS,
    GAP,
    OTHER,
    OWN,
    PULL,
    RADIUS,
    SINE,
    SLOPE,
    TURNED,
    P,
    Points,
    Q,
    Rows,
    Work,
)
from kappagcn.kernels.vector_math import inlined

__all__ = ["Sums", "add_gradients", "added", "no_sums", "of_chunk"]

Array = NDArray[Any]
NOTHING = (0.0, np.inf, 0.0, 0.0)  # initial totals, of no pairs
BY_RADIUS, BY_SINE = (n * BLOCK for n in range(2))


class Sums(NamedTuple):
    """Sums over pairs."""

    by_u: Array  # gradients by directions, in blocks, without the factor P, which is 0 at the origin
    by_numbers: Array  # gradients by r and by the sine, in blocks
    by_kappa: Array
    totals: Array  # the objective, the smallest and largest d²w, and the objective without smoothing


@inlined
def _add_by_directions(m: int, own: Array, columns: Array, pairs: Array, by_own: Array, by_columns: Array) -> None:
    """Gradients by the directions of point i, into `by_own`, and of m others, five columns at a time as in `_gaps`."""
    dims = own.shape[0]
    for d in range(0, dims - 4, 5):
        a, b, c, e, f = own[d], own[d + 1], own[d + 2], own[d + 3], own[d + 4]
        column, by_column = columns[d * BLOCK :], by_columns[d * BLOCK :]
        by_a, by_b, by_c, by_e, by_f = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(min(m, BLOCK)):
            mine, other = pairs[OWN + j], pairs[OTHER + j]
            x, y, z = a - column[j], b - column[BLOCK + j], c - column[2 * BLOCK + j]
            p, q = e - column[3 * BLOCK + j], f - column[4 * BLOCK + j]
            by_a += mine * x
            by_b += mine * y
            by_c += mine * z
            by_e += mine * p
            by_f += mine * q
            by_column[j] -= other * x
            by_column[BLOCK + j] -= other * y
            by_column[2 * BLOCK + j] -= other * z
            by_column[3 * BLOCK + j] -= other * p
            by_column[4 * BLOCK + j] -= other * q
        by_own[d], by_own[d + 1], by_own[d + 2], by_own[d + 3], by_own[d + 4] = by_a, by_b, by_c, by_e, by_f
    for d in range(dims - dims % 5, dims - 1, 2):
        a, b, column, by_column = own[d], own[d + 1], columns[d * BLOCK :], by_columns[d * BLOCK :]
        by_a, by_b = 0.0, 0.0
        for j in range(min(m, BLOCK)):
            x, y = a - column[j], b - column[BLOCK + j]
            by_a += pairs[OWN + j] * x
            by_b += pairs[OWN + j] * y
            by_column[j] -= pairs[OTHER + j] * x
            by_column[BLOCK + j] -= pairs[OTHER + j] * y
        by_own[d], by_own[d + 1] = by_a, by_b
    if dims % 5 % 2:
        d, by_a = dims - 1, 0.0
        a, column, by_column = own[d], columns[d * BLOCK :], by_columns[d * BLOCK :]
        for j in range(min(m, BLOCK)):
            x = a - column[j]
            by_a += pairs[OWN + j] * x
            by_column[j] -= pairs[OTHER + j] * x
        by_own[d] = by_a


@inlined
def _add_by_numbers(
    m: int,
    kappa: float,
    r_i: float,
    sine_i: float,
    by_q: float,
    by_p: float,
    others: Array,
    pairs: Array,
    parts: Array,
    by_others: Array,
) -> tuple[float, float, float]:
    """Add gradients by radii and sines of m others; returns those by κ, and by radius and sine of point i.

    The cosine of (r_i − r_j)/2 is by_q q_j + by_p p_j, twice ∂T/∂r. The gradient by S is 4x; factors that are the same
    for all pairs are taken out of the loop.
    """
    half, quarter = 0.5 / kappa if kappa != 0 else 0.0, 0.25 * kappa
    four_q, four_p, twice = 4 * by_q, 4 * by_p, 2 * sine_i
    bent, turning, outward, wide = 0.0, 0.0, 0.0, 0.0
    for j in range(min(m, BLOCK)):
        turn, sine_j, delta = parts[TURNED + j], others[SINE + j], r_i - others[RADIUS + j]
        x = pairs[PULL + j] * parts[SLOPE + j]
        cosine = four_q * others[Q + j] + four_p * others[P + j]  # 4 times
        square = delta * delta
        z = quarter * square
        series = delta * square * (B1 + z * (B2 + z * (B3 + z * (B4 + z * B5))))
        by_kappa = series if abs(z) < TURN else (delta * cosine - 8 * turn) * half  # 8 ∂T/∂κ
        turned, widened = x * turn, x * parts[GAP + j]
        bent += pairs[PULL + j] * parts[BENT + j]
        turning += turned * by_kappa
        outward += turned * cosine
        wide += widened * sine_j
        by_others[BY_RADIUS + j] -= turned * cosine
        by_others[BY_SINE + j] += widened * sine_i
        pairs[OWN + j], pairs[OTHER + j] = 2 * x * sine_j, twice * x
    return 4 * bent + turning, outward, wide


@inlined
def borrowed_sums(sums: Sums) -> Sums:
    return Sums(borrowed(sums.by_u), borrowed(sums.by_numbers), borrowed(sums.by_kappa), borrowed(sums.totals))


@inlined
def add_gradients(
    i: int,
    u: Array,
    numbers: Array,
    first: int,
    m: int,
    once: bool,
    points: Points,
    sums: Sums,
    by_u: Array,
    by_numbers: Array,
    work: Work,
) -> None:
    """Add gradients by both points and κ for point i and m of a block, from derivatives by d² in `PULL`.

    Gradients are by both points, or without `once` by the other one alone; the block's go into `by_u` and `by_numbers`.
    """
    pairs, block, place = work.pairs, i // BLOCK, i % BLOCK
    for f in range(points.kappas.shape[0]):
        kappa, start, stop = points.kappas[f], points.ends[f], points.ends[f + 1]
        mine, by_mine = points.numbers[block, f, place:], sums.by_numbers[block, f, place:]
        crossed, straight, squared = points.turns[f, 0], points.turns[f, 1], points.turns[f, 2]
        by_q, by_p = crossed * mine[P] + straight * mine[Q], crossed * mine[Q] + squared * mine[P]
        others, by_others = numbers[f, first:], by_numbers[f, first:]
        curving, outward, wide = _add_by_numbers(
            m, kappa, mine[RADIUS], mine[SINE], by_q, by_p, others, pairs, work.parts[f], by_others
        )
        columns, by_columns = u[start * BLOCK + first :], by_u[start * BLOCK + first :]
        _add_by_directions(m, work.own[start:stop], columns, pairs, work.by_own[start:stop], by_columns)
        if once:
            by_mine[BY_RADIUS] += outward
            by_mine[BY_SINE] += wide
            for d in range(start, stop):
                sums.by_u[block, d * BLOCK + place] += work.by_own[d]
        else:  # point i gets no gradient, but its sine depends on κ
            curving += wide * points.bends[f, i]
        sums.by_kappa[f] += curving


def no_sums(rows: Rows, *, slopes: bool, chunks: int = CHUNKS) -> Sums:
    """Zeros for chunks of rows, with space for gradients or without."""
    blocks, f = len(rows.points.u) if slopes else 0, len(rows.kappas)
    return Sums(
        aligned_zeros(chunks, blocks, rows.dims * BLOCK),
        aligned_zeros(chunks, blocks, f, 2 * BLOCK),
        np.zeros((chunks, f)),
        np.tile(NOTHING, (chunks, 1)),
    )


def of_chunk(sums: Sums, chunk: int) -> Sums:
    """Those of one chunk."""
    return Sums(sums.by_u[chunk], sums.by_numbers[chunk], sums.by_kappa[chunk], sums.totals[chunk])


def added(rows: Rows, sums: Sums, *, slopes: bool) -> tuple[Array, Array, Array]:
    """Sums of all chunks, in order: totals, gradients by v and by κ."""
    totals = sums.totals
    whole = np.array([totals[:, 0].sum(), totals[:, 1].min(), totals[:, 2].max(), totals[:, 3].sum()])
    if not slopes:
        return whole, np.empty((0, 0)), np.empty(0)
    return whole, *rows.gradients(sums.by_u, sums.by_numbers, sums.by_kappa)
