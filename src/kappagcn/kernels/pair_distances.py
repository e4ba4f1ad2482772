"""Distances of pairs of points compiled by numba, from tangent vectors at the origin, in blocks that stay in the cache.

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

__all__ = ["Rows", "distances_from"]

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

A0, A1, A2, A3, A4, A5, A6, A7, A8 = SERIES["arsinc"][:9]
B1, B2, B3, B4, B5 = (n * c for n, c in enumerate(SERIES["sinc"][:6]) if n)
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
        word = bits[j]
        power[j] = float((word >> 52) - EXPONENT)
        bits[j] = (word & MANTISSA) | ONE
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
def squared_distances(
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
def _rows_of_distances(first: int, sources: Array, points: Points, distances: Array) -> None:
    n = points.u.shape[1]
    parts, flat = np.ones((5, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    total = flat[0]
    for place in range(first, sources.shape[0], CHUNKS):
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            squared_distances(sources[place], start, stop, points, parts, flat)
            for j in range(stop - start):
                distances[place, start + j] = 0.0 if total[j] < 0 else math.sqrt(total[j])  # on spheres by rounding
        distances[place, sources[place]] = 0.0


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
    distances = np.empty((len(sources), rows.u.shape[1]))

    def work(chunk: int) -> None:
        _rows_of_distances(chunk, sources, rows.points, distances)

    parallel_for(CHUNKS, work, alone=distances.size < ALONE)
    return distances
