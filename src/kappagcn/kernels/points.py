"""Points in the form that compiled loops over pairs take: directions, radii and sines in blocks; their gradients.

Points are kept in blocks with zeros behind the last one, (blocks, D, BLOCK): a loop over the pairs of one point with a
block reads columns in order, and fits the first cache.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kappagcn.geometry.numerics import SERIES
from kappagcn.kernels.blocks import Array

__all__ = ["ALONE", "BLOCK", "CHUNKS", "Points", "Rows"]

BLOCK = 128  # points of a block
CHUNKS = 8  # chunks of rows; their sums are added in order, so threads do not change digits
ALONE = 40_000  # pairs that one thread finishes before another one has started

# Where formulas change, the same for compiled loops and for torch.
FARTHEST = 340.0  # √−κ·r, beyond which a product of two sines overflows
CURVED = 1.0  # √−κ·r from which exponentials are better than half-angle formulas
TURN = 0.05  # |κ|(Δr/2)² below which the series of ∂sin_κ/∂κ is exact to rounding
NEAR = 0.02  # |κS| below which the series of arsinc² and of its derivative are exact to rounding
LEAST_GAP = 1e-15  # smallest 1 − κS: at antipodes the distance has no derivative
LEAST_RATIO = 1e-24  # smallest d²w: the distance has no derivative where points coincide
LEAST_ROOT = 1e-300  # |x| has no derivative at 0, where this makes it 0

SQUARE_SERIES = tuple(SERIES["arsinc²"])  # series of arsinc²(z)
TURN_SERIES = tuple(n * c for n, c in enumerate(SERIES["sinc"][:6]) if n)  # series of ∂sin_κ(x)/∂κ/x³ in κx²

RADIUS, SINE, P, Q = range(4)  # numbers of a point


class Points(NamedTuple):
    """Numbers of points in blocks of float64, and of factors.

    Attributes:
        u: Directions, (blocks, D, BLOCK).
        numbers: r, sin_κ(r), p and q, where T = p_i q_j − q_i p_j, (blocks, F, 4, BLOCK).
        ends: Bounds of the factors among the directions, (F + 1,).
        kappas: Curvatures, (F,).
        turns: 2 ∂T/∂r as factors of p_i q_j + q_i p_j, q_i q_j and p_i p_j, (F, 3).
        bends: ∂sin_κ(r)/∂κ, (F, N).
    """

    u: Array
    numbers: Array
    ends: Array
    kappas: Array
    turns: Array
    bends: Array


class Rows:
    """Points in the form that loops over pairs take, and gradients by tangent vectors from those by that form.

    Args:
        v: Tangent vectors at the origin, (N, D).
        ends: Bounds of the factors among the columns, (F + 1,).
        kappas: Curvatures of the factors, (F,).
    """

    def __init__(self, v: Array, ends: Array, kappas: Array) -> None:
        self.count, dims = v.shape
        blocks, factors = -(-self.count // BLOCK), len(kappas)
        self.unit = np.zeros((blocks * BLOCK, dims))
        self.unit[: self.count] = v
        self.parts = [slice(start, stop) for start, stop in pairwise(ends.tolist())]
        self.length, self.r, self.sine, self.cosine, p, q, bends = np.zeros((7, factors, blocks * BLOCK))
        turns = np.empty((factors, 3))
        for f, (part, kappa) in enumerate(zip(self.parts, kappas.tolist(), strict=True)):
            length = self.length[f] = np.sqrt(np.square(self.unit[:, part]).sum(1))
            self.unit[:, part] /= np.where(length == 0, 1, length)[:, None]  # the origin's direction is 0
            s = math.sqrt(abs(kappa))
            r = self.r[f] = np.minimum(2 * length, FARTHEST / s) if kappa < 0 else 2 * length
            self.sine[f], self.cosine[f] = _sine(r, kappa), _cosine(r, kappa)
            bends[f] = _sine_by_kappa(r, kappa, self.sine[f], self.cosine[f])
            if kappa < 0 and len(r) and s * r.max() > CURVED:
                grown = np.exp(s * r / 2)
                p[f], q[f], turns[f] = grown / (2 * s), 1 / grown, (s, 0, 0)
            else:
                p[f], q[f], turns[f] = _sine(r / 2, kappa), _cosine(r / 2, kappa), (0, 1, kappa)
        u = np.ascontiguousarray(self.unit.reshape(blocks, BLOCK, dims).transpose(0, 2, 1))
        numbers = np.stack([self.r, self.sine, p, q], 1).reshape(factors, 4, blocks, BLOCK)
        numbers = np.ascontiguousarray(numbers.transpose(2, 0, 1, 3))
        self.points = Points(u, numbers, ends, kappas, turns, bends)

    def gradients(self, by_u: Array, by_numbers: Array, by_kappa: Array) -> tuple[Array, Array]:
        """Gradients by v, (N, D), and κ, (F,), from those by directions, radii and sines, and direct ones by κ.

        Args:
            by_u: By directions, without the factor sin_κ(r), which is 0 at the origin, (sums, blocks, D, BLOCK).
            by_numbers: By radii and sines, (sums, blocks, 2, F, BLOCK).
            by_kappa: By κ, (sums, F).
        """
        across = by_u.sum(0).transpose(0, 2, 1).reshape(self.unit.shape)
        by_r, by_sine = by_numbers.sum(0).transpose(1, 2, 0, 3).reshape(2, *self.r.shape)
        # Points beyond the limit count as lying there, and get no gradient.
        outward = np.where(2 * self.length <= self.r, 2 * (by_r + self.cosine * by_sine), 0)
        # sin_κ(r)/|v|, and at the origin, which has no direction, its limit: by_u alone is right there.
        at_origin = self.length == 0
        widening = np.where(at_origin, 2, self.sine / np.where(at_origin, 1, self.length))
        by_v = np.empty_like(across)
        for f, part in enumerate(self.parts):
            unit, flat = self.unit[:, part], across[:, part]
            flat = flat - (unit * flat).sum(1, keepdims=True) * unit
            by_v[:, part] = outward[f, :, None] * unit + widening[f, :, None] * flat
        return by_v[: self.count], by_kappa.sum(0) + (self.points.bends * by_sine).sum(1)


def _sine(x: Array, kappa: float) -> Array:
    s = math.sqrt(abs(kappa))
    sine: Array = x if kappa == 0 else (np.sinh(s * x) if kappa < 0 else np.sin(s * x)) / s
    return sine


def _cosine(x: Array, kappa: float) -> Array:
    s = math.sqrt(abs(kappa))
    cosine: Array = np.cosh(s * x) if kappa < 0 else np.cos(s * x)
    return cosine


def _sine_by_kappa(x: Array, kappa: float, sine: Array, cosine: Array) -> Array:
    near = x**3 * np.polynomial.Polynomial(TURN_SERIES)(np.clip(kappa * x * x, -TURN, TURN))
    return near if kappa == 0 else np.where(np.abs(kappa) * x * x < TURN, near, (x * cosine - sine) / (2 * kappa))
