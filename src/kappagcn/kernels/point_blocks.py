"""Points in the form that compiled loops over pairs take: directions, radii and sines in blocks; their gradients.

Points are kept in blocks with zeros behind the last one, (blocks, D, BLOCK). So the compiler knows how far apart
columns are, sees that they do not overlap, and no pairs are left over that do not fill its vector registers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import aligned_zeros, loop
from kappagcn.kernels.intrinsics import borrowed
from kappagcn.kernels.pair_limits import CURVED, FARTHEST, TURN, TURN_SERIES
from kappagcn.kernels.vector_math import inlined

__all__ = ["Points", "Rows", "Work", "borrowed_points", "borrowed_work"]

Array = NDArray[Any]
BLOCK = 128  # points of a block: the data of their pairs with one point fit into the first cache
STEP = 32  # granularity of the first point of a block that is used
CHUNKS = 8  # chunks of rows; their sums are added in order, so threads do not change digits
ALONE = 40_000  # pairs that one thread finishes before another one has started

B1, B2, B3, B4, B5 = TURN_SERIES

# Offsets into arrays of several blocks: numbers per point and factor; per pair and factor; per pair.
RADIUS, SINE, P, Q = (n * BLOCK for n in range(4))
GAP, TURNED, SQUARE, SLOPE, BENT = (n * BLOCK for n in range(5))
TOTAL, PULL, WEIGHT, HAVERSINE, OWN, OTHER = (n * BLOCK for n in range(6))


class Points(NamedTuple):
    """Numbers per point in blocks of float64, and per factor."""

    u: Array  # directions, (blocks, D·BLOCK)
    numbers: Array  # r, sine, p and q, (blocks, F, 4·BLOCK)
    ends: Array  # bounds of the factors among the directions, (F + 1,)
    kappas: Array  # (F,)
    turns: Array  # ∂T/∂r of p_i q_j + q_i p_j, q_i q_j and p_i p_j, (F, 3)
    bends: Array  # ∂sine/∂κ, (F, N)


class Work(NamedTuple):
    """Temporary arrays for the pairs of one point with those of a block."""

    parts: Array  # numbers per pair and factor, (F, 5·BLOCK)
    pairs: Array  # numbers per pair, (6·BLOCK,)
    own: Array  # direction of the point, (D,)
    by_own: Array  # gradient by that direction


@inlined
def borrowed_points(points: Points) -> Points:
    """The same arrays without owners, see `borrowed`."""
    u, numbers, ends, kappas, turns, bends = points
    return Points(borrowed(u), borrowed(numbers), borrowed(ends), borrowed(kappas), borrowed(turns), borrowed(bends))


@inlined
def borrowed_work(work: Work) -> Work:
    """The same arrays without owners, see `borrowed`."""
    return Work(borrowed(work.parts), borrowed(work.pairs), borrowed(work.own), borrowed(work.by_own))


class Rows:
    """Points in the form that loops over pairs take, and gradients by tangent vectors from those by that form.

    Args:
        v: Tangent vectors at the origin, (N, D).
        ends: Bounds of the factors among the columns, (F + 1,).
        kappas: Curvatures of the factors, (F,).
    """

    def __init__(self, v: Array, ends: Array, kappas: Array) -> None:
        self.count, self.dims, self.ends, self.kappas = len(v), v.shape[1], ends, kappas
        blocks = -(-self.count // BLOCK)
        u, self.turns = aligned_zeros(blocks, self.dims * BLOCK), np.empty((len(kappas), 3))
        self.length, self.r, self.sine, self.cosine, self.p, self.q, self.bends = np.zeros(
            (7, len(kappas), blocks * BLOCK)
        )
        _take_directions(np.ascontiguousarray(v, np.float64), ends, u, self.length)
        for f, kappa in enumerate(kappas):
            self._fill(f, self.length[f], float(kappa))
        numbers = _blocks_of(np.stack([self.r, self.sine, self.p, self.q], axis=1))
        self.points = Points(u, numbers, ends, kappas, self.turns, self.bends)

    def _fill(self, f: int, length: Array, kappa: float) -> None:
        s = math.sqrt(abs(kappa))
        r = 2 * length
        if kappa < 0:
            r = np.minimum(r, FARTHEST / s)
        self.r[f] = r
        far = kappa < 0 and len(r) and s * r.max() > CURVED
        self.sine[f], self.cosine[f] = _sine(r, kappa), _cosine(r, kappa)
        self.bends[f] = _sine_by_kappa(r, kappa, self.sine[f], self.cosine[f])
        if far:
            grown = np.exp(s * r / 2)
            self.p[f], self.q[f], self.turns[f] = grown / (2 * s), 1 / grown, (s, 0, 0)
        else:
            self.p[f], self.q[f], self.turns[f] = _sine(r / 2, kappa), _cosine(r / 2, kappa), (0, 1, kappa)

    def work(self) -> Work:
        """Temporary arrays for one thread."""
        factors, width, dims = len(self.kappas), 5 * BLOCK, self.dims
        space = aligned_zeros((5 * factors + 6) * BLOCK + 2 * dims)
        parts, pairs, own = space[: factors * width], space[factors * width : -2 * dims], space[-2 * dims :]
        return Work(parts.reshape(factors, width), pairs, own[:dims], own[dims:])

    def gradients(self, by_u: Array, by_numbers: Array, by_kappa: Array) -> tuple[Array, Array]:
        """Gradients by v, (N, D), and κ, (F,), from those by directions, radii and sines, and direct ones by κ.

        Each is a sum over the first dimension.
        """
        by_v, total = np.empty((self.count, self.dims)), by_kappa.sum(0)
        numbers = self.length, self.r, self.sine, self.cosine, self.bends
        _add_by_vectors(self.points.u, numbers, self.ends, by_u, by_numbers, by_v, total)
        return by_v, total


@loop
def _take_directions(v: Array, ends: Array, u: Array, lengths: Array) -> None:
    """Directions of vectors, in blocks, and their lengths, (F, N); the origin's direction is 0."""
    n, scale = v.shape[0], np.empty(BLOCK)
    for block in range(u.shape[0]):
        left, columns = block * BLOCK, u[block]
        for i in range(left, min(n, left + BLOCK)):
            for d in range(v.shape[1]):
                columns[d * BLOCK + i - left] = v[i, d]
        for f in range(ends.shape[0] - 1):
            scale[:] = 0.0
            for d in range(ends[f], ends[f + 1]):
                column = columns[d * BLOCK :]
                for j in range(BLOCK):
                    scale[j] += column[j] * column[j]
            for j in range(BLOCK):
                length = math.sqrt(scale[j])
                lengths[f, left + j] = length
                scale[j] = 1.0 if length == 0 else length
            for d in range(ends[f], ends[f + 1]):
                column = columns[d * BLOCK :]
                for j in range(BLOCK):
                    column[j] /= scale[j]


