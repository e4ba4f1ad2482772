"""Squared distances of listed pairs of points compiled by numba, and their gradients, in one pass over the pairs.

With a and b the lengths of two tangent vectors at the origin, û and v̂ their directions, and s = sinc(4κa²) of each,

    S = T² + s_a s_b ab|û − v̂|²,    T = sin_κ(a − b),    d² = 4 S arsinc(κS)².

Gradients are added up pair by pair in the order of the list, in one thread, so they do not depend on threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import for_row_blocks, loop
from kappagcn.kernels.pair_distances import near_square
from kappagcn.kernels.pair_limits import LEAST_GAP, NEAR, TURN
from kappagcn.kernels.point_blocks import B1, B2, B3, B4, B5

__all__ = ["listed_gradients", "listed_squares"]

Array = NDArray[Any]
# Saved for the backward pass: T, ab|û − v̂|², and the derivatives of (d/2)² by S and by κ.
SINE, APART, SLOPE, BENT = range(4)


@loop
def _squares(
    unit: Array, length: Array, slope: Array, kappa: float, first: Array, second: Array, kept: Array, result: Array
) -> None:
    root = math.sqrt(abs(kappa))
    for p in range(first.shape[0]):
        i, j = first[p], second[p]
        a, b, gap = unit[i], unit[j], 0.0
        for d in range(unit.shape[1]):
            gap += (a[d] - b[d]) * (a[d] - b[d])
        x = length[i] - length[j]
        sine = x if kappa == 0 else (math.sinh(root * x) if kappa < 0 else math.sin(root * x)) / root
        apart = length[i] * length[j] * gap
        square = sine * sine + slope[i] * slope[j] * apart
        z = kappa * square
        if abs(z) < NEAR:
            value, derivative = near_square(z)
            steep, bent = value + z * derivative, square * square * derivative
        else:
            t = math.sqrt(abs(z))
            if z < 0:
                arc = math.log1p(t - z / (1 + math.sqrt(1 - z))) / t
            else:
                arc = math.atan2(t, math.sqrt(max(1 - z, 0.0))) / t
            value, steep = arc * arc, arc / math.sqrt(max(1 - z, LEAST_GAP))
            bent = square * (steep - value) / kappa
        kept[p, SINE], kept[p, APART], kept[p, SLOPE], kept[p, BENT] = sine, apart, steep, bent
        result[p] = 4 * square * value


@loop
def _gradients(
    unit: Array,
    length: Array,
    slope: Array,
    kappa: float,
    first: Array,
    second: Array,
    kept: Array,
    grad: Array,
    by_v: Array,
    by_length: Array,
    by_slope: Array,
) -> float:
    half, by_kappa = 0.5 / kappa if kappa != 0 else 0.0, 0.0
    for p in range(first.shape[0]):
        i, j = first[p], second[p]
        sine, apart, pull = kept[p, SINE], kept[p, APART], 4 * grad[p] * kept[p, SLOPE]  # ∂/∂S
        by_kappa += 4 * grad[p] * kept[p, BENT]
        cosine = math.sqrt(max(1 - kappa * sine * sine, 0.0))
        x = length[i] - length[j]
        y = kappa * x * x
        if abs(y) < TURN:
            turned = x * x * x * (B1 + y * (B2 + y * (B3 + y * (B4 + y * B5))))  # ∂T/∂κ
        else:
            turned = half * (x * cosine - sine)
        by_kappa += 2 * pull * sine * turned
        outward = 2 * pull * sine * cosine
        by_length[i] += outward
        by_length[j] -= outward
        by_slope[i] += pull * slope[j] * apart
        by_slope[j] += pull * slope[i] * apart
        a, b, to_a, to_b = unit[i], unit[j], by_v[i], by_v[j]
        both = 2 * pull * slope[i] * slope[j]
        for_a, for_b = both * length[j], both * length[i]
        for d in range(unit.shape[1]):
            gap = a[d] - b[d]
            to_a[d] += for_a * gap
            to_b[d] -= for_b * gap
    return by_kappa


def listed_squares(
    unit: Array, length: Array, slope: Array, kappa: float, first: Array, second: Array
) -> tuple[Array, Array]:
    """d² of each pair, (P,), and values for `listed_gradients`, (P, 4).

    Args:
        unit: Directions of the tangent vectors, 0 at the origin, (N, D).
        length: Lengths of the tangent vectors, (N,).
        slope: sinc(4κ·length²), (N,).
        kappa: Curvature.
        first: Row of the first point of each pair, (P,).
        second: Row of the second point, (P,).
    """
    result, kept = np.empty(len(first)), np.empty((len(first), 4))

    def squares(start: int, stop: int, _: Array) -> None:
        part = slice(start, stop)
        _squares(unit, length, slope, kappa, first[part], second[part], kept[part], result[part])

    for_row_blocks(len(first), squares)
    return result, kept


def listed_gradients(
    unit: Array, length: Array, slope: Array, kappa: float, first: Array, second: Array, kept: Array, grad: Array
) -> tuple[Array, Array, Array, float]:
    """Partial derivatives by vectors, lengths, slopes and κ, from gradients by d², (P,)."""
    by_v, by_length, by_slope = np.zeros_like(unit), np.zeros_like(length), np.zeros_like(slope)
    by_kappa = _gradients(unit, length, slope, kappa, first, second, kept, grad, by_v, by_length, by_slope)
    return by_v, by_length, by_slope, by_kappa
