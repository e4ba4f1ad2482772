"""Distances of pairs of points compiled by numba, from tangent vectors at the origin, in blocks that stay in the cache.

With r = 2|v|, u = v/|v| and P = sin_κ(r), a pair of points of one factor has (the κ-haversine)

    S = sin_κ²(d/2) = T² + P_i P_j |u_i − u_j|²/4,   T = sin_κ((r_i − r_j)/2),   d² = 4 S arsinc²(κS),

all of it analytic in S, so nothing is singular where points coincide. T comes from two numbers of each row,
T = p_i q_j − q_i p_j: half-angle sines and cosines, or for far points of a hyperbolic space exponentials, which do not
cancel. Differences of directions are taken one by one in float64: a Gram matrix would lose them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import parallel_for
from kappagcn.kernels.pair_limits import LEAST_GAP, NEAR, SQUARE_SERIES
from kappagcn.kernels.point_blocks import (
    ALONE,
    BENT,
    BLOCK,
    CHUNKS,
    GAP,
    HAVERSINE,
    SINE,
    SLOPE,
    SQUARE,
    TOTAL,
    TURNED,
    P,
    Points,
    Q,
    Rows,
    Work,
    borrowed_points,
    borrowed_work,
)
from kappagcn.kernels.vector_math import (
    LOG2,
    TAN_PI_8,
    artanc_small,
    atanc_small,
    compiled,
    exponent_and_mantissa,
    inlined,
)

__all__ = ["distances_from", "squared_distances", "take_direction"]

Array = NDArray[Any]
HUGE = 1e100  # value of y = −κS above which √(y(1 + y)) is y

Q0, Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9 = SQUARE_SERIES


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

    With y = −κS and w = √(y(1 + y)): √−κ d/2 = arsinh √y = ½ log(1 + 2(y + w)). In two loops: the steps for one pair
    follow from each other, and a processor overlaps more pairs of a shorter loop.
    """
    over = 1 / kappa
    for j in range(min(m, BLOCK)):
        y = -kappa * pairs[HAVERSINE + j]
        bounded = y if y < HUGE else HUGE
        root = math.sqrt(bounded * (1 + bounded))
        w = root if y < HUGE else y
        power, mantissa = exponent_and_mantissa(1 + 2 * (y + w))
        inverse = 1 / (w * (mantissa + 1))
        parts[SQUARE + j] = (mantissa - 1) * (inverse * w)
        parts[SLOPE + j] = inverse * (mantissa + 1)
        parts[BENT + j] = 0.5 * LOG2 * power
    for j in range(min(m, BLOCK)):
        f = parts[SQUARE + j]
        arc = parts[BENT + j] + f * artanc_small(f * f)
        square, slope = -over * arc * arc, arc * parts[SLOPE + j]
        parts[SQUARE + j], parts[SLOPE + j] = square, slope
        parts[BENT + j] = over * (pairs[HAVERSINE + j] * slope - square)


@inlined
def spherical_arcs(m: int, kappa: float, pairs: Array, parts: Array) -> None:
    """`hyperbolic_arcs` for κ > 0: arcsin √z, z = κS, by an arc tangent measured from the nearest of 0, π/4 and π/2."""
    over = 1 / kappa
    for j in range(min(m, BLOCK)):
        z = kappa * pairs[HAVERSINE + j]
        z = 1 - LEAST_GAP if z > 1 - LEAST_GAP else z
        w = math.sqrt(z * (1 - z))
        cosine = 1 - z if z < 0.5 else z  # squared; w/cosine is the tangent
        middle = w > TAN_PI_8 * cosine
        above, below = (w - cosine if middle else w), (w + cosine if middle else cosine)
        inverse = 1 / (w * below)
        tangent = above * (inverse * w)
        parts[SQUARE + j] = tangent if z < 0.5 else -tangent
        parts[SLOPE + j] = inverse * below
        parts[BENT + j] = 0.25 * math.pi if middle else (0.0 if z < 0.5 else 0.5 * math.pi)
    for j in range(min(m, BLOCK)):
        tangent = parts[SQUARE + j]
        arc = parts[BENT + j] + tangent * atanc_small(tangent * tangent)
        square, slope = over * arc * arc, arc * parts[SLOPE + j]
        parts[SQUARE + j], parts[SLOPE + j] = square, slope
        parts[BENT + j] = over * (pairs[HAVERSINE + j] * slope - square)


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
    """|u_i − u_j|² of m pairs, five columns at a time to load and store the sums less often."""
    dims = own.shape[0]
    for j in range(min(m, BLOCK) if dims < 5 else 0):
        parts[GAP + j] = 0.0
    for d in range(0, dims - 4, 5):
        a, b, c, e, f, column = own[d], own[d + 1], own[d + 2], own[d + 3], own[d + 4], columns[d * BLOCK :]
        for j in range(min(m, BLOCK)):
            x, y, z = a - column[j], b - column[BLOCK + j], c - column[2 * BLOCK + j]
            p, q = e - column[3 * BLOCK + j], f - column[4 * BLOCK + j]
            gap = (x * x + y * y) + (z * z + (p * p + q * q))
            parts[GAP + j] = gap + (parts[GAP + j] if d > 0 else 0.0)
    for d in range(dims - dims % 5, dims - 1, 2):
        a, b, column = own[d], own[d + 1], columns[d * BLOCK :]
        for j in range(min(m, BLOCK)):
            x, y = a - column[j], b - column[BLOCK + j]
            parts[GAP + j] += x * x + y * y
    if dims % 5 % 2:
        a, column = own[-1], columns[(dims - 1) * BLOCK :]
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
def squared_distances(i: int, u: Array, numbers: Array, first: int, m: int, points: Points, work: Work) -> None:
    """Write d² of point i and a block into `TOTAL`, and values for derivatives into the parts.

    Args:
        i: The point; its direction is in `work`.
        u: Directions of the block's points, (D·BLOCK,).
        numbers: Their other numbers, (F, 4·BLOCK).
        first: The first point of the block that is used.
        m: Number of points that are used.
        points: All points.
        work: Temporary arrays.
    """
    pairs = work.pairs
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
            squared_distances(sources[place], points.u[block], points.numbers[block], 0, BLOCK, points, work)
            start = block * BLOCK
            for j in range(min(n - start, BLOCK)):
                square = work.pairs[TOTAL + j]
                distances[place, start + j] = 0.0 if square < 0 else math.sqrt(square)  # on spheres by rounding
        distances[place, sources[place]] = 0.0


def distances_from(rows: Rows, sources: Array) -> Array:
    """Distances of some points from all, (B, N)."""
    distances = np.empty((len(sources), rows.count))

    def work(chunk: int) -> None:
        _rows_of_distances(chunk, sources, rows.points, rows.work(), distances)

    parallel_for(CHUNKS, work, threads=1 if distances.size < ALONE else None)
    return distances
