"""Distortion over all pairs compiled by numba: value and gradients in one pass, blocks that stay in the cache.

With r = 2|v|, u = v/|v| and P = sin_κ(r), a pair of points of one factor has (the κ-haversine)

    S = sin_κ²(d/2) = T² + P_i P_j |u_i − u_j|²/4,   T = sin_κ((r_i − r_j)/2),   d² = 4 S arsinc(κS)²,

all of it analytic in S, so nothing is singular where points coincide. T comes from two numbers of each row,
T = p_i q_j − q_i p_j: half-angle sines and cosines, or for far points of a hyperbolic space exponentials, which do not
cancel. Differences of directions are taken one by one in float64: a Gram matrix would lose them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from kappagcn.geometry.numerics import SERIES
from kappagcn.kernels.blocks import parallel_for

__all__ = ["Rows", "all_pairs", "distances_from", "listed_pairs"]

Array = NDArray[Any]
BLOCK = 256  # columns of a block: its dozen temporaries fit the first cache
CHUNKS = 8  # of rows; their sums are added in order, so threads do not change digits
FARTHEST = 340.0  # √−κ·r, beyond which a product of two sines overflows
CURVED = 1.0  # √−κ·r from which exponentials are better than half-angle formulas
NEAR = 0.02  # |κS| below which a few terms of arsinc and its derivative are exact to rounding
TURN = 0.05  # |κ|(Δr/2)² below which terms of ∂sin_κ/∂κ are
ALONE = 40_000  # pairs that one thread finishes before another has woken up
LEAST_GAP = 1e-15  # of 1 − κS: at antipodes the distance has no derivative

# Sums may be reordered and divisions become products; infinities and NaN are respected.
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})

A0, A1, A2, A3, A4, A5, A6 = SERIES["arsinc"][:7]
B1, B2, B3, B4 = (n * c for n, c in enumerate(SERIES["sinc"][:5]) if n)
LOG2 = math.log(2.0)
MANTISSA, ONE, EXPONENT = 0xFFFFFFFFFFFFF, 0x3FF0000000000000, 1023


class Points(NamedTuple):
    """What each point brings to its pairs: directions, (D, N), and the rest, (F, N), in float64."""

    u: Array
    r: Array
    sine: Array
    p: Array
    q: Array
    ends: Array  # where factors begin and end among the directions, (F + 1,)
    kappas: Array  # (F,)
    turns: Array  # ∂T/∂r of p_i q_j + q_i p_j, q_i q_j and p_i p_j, (F, 3)
    bends: Array  # ∂sine/∂κ, (F, N)


class Sums(NamedTuple):
    """What pairs add up to."""

    by_u: Array  # gradients; this one short of a factor P, which is 0 at the origin
    by_r: Array
    by_sine: Array
    by_kappa: Array
    found: Array  # Σ(d²w − 1)², and the smallest and largest d²w


@compiled
def _slope_near(z: float) -> float:
    """arsinc′(z) for small z."""
    return A1 + z * (2 * A2 + z * (3 * A3 + z * (4 * A4 + z * (5 * A5 + z * 6 * A6))))


@compiled
def _hyperbolic_arcs(s: Array, kappa: float, arc: Array, root: Array, x: Array, bits: Array, power: Array) -> None:
    """arsinc(κs) and 1/√(1 − κs) for κ < 0; `bits` are those of x.

    The logarithm is written out: only so do processors take several at once.
    """
    for j in range(s.shape[0]):
        z = kappa * s[j]
        cosine, sine = math.sqrt(1 - z), max(math.sqrt(-z), LEAST_GAP)
        both = 1 / (cosine * sine)
        root[j], arc[j] = both * sine, both * cosine
        x[j] = sine + cosine
    for j in range(s.shape[0]):
        found = bits[j]
        power[j] = float((found >> 52) - EXPONENT)
        bits[j] = (found & MANTISSA) | ONE
    for j in range(s.shape[0]):
        f = (x[j] - 1) / (x[j] + 1)
        g = f * f
        total = 1 / 23 * g + 1 / 21
        total = (((total * g + 1 / 19) * g + 1 / 17) * g + 1 / 15) * g + 1 / 13
        total = ((((total * g + 1 / 11) * g + 1 / 9) * g + 1 / 7) * g + 1 / 5) * g + 1 / 3
        value = (power[j] * LOG2 + 2 * f * (total * g + 1)) * arc[j]
        z = kappa * s[j]
        y = max(z, -NEAR)
        terms = A0 + y * (A1 + y * (A2 + y * (A3 + y * (A4 + y * (A5 + y * A6)))))
        arc[j] = terms if z > -NEAR else value


@compiled
def _spherical_arcs(s: Array, kappa: float, arc: Array, root: Array) -> None:
    """The same for κ > 0, by the tangent of an eighth of the angle, for which a few terms are enough."""
    for j in range(s.shape[0]):
        z = min(kappa * s[j], 1 - LEAST_GAP)
        cosine = math.sqrt(1 - z)
        both = 1 / (cosine + cosine * cosine)
        root[j] = both + both * cosine
        half = both * cosine
        squared = z * half * half
        quarter = 1 / (1 + math.sqrt(1 + squared))
        squared = squared * quarter * quarter
        eighth = 1 / (1 + math.sqrt(1 + squared))
        y = -squared * eighth * eighth
        terms = 1 / 13 + y * (1 / 15 + y * (1 / 17 + y * (1 / 19 + y * (1 / 21))))
        terms = 1 + y * (1 / 3 + y * (1 / 5 + y * (1 / 7 + y * (1 / 9 + y * (1 / 11 + y * terms)))))
        arc[j] = 8 * terms * (half * quarter * eighth)


@compiled
def _squared_distances(
    i: int,
    start: int,
    stop: int,
    points: Points,
    parts: Array,
    flat: Array,
) -> None:
    """Into ``flat[0]`` d² of point i from those of a block, into `parts`, (5, F, BLOCK), what derivatives need."""
    m = stop - start
    u, sine, p, q, ends, kappas = points.u, points.sine, points.p, points.q, points.ends, points.kappas
    total, x, other = flat[0], flat[1], flat[2]
    for j in range(m):
        total[j] = 0.0
    for f in range(kappas.shape[0]):
        gap, s, turn, arc, root = parts[0, f, :m], parts[1, f, :m], parts[2, f, :m], parts[3, f, :m], parts[4, f, :m]
        for j in range(m):
            gap[j] = 0.0
        for d in range(ends[f], ends[f + 1]):
            own, column = u[d, i], u[d, start:stop]
            for j in range(m):
                gap[j] += (own - column[j]) * (own - column[j])
        p_i, q_i, quarter = p[f, i], q[f, i], 0.25 * sine[f, i]
        p_j, q_j, sine_j = p[f, start:stop], q[f, start:stop], sine[f, start:stop]
        for j in range(m):
            turn[j] = p_i * q_j[j] - q_i * p_j[j]
        for j in range(m):
            s[j] = turn[j] * turn[j] + quarter * sine_j[j] * gap[j]
        if kappas[f] < 0:
            _hyperbolic_arcs(s, kappas[f], arc, root, x[:m], x.view(np.int64)[:m], other[:m])
        elif kappas[f] > 0:
            _spherical_arcs(s, kappas[f], arc, root)
        for j in range(m):
            total[j] += 4 * s[j] * arc[j] * arc[j]


@compiled
def _block_of_pairs(
    i: int,
    start: int,
    stop: int,
    slopes: bool,
    once: bool,
    w: Array,
    points: Points,
    sums: Sums,
    parts: Array,
    flat: Array,
) -> None:
    """Pairs of point i with those of a block: adds to sums of the loss and its gradients.

    Gradients are by both points, or without `once` by the other one alone.
    """
    m = stop - start
    u, r, sine, p, q, ends, kappas = points.u, points.r, points.sine, points.p, points.q, points.ends, points.kappas
    by_u, by_r, by_sine, found = sums.by_u, sums.by_r, sums.by_sine, sums.found
    total, x, other, pull, one = flat[0], flat[1], flat[2], flat[3], flat[4]
    _squared_distances(i, start, stop, points, parts, flat)
    loss = 0.0
    for j in range(m):
        ratio = total[j] * w[j]
        excess = ratio - 1 if w[j] > 0 else 0.0
        loss += excess * excess
        pull[j] = 2 * excess * w[j]
    found[0] += loss
    for j in range(0 if slopes else m):
        if w[j] > 0:
            found[1], found[2] = min(found[1], total[j] * w[j]), max(found[2], total[j] * w[j])
    for f in range(kappas.shape[0] if slopes else 0):
        gap, s, turn, arc, root = parts[0, f, :m], parts[1, f, :m], parts[2, f, :m], parts[3, f, :m], parts[4, f, :m]
        kappa, p_i, q_i, sine_i, r_i = kappas[f], p[f, i], q[f, i], sine[f, i], r[f, i]
        p_j, q_j, sine_j, r_j = p[f, start:stop], q[f, start:stop], sine[f, start:stop], r[f, start:stop]
        crossed, straight, squared = points.turns[f, 0], points.turns[f, 1], points.turns[f, 2]
        half = 0.5 / kappa if kappa != 0 else 0.0
        curving = 0.0
        for j in range(m):
            z = kappa * s[j]
            y = min(max(z, -NEAR), NEAR)
            bent = s[j] * _slope_near(y) if y == z else half * (root[j] - arc[j])  # s arsinc′(κs)
            curving += 8 * pull[j] * s[j] * arc[j] * bent
        for j in range(m):
            x[j] = 4 * pull[j] * arc[j] * root[j]  # ∂/∂S
        for j in range(m):
            one[j] = crossed * (p_i * q_j[j] + q_i * p_j[j]) + straight * q_i * q_j[j] + squared * p_i * p_j[j]
        for j in range(m):
            h = 0.5 * (r_i - r_j[j])
            z = kappa * h * h
            y = min(max(z, -TURN), TURN)
            near = h * h * h * (B1 + y * (B2 + y * (B3 + y * B4)))
            curving += 2 * x[j] * turn[j] * (near if y == z else (h * one[j] - turn[j]) * half)
        outward, column = 0.0, by_r[f, start:stop]
        for j in range(m):
            other[j] = x[j] * turn[j] * one[j]
            outward += other[j]
        for j in range(m):
            column[j] -= other[j]
        wide, column = 0.0, by_sine[f, start:stop]
        for j in range(m):
            other[j] = 0.25 * x[j] * gap[j]
            wide += other[j] * sine_j[j]
        for j in range(m):
            column[j] += other[j] * sine_i
        if once:
            by_r[f, i] += outward
            by_sine[f, i] += wide
        else:  # point i stays, but κ bends its sine too
            curving += wide * points.bends[f, i]
        sums.by_kappa[f] += curving
        for j in range(m):
            one[j] = 0.5 * x[j] * sine_j[j] if once else 0.0
        for j in range(m):
            other[j] = 0.5 * x[j] * sine_i
        for d in range(ends[f], ends[f + 1]):
            own, column, pulls, along = u[d, i], u[d, start:stop], by_u[d, start:stop], 0.0
            for j in range(m):
                along += one[j] * (own - column[j])
                pulls[j] -= other[j] * (own - column[j])
            by_u[d, i] += along


@compiled
def _rows_of_pairs(
    first: int,
    slopes: bool,
    sources: Array,
    once: bool,
    points: Points,
    weights: Array,
    sums: Sums,
) -> None:
    """Pairs of every `CHUNKS`-th source from `first` with all points; with `once` sources are all, and pairs i < j."""
    n = points.u.shape[1]
    parts, flat = np.ones((5, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    for left in range(0, n, BLOCK):
        stop = min(left + BLOCK, n)
        for place in range(first, sources.shape[0], CHUNKS):
            i = sources[place]
            start = max(left, i + 1) if once else left
            if start >= stop:
                break
            _block_of_pairs(i, start, stop, slopes, once, weights[place, start:stop], points, sums, parts, flat)


@compiled
def _rows_of_listed_pairs(first: int, places: Array, others: Array, weights: Array, points: Points, sums: Sums) -> None:
    """Pairs of every `CHUNKS`-th point from `first` with those that a compressed list names; gradients by the point.

    Points of the list are copied beside each other, the point itself in front.
    """
    dims, factors, width = points.u.shape[0], points.kappas.shape[0], BLOCK + 1
    parts, flat = np.ones((5, factors, BLOCK)), np.empty((5, BLOCK))
    u, near = np.empty((dims, width)), np.empty((4, factors, width))
    copied = Points(u, near[0], near[1], near[2], near[3], points.ends, points.kappas, points.turns, points.bends)
    own = Sums(
        np.zeros((dims, width)), np.zeros((factors, width)), np.zeros((factors, width)), sums.by_kappa, sums.found
    )
    for i in range(first, points.u.shape[1], CHUNKS):
        for left in range(places[i], places[i + 1], BLOCK):
            stop = min(left + BLOCK, places[i + 1])
            for j in range(left - 1, stop):
                place, k = j - left + 1, i if j < left else others[j]
                for d in range(dims):
                    u[d, place] = points.u[d, k]
                for f in range(factors):
                    near[0, f, place], near[1, f, place] = points.r[f, k], points.sine[f, k]
                    near[2, f, place], near[3, f, place] = points.p[f, k], points.q[f, k]
            own.by_u[:, 0] = 0.0
            own.by_r[:, 0] = 0.0
            own.by_sine[:, 0] = 0.0
            _block_of_pairs(0, 1, stop - left + 1, True, True, weights[left:stop], copied, own, parts, flat)
            sums.by_u[:, i] += own.by_u[:, 0]
            sums.by_r[:, i] += own.by_r[:, 0]
            sums.by_sine[:, i] += own.by_sine[:, 0]


@compiled
def _rows_of_distances(first: int, sources: Array, points: Points, found: Array) -> None:
    n = points.u.shape[1]
    parts, flat = np.ones((5, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    total = flat[0]
    for place in range(first, sources.shape[0], CHUNKS):
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            _squared_distances(sources[place], start, stop, points, parts, flat)
            for j in range(stop - start):
                found[place, start + j] = 0.0 if total[j] < 0 else math.sqrt(total[j])  # on spheres by rounding
        found[place, sources[place]] = 0.0


class Rows:
    """Points as pairs take them, and the way back from gradients by what they bring to those by tangent vectors.

    Args:
        v: Tangent vectors at the origin, (N, D).
        ends: Where factors begin and end among the columns, (F + 1,).
        kappas: Their curvatures, (F,).
    """

    def __init__(self, v: Array, ends: Array, kappas: Array) -> None:
        n, self.ends, self.kappas = len(v), ends, kappas
        self.u = np.empty((v.shape[1], n))
        self.r, self.sine, self.cosine, self.p, self.q, self.bends = (np.empty((len(kappas), n)) for _ in range(6))
        self.turns, self.length = np.empty((len(kappas), 3)), np.empty((len(kappas), n))
        for f, kappa in enumerate(kappas):
            own = v[:, ends[f] : ends[f + 1]].T.astype(np.float64)
            length = np.sqrt((own * own).sum(0))
            self.u[ends[f] : ends[f + 1]] = own / np.where(length == 0, 1, length)
            self._fill(f, length, float(kappa))
        self.points = Points(self.u, self.r, self.sine, self.p, self.q, ends, kappas, self.turns, self.bends)

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

    def gradients(self, by_u: Array, by_r: Array, by_sine: Array, by_kappa: Array) -> tuple[Array, Array]:
        """By v, (N, D), and by κ, (F,), from those by directions, radii and sines, and what κ has beside them."""
        by_v = np.empty_like(self.u)
        for f in range(len(self.kappas)):
            columns = slice(self.ends[f], self.ends[f + 1])
            u, g, r, length = self.u[columns], by_u[columns], self.r[f], self.length[f]
            inside = 2 * length <= r  # farther ones were taken as there, and do not move
            # P/|v|, and at the origin, which has no direction, its limit: by_u alone is right there.
            widening = np.where(length == 0, 2, self.sine[f] / np.where(length == 0, 1, length))
            outward = 2 * inside * (by_r[f] + self.cosine[f] * by_sine[f])
            by_v[columns] = outward * u + widening * (g - (u * g).sum(0) * u)
            by_kappa[f] += (self.bends[f] * by_sine[f]).sum()
        return by_v.T, by_kappa


def _sine(x: Array, kappa: float) -> Array:
    s = math.sqrt(abs(kappa))
    found: Array = x if kappa == 0 else (np.sinh(s * x) if kappa < 0 else np.sin(s * x)) / s
    return found


def _cosine(x: Array, kappa: float) -> Array:
    s = math.sqrt(abs(kappa))
    found: Array = np.cosh(s * x) if kappa < 0 else np.cos(s * x)
    return found


def _sine_by_kappa(x: Array, kappa: float, sine: Array, cosine: Array) -> Array:
    z = np.clip(kappa * x * x, -TURN, TURN)
    near = x**3 * (B1 + z * (B2 + z * (B3 + z * B4)))
    return near if kappa == 0 else np.where(np.abs(kappa) * x * x < TURN, near, (x * cosine - sine) / (2 * kappa))


def all_pairs(
    rows: Rows, weights: Array, sources: Array | None = None, *, slopes: bool = True
) -> tuple[Array, Array, Array]:
    """Over unordered pairs i < j with a weight above 0, of squared distances d² times the weight.

    Args:
        rows: The points.
        weights: 1/d_G² for each pair, (N, N), 0 for pairs to be left out; float32 or float64.
        sources: Only pairs with these, and `weights` theirs alone, (B, N). Pairs of a source with itself have weight 0.
            Gradients are then by the other point.
        slopes: Whether to find gradients.

    Returns:
        Σ(d²w − 1)² and, where no slopes are asked for, the least and the largest d²w, (3,); gradients of the sum by v,
        (N, D), and by κ, (F,).
    """
    n, count = rows.u.shape[1], len(rows.kappas)
    every = np.arange(n) if sources is None else sources
    kept = n if slopes else 0
    by_u, by_r, by_sine = (np.zeros((CHUNKS, m, kept)) for m in (len(rows.u), count, count))
    by_kappa, found = np.zeros((CHUNKS, count)), np.tile([0.0, np.inf, 0.0], (CHUNKS, 1))

    def work(chunk: int) -> None:
        sums = Sums(by_u[chunk], by_r[chunk], by_sine[chunk], by_kappa[chunk], found[chunk])
        _rows_of_pairs(chunk, slopes, every, sources is None, rows.points, weights, sums)

    parallel_for(CHUNKS, work, alone=n * len(every) < ALONE)
    summary = np.array([found[:, 0].sum(), found[:, 1].min(), found[:, 2].max()])
    if not slopes:
        return summary, np.empty((0, 0)), np.empty(0)
    return summary, *rows.gradients(by_u.sum(0), by_r.sum(0), by_sine.sum(0), by_kappa.sum(0))


def listed_pairs(rows: Rows, places: Array, others: Array, weights: Array) -> tuple[float, Array, Array]:
    """The same over pairs that a compressed list names, both ways: i with others[places[i] : places[i + 1]].

    Returns:
        Σ(d²w − 1)² over unordered pairs, its gradients by v, (N, D), and by κ, (F,).
    """
    n, count = rows.u.shape[1], len(rows.kappas)
    by_u, by_r, by_sine = np.zeros((len(rows.u), n)), np.zeros((count, n)), np.zeros((count, n))
    by_kappa, found = np.zeros((CHUNKS, count)), np.tile([0.0, np.inf, 0.0], (CHUNKS, 1))

    def work(chunk: int) -> None:
        sums = Sums(by_u, by_r, by_sine, by_kappa[chunk], found[chunk])
        _rows_of_listed_pairs(chunk, places, others, weights, rows.points, sums)

    parallel_for(CHUNKS, work, alone=len(others) < ALONE)
    # Each pair was met twice: by its points once for each of them, by κ and in the sum twice.
    return float(found[:, 0].sum() / 2), *rows.gradients(by_u, by_r, by_sine, by_kappa.sum(0) / 2)


def distances_from(rows: Rows, sources: Array) -> Array:
    """Distances of some points from all, (B, N)."""
    found = np.empty((len(sources), rows.u.shape[1]))

    def work(chunk: int) -> None:
        _rows_of_distances(chunk, sources, rows.points, found)

    parallel_for(CHUNKS, work, alone=found.size < ALONE)
    return found
