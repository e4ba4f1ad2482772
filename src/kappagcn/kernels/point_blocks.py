"""Points in the form that compiled loops over pairs take: directions, radii and sines in blocks; their gradients.

Points are kept in blocks with zeros behind the last one, (blocks, D, BLOCK). So the compiler knows how far apart
columns are, sees that they do not overlap, and no pairs are left over that do not fill its vector registers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import aligned_zeros
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
        self.count, self.ends, self.kappas = len(v), ends, kappas
        padded = -(-self.count // BLOCK) * BLOCK
        self.u, self.turns = np.zeros((v.shape[1], padded)), np.empty((len(kappas), 3))
        self.r, self.sine, self.cosine, self.p, self.q, self.bends = (np.empty((len(kappas), padded)) for _ in range(6))
        self.length = np.zeros((len(kappas), padded))
        for f, kappa in enumerate(kappas):
            own = v[:, ends[f] : ends[f + 1]].T.astype(np.float64)
            length = np.sqrt((own * own).sum(0))
            self.u[ends[f] : ends[f + 1], : self.count] = own / np.where(length == 0, 1, length)
            self.length[f, : self.count] = length
            self._fill(f, self.length[f], float(kappa))
        numbers = _blocks_of(np.stack([self.r, self.sine, self.p, self.q], axis=1))
        self.points = Points(_blocks_of(self.u), numbers, ends, kappas, self.turns, self.bends)

    def _fill(self, f: int, length: Array, kappa: float) -> None:
        s = math.sqrt(abs(kappa))
        r = 2 * length
        if kappa < 0:
            r = np.minimum(r, FARTHEST / s)
        self.r[f], self.length[f] = r, length
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
        parts, pairs, dims = aligned_zeros(len(self.kappas), 5 * BLOCK), aligned_zeros(6 * BLOCK), len(self.u)
        return Work(parts, pairs, np.empty(dims), np.empty(dims))

    def gradients(self, by_u: Array, by_numbers: Array, by_kappa: Array) -> tuple[Array, Array]:
        """Gradients by v, (N, D), and κ, (F,), from those by directions, radii and sines, and direct ones by κ."""
        by_u, by_v = _rows_of(by_u), np.empty_like(self.u)
        by_r, by_sine = np.moveaxis(_rows_of(by_numbers), 1, 0)
        for f in range(len(self.kappas)):
            columns = slice(self.ends[f], self.ends[f + 1])
            u, g, r, length = self.u[columns], by_u[columns], self.r[f], self.length[f]
            inside = 2 * length <= r  # points beyond the limit count as lying there, and get no gradient
            # P/|v|, and at the origin, which has no direction, its limit: by_u alone is right there.
            widening = np.where(length == 0, 2, self.sine[f] / np.where(length == 0, 1, length))
            outward = 2 * inside * (by_r[f] + self.cosine[f] * by_sine[f])
            by_v[columns] = outward * u + widening * (g - (u * g).sum(0) * u)
            by_kappa[f] += (self.bends[f] * by_sine[f]).sum()
        return by_v[:, : self.count].T, by_kappa


def _blocks_of(rows: Array) -> Array:
    """Rows of numbers, a column for each point, in blocks of points: (..., R, N) → (blocks, ..., R·BLOCK)."""
    *outer, count, n = rows.shape
    blocks = aligned_zeros(n // BLOCK, *outer, count, BLOCK)
    blocks[:] = np.moveaxis(rows.reshape(*outer, count, n // BLOCK, BLOCK), -2, 0)
    return blocks.reshape(n // BLOCK, *outer, count * BLOCK)


def _rows_of(blocks: Array) -> Array:
    """The inverse of `_blocks_of`: (blocks, ..., R·BLOCK) → (..., R, N)."""
    count, *outer, width = blocks.shape
    rows = np.moveaxis(blocks.reshape(count, *outer, width // BLOCK, BLOCK), 0, -2)
    return rows.reshape(*outer, width // BLOCK, count * BLOCK)


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
    near = x**3 * (B1 + z * (B2 + z * (B3 + z * (B4 + z * B5))))
    return near if kappa == 0 else np.where(np.abs(kappa) * x * x < TURN, near, (x * cosine - sine) / (2 * kappa))
