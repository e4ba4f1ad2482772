"""Distances of pairs of points compiled by numba, from tangent vectors at the origin, in blocks that stay in the cache.

With r = 2|v|, u = v/|v| and P = sin_κ(r), a pair of points of one factor has (the κ-haversine)

    S = sin_κ²(d/2) = T² + P_i P_j |u_i − u_j|²/4,   T = sin_κ((r_i − r_j)/2),   d² = 4 S arsinc²(κS),

all of it analytic in S, so nothing is singular where points coincide. T comes from two numbers of each row,
T = p_i q_j − q_i p_j: half-angle sines and cosines, or for far points of a hyperbolic space exponentials, which do not
cancel. Differences of directions are taken one by one in float64: a Gram matrix would lose them.

Points are kept in blocks with zeros behind the last one, (blocks, D, BLOCK). So the compiler knows how far apart
columns are, sees that they do not overlap, and no pairs are left over that do not fill its vector registers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kappagcn.geometry.numerics import SERIES
from kappagcn.kernels.blocks import aligned_zeros, parallel_for
from kappagcn.kernels.intrinsics import borrowed
from kappagcn.kernels.vector_math import (
    LOG2,
    TAN_PI_8,
    artanc_small,
    atanc_small,
    compiled,
    exponent_and_mantissa,
    inlined,
)

__all__ = ["Rows", "distances_from"]

Array = NDArray[Any]
BLOCK = 128  # points of a block: what pairs with one point need fits the first cache
STEP = 32  # granularity of the first point of a block that is used
CHUNKS = 8  # chunks of rows; their sums are added in order, so threads do not change digits
FARTHEST = 340.0  # √−κ·r, beyond which a product of two sines overflows
CURVED = 1.0  # √−κ·r from which exponentials are better than half-angle formulas
NEAR = 0.02  # |κS| below which the terms of arsinc² and its derivative are exact to rounding
TURN = 0.05  # |κ|(Δr/2)² below which terms of ∂sin_κ/∂κ are
ALONE = 40_000  # pairs that one thread finishes before another one has started
LEAST_GAP = 1e-15  # smallest 1 − κS: at antipodes the distance has no derivative
HUGE = 1e100  # value of y = −κS above which √(y(1 + y)) is y

Q0, Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9 = SERIES["arsinc²"]
B1, B2, B3, B4, B5 = (n * c for n, c in enumerate(SERIES["sinc"][:6]) if n)

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

    parts: Array  # of each factor, (F, 5·BLOCK)
    pairs: Array  # (6·BLOCK,)
    own: Array  # direction of the point, (D,)
    by_own: Array  # gradient by it


@inlined
def borrowed_points(points: Points) -> Points:
    u, numbers, ends, kappas, turns, bends = points
    return Points(borrowed(u), borrowed(numbers), borrowed(ends), borrowed(kappas), borrowed(turns), borrowed(bends))


@inlined
def borrowed_work(work: Work) -> Work:
    return Work(borrowed(work.parts), borrowed(work.pairs), borrowed(work.own), borrowed(work.by_own))


@inlined
def near_square(z: float) -> tuple[float, float]:
    """arsinc²(z) and its derivative for |z| < NEAR."""
    top = 5 * Q5 + z * (6 * Q6 + z * (7 * Q7 + z * (8 * Q8 + z * (9 * Q9))))
    derivative = Q1 + z * (2 * Q2 + z * (3 * Q3 + z * (4 * Q4 + z * top)))
    top = Q5 + z * (Q6 + z * (Q7 + z * (Q8 + z * Q9)))
    return Q0 + z * (Q1 + z * (Q2 + z * (Q3 + z * (Q4 + z * top)))), derivative


@inlined
def hyperbolic_arcs(m: int, kappa: float, pairs: Array, parts: Array) -> None:
    """(d/2)² and its derivatives by S and by κ, from S of m pairs, for κ < 0.

    With y = −κS and w = √(y(1 + y)): √−κ d/2 = arsinh √y = ½ log(1 + 2(y + w)).
    """
    over = 1 / kappa
    for j in range(min(m, BLOCK)):
        s = pairs[HAVERSINE + j]
        y = -kappa * s
        bounded = y if y < HUGE else HUGE
        root = math.sqrt(bounded * (1 + bounded))
        w = root if y < HUGE else y
        power, mantissa = exponent_and_mantissa(1 + 2 * (y + w))
        inverse = 1 / (w * (mantissa + 1))
        f = (mantissa - 1) * (inverse * w)
        arc = 0.5 * LOG2 * power + f * artanc_small(f * f)
        square, slope = -over * arc * arc, arc * (inverse * (mantissa + 1))
        parts[SQUARE + j], parts[SLOPE + j], parts[BENT + j] = square, slope, over * (s * slope - square)


@inlined
def spherical_arcs(m: int, kappa: float, pairs: Array, parts: Array) -> None:
    """`hyperbolic_arcs` for κ > 0: arcsin √z, z = κS, by an arc tangent measured from the nearest of 0, π/4 and π/2."""
    over = 1 / kappa
    for j in range(min(m, BLOCK)):
        s = pairs[HAVERSINE + j]
        z = 1 - LEAST_GAP if kappa * s > 1 - LEAST_GAP else kappa * s
        w = math.sqrt(z * (1 - z))
        cosine = 1 - z if z < 0.5 else z  # squared; w/cosine is the tangent
        middle = w > TAN_PI_8 * cosine
        above, below = (w - cosine if middle else w), (w + cosine if middle else cosine)
        inverse = 1 / (w * below)
        tangent = above * (inverse * w)
        angle = tangent * atanc_small(tangent * tangent) + (0.25 * math.pi if middle else 0.0)
        arc = angle if z < 0.5 else 0.5 * math.pi - angle
        square, slope = over * arc * arc, arc * (inverse * below)
        parts[SQUARE + j], parts[SLOPE + j], parts[BENT + j] = square, slope, over * (s * slope - square)


@inlined
def near_arcs(m: int, kappa: float, pairs: Array, parts: Array) -> None:
    """`hyperbolic_arcs` for any κ by series, only for pairs with |κS| < NEAR, where the others lose digits."""
    for j in range(min(m, BLOCK)):
        s = pairs[HAVERSINE + j]
        z = kappa * s
        near = abs(z) < NEAR
        value, derivative = near_square(z)
        parts[SQUARE + j] = s * value if near else parts[SQUARE + j]
        parts[SLOPE + j] = value + z * derivative if near else parts[SLOPE + j]
        parts[BENT + j] = s * s * derivative if near else parts[BENT + j]


@inlined
def _gaps(m: int, own: Array, columns: Array, parts: Array) -> None:
    """|u_i − u_j|² of m pairs, two columns at a time to load and store the sums less often."""
    for j in range(min(m, BLOCK)):
        parts[GAP + j] = 0.0
    for d in range(0, own.shape[0] - 1, 2):
        a, b, column = own[d], own[d + 1], columns[d * BLOCK :]
        for j in range(min(m, BLOCK)):
            x, y = a - column[j], b - column[BLOCK + j]
            parts[GAP + j] += x * x + y * y
    if own.shape[0] % 2:
        a, column = own[-1], columns[(own.shape[0] - 1) * BLOCK :]
        for j in range(min(m, BLOCK)):
            parts[GAP + j] += (a - column[j]) * (a - column[j])


@inlined
def _haversines(
    m: int, kappa: float, p_i: float, q_i: float, quarter: float, others: Array, pairs: Array, parts: Array
) -> int:
    """T and S of m pairs; returns the number of pairs with |κS| < NEAR."""
    near = 0
    for j in range(min(m, BLOCK)):
        turn = p_i * others[Q + j] - q_i * others[P + j]
        s = turn * turn + quarter * others[SINE + j] * parts[GAP + j]
        near += 1 if abs(kappa * s) < NEAR else 0
        parts[TURNED + j], pairs[HAVERSINE + j] = turn, s
    return near


@inlined
def _add_squares(m: int, first: bool, pairs: Array, parts: Array) -> None:
    for j in range(min(m, BLOCK)):
        pairs[TOTAL + j] = 4 * parts[SQUARE + j] + (0.0 if first else pairs[TOTAL + j])


@inlined
def take_direction(i: int, points: Points, work: Work) -> None:
    """Copy the direction of point i into `work`."""
    for d in range(work.own.shape[0]):
        work.own[d] = points.u[i // BLOCK, d * BLOCK + i % BLOCK]


@inlined
def squared_distances(i: int, u: Array, numbers: Array, first: int, points: Points, work: Work) -> None:
    """Write d² of point i and a block into `TOTAL`, and values for derivatives into the parts.

    Args:
        i: The point; its direction is in `work`.
        u: Directions of the block's points, (D·BLOCK,).
        numbers: Their other numbers, (F, 4·BLOCK).
        first: The first point of the block that is used.
        points: All points.
        work: Temporary arrays.
    """
    pairs, m = work.pairs, BLOCK - first
    for f in range(points.kappas.shape[0]):
        kappa, parts, others = points.kappas[f], work.parts[f], numbers[f, first:]
        start, stop = points.ends[f], points.ends[f + 1]
        _gaps(m, work.own[start:stop], u[start * BLOCK + first :], parts)
        mine = points.numbers[i // BLOCK, f, i % BLOCK :]
        near = _haversines(m, kappa, mine[P], mine[Q], 0.25 * mine[SINE], others, pairs, parts)
        if near < m and kappa < 0:
            hyperbolic_arcs(m, kappa, pairs, parts)
        elif near < m:
            spherical_arcs(m, kappa, pairs, parts)
        if near:
            near_arcs(m, kappa, pairs, parts)
        _add_squares(m, f == 0, pairs, parts)


@compiled
def _rows_of_distances(first: int, sources: Array, owned: Points, space: Work, distances: Array) -> None:
    n, points, work = distances.shape[1], borrowed_points(owned), borrowed_work(space)
    for place in range(first, sources.shape[0], CHUNKS):
        take_direction(sources[place], points, work)
        for block in range(points.u.shape[0]):
            squared_distances(sources[place], points.u[block], points.numbers[block], 0, points, work)
            start = block * BLOCK
            for j in range(min(n - start, BLOCK)):
                square = work.pairs[TOTAL + j]
                distances[place, start + j] = 0.0 if square < 0 else math.sqrt(square)  # on spheres by rounding
        distances[place, sources[place]] = 0.0


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
    """The way back: (blocks, ..., R·BLOCK) → (..., R, N)."""
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


def distances_from(rows: Rows, sources: Array) -> Array:
    """Distances of some points from all, (B, N)."""
    distances = np.empty((len(sources), rows.count))

    def work(chunk: int) -> None:
        _rows_of_distances(chunk, sources, rows.points, rows.work(), distances)

    parallel_for(CHUNKS, work, alone=distances.size < ALONE)
    return distances
