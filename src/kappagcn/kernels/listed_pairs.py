"""Squared distances of listed pairs of points and objectives over them, compiled by numba, and their gradients.

With a and b the lengths of two tangent vectors at the origin, û and v̂ their directions, and s = sinc(4κa²) of each,

    S = T² + s_a s_b ab|û − v̂|²,    T = sin_κ(a − b),    d² = 4 S arsinc(κS)².

Gradients are added up pair by pair in the order of the list, in one thread, so they do not depend on threads.
"""

from __future__ import annotations

import math

import numpy as np

from kappagcn.kernels.blocks import Array, for_row_blocks, loop, parallel_for
from kappagcn.kernels.pairs import (
    B1,
    B2,
    B3,
    B4,
    B5,
    WEIGHT,
    Sums,
    add_gradients,
    hyperbolic_arc,
    near_arc,
    pulls,
    spherical_arc,
    squared_distances,
)
from kappagcn.kernels.points import ALONE, BLOCK, CHUNKS, NEAR, TURN, Points, Rows
from kappagcn.kernels.vector_math import compiled, inlined
from kappagcn.objectives import PAIR_OBJECTIVES

__all__ = ["listed_gradients", "listed_pairs", "listed_squares"]

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
        if abs(kappa * square) < NEAR:
            quarter, steep, bent = near_arc(square, kappa)
        elif kappa < 0:
            quarter, steep, bent = hyperbolic_arc(square, kappa)
        else:
            quarter, steep, bent = spherical_arc(square, kappa)
        kept[p, SINE], kept[p, APART], kept[p, SLOPE], kept[p, BENT] = sine, apart, steep, bent
        result[p] = 4 * quarter


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


@inlined
def _copy_point(i: int, points: Points, k: int, few: Points) -> None:
    for d in range(points.u.shape[1]):
        few.u[k // BLOCK, d, k % BLOCK] = points.u[i // BLOCK, d, i % BLOCK]
    for f in range(points.kappas.shape[0]):
        for number in range(4):
            few.numbers[k // BLOCK, f, number, k % BLOCK] = points.numbers[i // BLOCK, f, number, i % BLOCK]


@compiled
def _listed_pairs(
    chunk: int,
    objective: int,
    places: Array,
    others: Array,
    weights: Array,
    points: Points,
    sums: Sums,
    few: Points,
    by_few: Sums,
) -> None:
    """Pairs of every `CHUNKS`-th point from `chunk` with those that a compressed list names; gradients by the point.

    The point is copied to the first place of `few`, and those of the list to its second block.
    """
    parts, pairs = np.empty((6, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    for i in range(chunk, places.shape[0] - 1, CHUNKS):
        _copy_point(i, points, 0, few)
        by_few.by_u[0], by_few.by_numbers[0] = 0.0, 0.0
        for left in range(places[i], places[i + 1], BLOCK):
            count = min(BLOCK, places[i + 1] - left)
            pairs[WEIGHT] = 0.0
            for j in range(count):
                _copy_point(others[left + j], points, BLOCK + j, few)
                pairs[WEIGHT, j] = weights[left + j]
            squared_distances(0, 1, few, parts, pairs)
            sums.total[0] += pulls(objective, pairs)
            add_gradients(0, 1, True, few, by_few, parts, pairs)
        for d in range(points.u.shape[1]):
            sums.by_u[i // BLOCK, d, i % BLOCK] = by_few.by_u[0, d, 0]
        for f in range(points.kappas.shape[0]):
            for number in range(2):
                sums.by_numbers[i // BLOCK, number, f, i % BLOCK] = by_few.by_numbers[0, number, f, 0]
    sums.by_kappa[:] = by_few.by_kappa


def listed_pairs(
    rows: Rows, places: Array, others: Array, weights: Array, *, objective: str = "distortion"
) -> tuple[float, Array, Array]:
    """An objective over listed pairs, in both directions: i with others[places[i] : places[i + 1]].

    Returns:
        The objective over unordered pairs, its gradients by v, (N, D), and by κ, (F,).
    """
    points, number, whole = rows.points, PAIR_OBJECTIVES.index(objective), Sums.zeros(rows, slopes=True)
    some = Rows(np.zeros((2 * BLOCK, points.u.shape[1])), points.ends, points.kappas)

    def work(chunk: int) -> None:
        few = some.points._replace(u=some.points.u.copy(), numbers=some.points.numbers.copy(), turns=points.turns)
        by_few, sums = Sums.zeros(some, slopes=True).of_chunk(0), whole.of_chunk(chunk)
        sums = sums._replace(by_u=whole.by_u[0], by_numbers=whole.by_numbers[0])  # each point is in one chunk
        _listed_pairs(chunk, number, places, others, weights, points, sums, few, by_few)

    parallel_for(CHUNKS, work, threads=1 if len(others) < ALONE else None)
    # The list has each pair twice: once per point for gradients by points, twice for κ and the sum.
    return float(whole.total.sum() / 2), *rows.gradients(whole.by_u[:1], whole.by_numbers[:1], whole.by_kappa / 2)
