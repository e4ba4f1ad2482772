r"""Distances of pairs of points, objectives over all pairs and their gradients, compiled by numba in one pass.

With r = 2|v|, u = v/|v| a pair of points of one factor has (geometry.md, the κ-haversine)

    S = sin_κ²(d/2) = T² + sin_κ(r_i) sin_κ(r_j) |u_i − u_j|²/4,   T = sin_κ((r_i − r_j)/2),   d² = 4 S arsinc²(κS),

all of it analytic in S, so nothing is singular where points coincide. T comes from two numbers of each point,
T = p_i q_j − q_i p_j: half-angle sines and cosines, or for far points of a hyperbolic space exponentials, which do not
cancel. Differences of directions are taken one by one in float64: a Gram matrix would lose them.

With w = 1/d_G² an objective adds up, for each pair,

    distortion   (d²w − 1)²
    relative     |d√w − 1|
    stress       (d√w − 1)²/w

Loops take one point and a block of others at a time, so that what is known of these pairs stays in the first cache.
Arrays have the factor behind the quantity: before a loop over factors LLVM asks once whether the arrays of a loop over
pairs overlap, and where rows of factors alternate it takes them to, and computes one pair at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kappagcn.kernels.blocks import Array, parallel_for
from kappagcn.kernels.points import (
    ALONE,
    BLOCK,
    CHUNKS,
    LEAST_GAP,
    LEAST_RATIO,
    LEAST_ROOT,
    NEAR,
    RADIUS,
    SINE,
    SQUARE_SERIES,
    TURN,
    TURN_SERIES,
    P,
    Points,
    Q,
    Rows,
)
from kappagcn.kernels.vector_math import compiled, inlined, logarithm, polar_angle
from kappagcn.objectives import PAIR_OBJECTIVES

__all__ = ["Sums", "add_gradients", "all_pairs", "distances_from", "squared_distances"]

DISTORTION, RELATIVE, STRESS = range(len(PAIR_OBJECTIVES))
HUGE = 1e100  # value of y = −κS above which √(y(1 + y)) is y
# Numbers of a pair and factor: |u_i − u_j|², T, S, (d/2)² and its derivatives by S and by κ.
GAP, TURNED, HAVERSINE, SQUARE, SLOPE, BENT = range(6)
# Numbers of a pair: d², the objective's derivative by d², w, and by how much each direction moves the other.
TOTAL, PULL, WEIGHT, OWN, OTHER = range(5)
BY_RADIUS, BY_SINE = range(2)  # gradients with respect to numbers of a point

Q0, Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9 = SQUARE_SERIES
B1, B2, B3, B4, B5 = TURN_SERIES


@inlined
def near_arc(s: float, kappa: float) -> tuple[float, float, float]:
    """(d/2)² = S arsinc²(κS) and its derivatives by S and by κ, by series for |κS| < NEAR."""
    z = kappa * s
    top = 5 * Q5 + z * (6 * Q6 + z * (7 * Q7 + z * (8 * Q8 + z * (9 * Q9))))
    derivative = Q1 + z * (2 * Q2 + z * (3 * Q3 + z * (4 * Q4 + z * top)))
    top = Q5 + z * (Q6 + z * (Q7 + z * (Q8 + z * Q9)))
    value = Q0 + z * (Q1 + z * (Q2 + z * (Q3 + z * (Q4 + z * top))))
    return s * value, value + z * derivative, s * s * derivative


@inlined
def hyperbolic_arc(s: float, kappa: float) -> tuple[float, float, float]:
    """`near_arc` for κ < 0 elsewhere, with y = −κS: √−κ d/2 = arsinh √y = ½ log(1 + 2(y + √(y(1 + y))))."""
    y = -kappa * s
    bounded = y if y < HUGE else HUGE
    root = math.sqrt(bounded * (1 + bounded))
    root = root if y < HUGE else y
    arc = 0.5 * logarithm(1 + 2 * (y + root))
    square, slope = -arc * arc / kappa, arc / root
    return square, slope, (s * slope - square) / kappa


@inlined
def spherical_arc(s: float, kappa: float) -> tuple[float, float, float]:
    """`near_arc` for κ > 0 elsewhere: √κ d/2 = arcsin √κS."""
    z = kappa * s
    z = 1 - LEAST_GAP if z > 1 - LEAST_GAP else z
    sine, cosine = math.sqrt(z), math.sqrt(1 - z)
    arc = polar_angle(sine, cosine)
    square, slope = arc * arc / kappa, arc / (sine * cosine)
    return square, slope, (s * slope - square) / kappa


@inlined
def squared_distances(i: int, block: int, points: Points, parts: Array, pairs: Array) -> None:
    """Write d² of point i and those of a block into `pairs`, and values for derivatives into `parts`.

    Args:
        i: The point.
        block: The block.
        points: All points.
        parts: Numbers of pairs and factors, (6, F, BLOCK).
        pairs: Numbers of pairs, (5, BLOCK).
    """
    u, numbers, at, place = points.u, points.numbers, i // BLOCK, i % BLOCK
    for f in range(points.kappas.shape[0]):
        kappa, near = points.kappas[f], 0
        p, q, quarter = numbers[at, f, P, place], numbers[at, f, Q, place], 0.25 * numbers[at, f, SINE, place]
        start, stop = points.ends[f], points.ends[f + 1]
        for j in range(BLOCK):
            parts[GAP, f, j] = (u[at, start, place] - u[block, start, j]) ** 2 if (stop - start) % 2 else 0.0
        for d in range(start + (stop - start) % 2, stop, 2):  # two columns at a time load and store half as many sums
            own, next_own = u[at, d, place], u[at, d + 1, place]
            for j in range(BLOCK):
                apart, next_apart = own - u[block, d, j], next_own - u[block, d + 1, j]
                parts[GAP, f, j] += apart * apart + next_apart * next_apart
        for j in range(BLOCK):
            turn = p * numbers[block, f, Q, j] - q * numbers[block, f, P, j]
            s = turn * turn + quarter * numbers[block, f, SINE, j] * parts[GAP, f, j]
            near += 1 if abs(kappa * s) < NEAR else 0
            parts[TURNED, f, j], parts[HAVERSINE, f, j] = turn, s
        if near < BLOCK and kappa < 0:
            for j in range(BLOCK):
                square, slope, bent = hyperbolic_arc(parts[HAVERSINE, f, j], kappa)
                parts[SQUARE, f, j], parts[SLOPE, f, j], parts[BENT, f, j] = square, slope, bent
        elif near < BLOCK:
            for j in range(BLOCK):
                square, slope, bent = spherical_arc(parts[HAVERSINE, f, j], kappa)
                parts[SQUARE, f, j], parts[SLOPE, f, j], parts[BENT, f, j] = square, slope, bent
        if near:
            for j in range(BLOCK):
                square, slope, bent = near_arc(parts[HAVERSINE, f, j], kappa)
                is_near = abs(kappa * parts[HAVERSINE, f, j]) < NEAR
                parts[SQUARE, f, j] = square if is_near else parts[SQUARE, f, j]
                parts[SLOPE, f, j] = slope if is_near else parts[SLOPE, f, j]
                parts[BENT, f, j] = bent if is_near else parts[BENT, f, j]
        for j in range(BLOCK):
            pairs[TOTAL, j] = 4 * parts[SQUARE, f, j] + (0.0 if f == 0 else pairs[TOTAL, j])


@compiled
def _distances(chunk: int, sources: Array, points: Points, distances: Array) -> None:
    n, parts, pairs = distances.shape[1], np.empty((6, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    for place in range(chunk, sources.shape[0], CHUNKS):
        for block in range(points.u.shape[0]):
            squared_distances(sources[place], block, points, parts, pairs)
            start = block * BLOCK
            for j in range(min(n - start, BLOCK)):
                square = pairs[TOTAL, j]
                distances[place, start + j] = 0.0 if square < 0 else math.sqrt(square)  # on spheres by rounding
        distances[place, sources[place]] = 0.0


def distances_from(rows: Rows, sources: Array) -> Array:
    """Distances of some points from all, (B, N)."""
    distances = np.empty((len(sources), rows.count))
    threads = 1 if distances.size < ALONE else None
    parallel_for(CHUNKS, lambda chunk: _distances(chunk, sources, rows.points, distances), threads)
    return distances


class Sums(NamedTuple):
    """Sums over pairs, each of them for each chunk of rows.

    Attributes:
        by_u: Gradients by directions as `Rows.gradients` takes them, (blocks, D, BLOCK).
        by_numbers: Gradients by radii and sines, (blocks, 2, F, BLOCK).
        by_kappa: (F,).
        total: The objective, (1,).
    """

    by_u: Array
    by_numbers: Array
    by_kappa: Array
    total: Array

    @classmethod
    def zeros(cls, rows: Rows, *, slopes: bool) -> Sums:
        """Zeros, with space for gradients or without."""
        blocks, dims, _ = rows.points.u.shape
        blocks, factors = (blocks if slopes else 0), len(rows.points.kappas)
        return cls(
            np.zeros((CHUNKS, blocks, dims, BLOCK)),
            np.zeros((CHUNKS, blocks, 2, factors, BLOCK)),
            np.zeros((CHUNKS, factors)),
            np.zeros((CHUNKS, 1)),
        )

    def of_chunk(self, chunk: int) -> Sums:
        """Those of one chunk."""
        return Sums(*(part[chunk] for part in self))

    def added(self, rows: Rows, *, slopes: bool) -> tuple[float, Array, Array]:
        """The sum of all chunks in order, and its gradients by v and by κ."""
        gradients = rows.gradients(*self[:3]) if slopes else (np.empty((0, 0)), np.empty(0))
        return float(self.total.sum()), *gradients


@inlined
def add_gradients(i: int, block: int, once: bool, points: Points, sums: Sums, parts: Array, pairs: Array) -> None:
    """Add gradients by points and κ for the pairs of `squared_distances`, from derivatives by d² in `PULL`.

    Gradients are by both points, or without `once` by the other one alone. That by S is 4x = ∂/∂(d/2)² · ∂(d/2)²/∂S.
    """
    u, numbers, at, place = points.u, points.numbers, i // BLOCK, i % BLOCK
    for f in range(points.kappas.shape[0]):
        kappa = points.kappas[f]
        half, quarter = 0.5 / kappa if kappa != 0 else 0.0, 0.25 * kappa
        p, q, r, sine = (
            numbers[at, f, P, place],
            numbers[at, f, Q, place],
            numbers[at, f, RADIUS, place],
            numbers[at, f, SINE, place],
        )
        crossed, straight, squared = points.turns[f, 0], points.turns[f, 1], points.turns[f, 2]
        by_q, by_p = 4 * (crossed * p + straight * q), 4 * (crossed * q + squared * p)
        curving, turning, outward, wide = 0.0, 0.0, 0.0, 0.0
        for j in range(BLOCK):
            turn, sine_j, delta = parts[TURNED, f, j], numbers[block, f, SINE, j], r - numbers[block, f, RADIUS, j]
            x = pairs[PULL, j] * parts[SLOPE, f, j]
            # 4 cos_κ((r_i − r_j)/2) = 8 ∂T/∂r_i
            cosine = by_q * numbers[block, f, Q, j] + by_p * numbers[block, f, P, j]
            z = quarter * delta * delta
            series = delta * delta * delta * (B1 + z * (B2 + z * (B3 + z * (B4 + z * B5))))
            by_kappa = series if abs(z) < TURN else (delta * cosine - 8 * turn) * half  # 8 ∂T/∂κ
            turned, widened = x * turn, x * parts[GAP, f, j]
            curving += pairs[PULL, j] * parts[BENT, f, j]
            turning += turned * by_kappa
            outward += turned * cosine
            wide += widened * sine_j
            sums.by_numbers[block, BY_RADIUS, f, j] -= turned * cosine
            sums.by_numbers[block, BY_SINE, f, j] += widened * sine
            pairs[OWN, j], pairs[OTHER, j] = 2 * x * sine_j, 2 * x * sine
        for d in range(points.ends[f], points.ends[f + 1]):
            own, by_own = u[at, d, place], 0.0
            for j in range(BLOCK):
                apart = own - u[block, d, j]
                by_own += pairs[OWN, j] * apart
                sums.by_u[block, d, j] -= pairs[OTHER, j] * apart
            if once:
                sums.by_u[at, d, place] += by_own
        if once:
            sums.by_numbers[at, BY_RADIUS, f, place] += outward
            sums.by_numbers[at, BY_SINE, f, place] += wide
        else:  # point i gets no gradient, but its sine depends on κ
            curving += 0.25 * wide * points.bends[f, i]
        sums.by_kappa[f] += 4 * curving + turning


@inlined
def pulls(objective: int, pairs: Array) -> float:
    """The objective of pairs; writes its derivatives by d² into `PULL`."""
    loss = 0.0
    if objective == DISTORTION:
        for j in range(BLOCK):
            w = pairs[WEIGHT, j]
            excess = pairs[TOTAL, j] * w - 1 if w > 0 else 0.0
            loss += excess * excess
            pairs[PULL, j] = 2 * excess * w
    else:
        for j in range(BLOCK):
            w = pairs[WEIGHT, j]
            ratio = pairs[TOTAL, j] * w
            ratio = math.sqrt(ratio if ratio > LEAST_RATIO else LEAST_RATIO) if w > 0 else 1.0
            excess = ratio - 1
            if objective == RELATIVE:
                size = abs(excess)
                loss += size
                pairs[PULL, j] = 0.5 * w * excess / (ratio * (size if size > LEAST_ROOT else LEAST_ROOT))
            else:
                loss += excess * excess / w if w > 0 else 0.0
                pairs[PULL, j] = excess / ratio
    return loss


@compiled
def _all_pairs(
    chunk: int,
    objective: int,
    slopes: bool,
    sources: Array,
    once: bool,
    points: Points,
    weights: Array,
    sums: Sums,
) -> None:
    """Pairs of every `CHUNKS`-th source from `chunk` with all points; with `once` sources are all, and pairs i < j."""
    n, parts, pairs = weights.shape[1], np.empty((6, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    for block in range(points.u.shape[0]):
        left, stop = block * BLOCK, min((block + 1) * BLOCK, n)
        for place in range(chunk, sources.shape[0], CHUNKS):
            i = sources[place]
            start = max(i + 1, left) if once else left
            if start >= stop:
                break
            squared_distances(i, block, points, parts, pairs)
            for j in range(BLOCK):
                pairs[WEIGHT, j] = 0.0
            for j in range(start, stop):
                pairs[WEIGHT, j - left] = weights[place, j]
            sums.total[0] += pulls(objective, pairs)
            if slopes:
                add_gradients(i, block, once, points, sums, parts, pairs)


def all_pairs(
    rows: Rows, weights: Array, sources: Array | None = None, *, objective: str = "distortion", slopes: bool = True
) -> tuple[float, Array, Array]:
    """An objective over unordered pairs i < j with a weight above 0; its gradients by v, (N, D), and by κ, (F,).

    Args:
        rows: The points.
        weights: 1/d_G² for each pair, (N, N), 0 for pairs to be left out; float32 or float64.
        sources: Points whose pairs are taken, with `weights` (B, N). Pairs of a source with itself have weight 0.
            Gradients are then by the other point.
        objective: One of `PAIR_OBJECTIVES`.
        slopes: Whether to compute gradients.
    """
    once, starts = sources is None, np.arange(rows.count) if sources is None else sources
    sums, number = Sums.zeros(rows, slopes=slopes), PAIR_OBJECTIVES.index(objective)

    def work(chunk: int) -> None:
        _all_pairs(chunk, number, slopes, starts, once, rows.points, weights, sums.of_chunk(chunk))

    parallel_for(CHUNKS, work, threads=1 if rows.count * len(starts) < ALONE else None)
    return sums.added(rows, slopes=slopes)