@loop
def _add_by_vectors(
    u: Array,
    numbers: tuple[Array, Array, Array, Array, Array],
    ends: Array,
    by_u: Array,
    by_numbers: Array,
    by_v: Array,
    by_kappa: Array,
) -> None:
    """Gradients by vectors, into `by_v`, and by κ through the sines, added to `by_kappa`; see `Rows.gradients`."""
    n, (all_lengths, radii, sines, cosines, bends) = by_v.shape[0], numbers
    columns, along, by_r, by_sine = np.empty(u.shape[1]), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for block in range(u.shape[0]):
        own, left = u[block], block * BLOCK
        columns[:] = 0.0
        for part in range(by_u.shape[0]):
            more = by_u[part, block]
            for j in range(columns.shape[0]):
                columns[j] += more[j]
        for f in range(by_kappa.shape[0]):
            along[:], by_r[:], by_sine[:] = 0.0, 0.0, 0.0
            for part in range(by_numbers.shape[0]):
                more = by_numbers[part, block, f]
                for j in range(BLOCK):
                    by_r[j] += more[j]
                    by_sine[j] += more[BLOCK + j]
            for d in range(ends[f], ends[f + 1]):
                for j in range(BLOCK):
                    along[j] += own[d * BLOCK + j] * columns[d * BLOCK + j]
            lengths, r, sine, cosine = all_lengths[f, left:], radii[f, left:], sines[f, left:], cosines[f, left:]
            bend, bent = bends[f, left:], 0.0
            for j in range(BLOCK):
                bent += bend[j] * by_sine[j]
                # Points beyond the limit count as lying there, and get no gradient.
                by_r[j] = 2 * (by_r[j] + cosine[j] * by_sine[j]) if 2 * lengths[j] <= r[j] else 0.0
                # P/|v|, and at the origin, which has no direction, its limit: by_u alone is right there.
                by_sine[j] = sine[j] / lengths[j] if lengths[j] != 0 else 2.0
            by_kappa[f] += bent
            for d in range(ends[f], ends[f + 1]):
                for j in range(BLOCK):
                    x = own[d * BLOCK + j]
                    columns[d * BLOCK + j] = by_r[j] * x + by_sine[j] * (columns[d * BLOCK + j] - along[j] * x)
        for i in range(left, min(n, left + BLOCK)):
            for d in range(by_v.shape[1]):
                by_v[i, d] = columns[d * BLOCK + i - left]


def _blocks_of(rows: Array) -> Array:
    """Rows of numbers, a column for each point, in blocks of points: (..., R, N) → (blocks, ..., R·BLOCK)."""
    *outer, count, n = rows.shape
    blocks = aligned_zeros(n // BLOCK, *outer, count, BLOCK)
    blocks[:] = np.moveaxis(rows.reshape(*outer, count, n // BLOCK, BLOCK), -2, 0)
    return blocks.reshape(n // BLOCK, *outer, count * BLOCK)


def _sine(x: Array, kappa: float) -> Array:
    s = math.sqrt(abs(kappa))
    sine: Array = x if kappa == 0 else (np.sinh(s * x) if kappa < 0 else np.sin(s * x)) / s
    return sine


def _cosine(x: Array, kappa: float) -> Array:
    s = math.sqrt(abs(kappa))
    cosine: Array = np.cosh(s * x) if kappa < 0 else np.cos(s * x)
    return cosine


def _sine_by_kappa(x: Array, kappa: float, sine: Array, cosine: Array) -> Array:
    z = np.clip(kappa * x * x, -TURN, TURN)
    near = x * x * x * (B1 + z * (B2 + z * (B3 + z * (B4 + z * B5))))
    return near if kappa == 0 else np.where(np.abs(kappa) * x * x < TURN, near, (x * cosine - sine) / (2 * kappa))
