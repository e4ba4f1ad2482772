"""Objectives over pairs of points compiled by numba: value and gradients in one pass over the pairs.

With w = 1/d_G² an objective adds up, for each pair,

    distortion   (d²w − 1)²
    relative     √(x² + width²) − width with x = d√w − 1, which is |x| for a width of 0
    stress       (d√w − 1)²/w

Its derivative by d², the pull, goes to `add_gradients`, which knows how d² depends on both points and on κ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import parallel_for
from kappagcn.kernels.intrinsics import prefetch
from kappagcn.kernels.pair_distances import squared_distances, take_direction
from kappagcn.kernels.pair_gradients import NOTHING, Sums, add_gradients, added, borrowed_sums, no_sums, of_chunk
from kappagcn.kernels.pair_limits import LEAST_RATIO, LEAST_ROOT
from kappagcn.kernels.point_blocks import (
    ALONE,
    BLOCK,
    CHUNKS,
    PULL,
    STEP,
    TOTAL,
    WEIGHT,
    Points,
    Rows,
    Work,
    borrowed_points,
    borrowed_work,
)
from kappagcn.kernels.vector_math import compiled, inlined
from kappagcn.objectives import PAIR_OBJECTIVES

__all__ = ["all_pairs", "listed_pairs"]

Array = NDArray[Any]
LINE = 16  # weights in float32 of a cache line
DISTORTION, RELATIVE, STRESS = range(len(PAIR_OBJECTIVES))


@inlined
def _pulls(objective: int, width: float, m: int, pairs: Array, totals: Array) -> None:
    """Add the objective of m pairs, and its value for a width of 0; write its derivatives by d² into `PULL`."""
    loss, sharp = 0.0, 0.0
    if objective == DISTORTION:
        for j in range(min(m, BLOCK)):
            w = pairs[WEIGHT + j]
            excess = pairs[TOTAL + j] * w - 1 if w > 0 else 0.0
            loss += excess * excess
            pairs[PULL + j] = 2 * excess * w
        sharp = loss
    elif objective == RELATIVE:
        for j in range(min(m, BLOCK)):
            w = pairs[WEIGHT + j]
            ratio = math.sqrt(max(pairs[TOTAL + j] * w, LEAST_RATIO)) if w > 0 else 1.0
            excess = ratio - 1
            root = math.sqrt(excess * excess + width * width)
            loss += root - width
            sharp += abs(excess)
            pairs[PULL + j] = 0.5 * w * excess / (ratio * max(root, LEAST_ROOT))
    else:
        for j in range(min(m, BLOCK)):
            w = pairs[WEIGHT + j]
            ratio = math.sqrt(max(pairs[TOTAL + j] * w, LEAST_RATIO)) if w > 0 else 1.0
            excess = ratio - 1
            loss += excess * excess / w if w > 0 else 0.0
            pairs[PULL + j] = excess / ratio
        sharp = loss
    totals[0] += loss
    totals[3] += sharp


@inlined
def _extremes(m: int, pairs: Array, totals: Array) -> None:
    """Smallest and largest d²w so far."""
    least, most = totals[1], totals[2]
    for j in range(min(m, BLOCK)):
        ratio, counted = pairs[TOTAL + j] * pairs[WEIGHT + j], pairs[WEIGHT + j] > 0
        least = ratio if counted and ratio < least else least
        most = ratio if counted and ratio > most else most
    totals[1], totals[2] = least, most


@compiled
def _rows_of_pairs(
    first: int,
    objective: int,
    smoothing: float,
    slopes: bool,
    sources: Array,
    once: bool,
    owned: Points,
    space: Work,
    weights: Array,
    totals: Sums,
) -> None:
    """Pairs of every `CHUNKS`-th source from `first` with all points; with `once` sources are all, and pairs i < j."""
    points, work, sums = borrowed_points(owned), borrowed_work(space), borrowed_sums(totals)
    n, pairs = weights.shape[1], work.pairs
    for block in range(points.u.shape[0]):
        left, stop = block * BLOCK, min((block + 1) * BLOCK, n)
        width = -(-(stop - left) // STEP) * STEP
        u, numbers, by_u, by_numbers = points.u[block], points.numbers[block], sums.by_u[block], sums.by_numbers[block]
        for place in range(first, sources.shape[0], CHUNKS):
            i = sources[place]
            start = max(i + 1, left) if once else left
            if start >= stop:
                break
            unwanted = (start - left) // STEP * STEP
            m = width - unwanted
            if place + CHUNKS < sources.shape[0]:  # these weights are far from the last ones in memory
                for j in range(left, stop, LINE):
                    prefetch(weights, place + CHUNKS, j)
            take_direction(i, points, work)
            squared_distances(i, u, numbers, unwanted, m, points, work)
            _take_weights(weights[place, start:stop], start - left - unwanted, pairs)
            _pulls(objective, smoothing, m, pairs, sums.totals)
            if slopes:
                add_gradients(i, u, numbers, unwanted, m, once, points, sums, by_u, by_numbers, work)
            else:
                _extremes(m, pairs, sums.totals)


@inlined
def _take_weights(w: Array, start: int, pairs: Array) -> None:
    """Copy the weights to the pairs from `start` on; the others get 0."""
    for j in range(BLOCK):
        pairs[WEIGHT + j] = 0.0
    wanted = pairs[WEIGHT + start : WEIGHT + BLOCK]
    for j in range(w.shape[0]):
        wanted[j] = w[j]


@compiled
def _rows_of_listed_pairs(
    first: int,
    objective: int,
    places: Array,
    others: Array,
    weights: Array,
    owned: Points,
    space: Work,
    totals: Sums,
    copied: Points,
    unused: Sums,
) -> None:
    """Pairs of every `CHUNKS`-th point from `first` with those that a compressed list names; gradients by the point.

    Points of the list are copied beside each other, to the end of the one block of `copied`.
    """
    points, work, sums = borrowed_points(owned), borrowed_work(space), borrowed_sums(totals)
    u, numbers, by_u, by_numbers = copied.u[0], copied.numbers[0], unused.by_u[0], unused.by_numbers[0]
    for i in range(first, places.shape[0] - 1, CHUNKS):
        take_direction(i, points, work)
        for left in range(places[i], places[i + 1], BLOCK):
            count = min(BLOCK, places[i + 1] - left)
            for j in range(count):
                block, place = others[left + j] // BLOCK, others[left + j] % BLOCK
                for d in range(work.own.shape[0]):
                    u[d * BLOCK + BLOCK - count + j] = points.u[block, d * BLOCK + place]
                for f in range(numbers.shape[0]):
                    for number in range(4):
                        k = number * BLOCK
                        numbers[f, k + BLOCK - count + j] = points.numbers[block, f, k + place]
            unwanted = (BLOCK - count) // STEP * STEP
            m = BLOCK - unwanted
            squared_distances(i, u, numbers, unwanted, m, points, work)
            _take_weights(weights[left : left + count], m - count, work.pairs)
            _pulls(objective, 0.0, m, work.pairs, sums.totals)
            add_gradients(i, u, numbers, unwanted, m, True, points, sums, by_u, by_numbers, work)


def all_pairs(
    rows: Rows,
    weights: Array,
    sources: Array | None = None,
    *,
    objective: str = "distortion",
    width: float = 0.0,
    slopes: bool = True,
) -> tuple[Array, Array, Array]:
    """An objective over unordered pairs i < j with a weight above 0.

    Args:
        rows: The points.
        weights: 1/d_G² for each pair, (N, N), 0 for pairs to be left out; float32 or float64.
        sources: Points whose pairs are taken, with `weights` (B, N). Pairs of a source with itself have weight 0.
            Gradients are then by the other point.
        objective: One of `PAIR_OBJECTIVES`.
        width: Width over which the kinks of ``"relative"`` are smoothed.
        slopes: Whether to compute gradients.

    Returns:
        The objective, without slopes the least and the largest d²w, and the objective for a width of 0, (4,); gradients
        by v, (N, D), and by κ, (F,).
    """
    n, every = rows.count, np.arange(rows.count) if sources is None else sources
    sums, number = no_sums(rows, slopes=slopes), PAIR_OBJECTIVES.index(objective)

    def work(chunk: int) -> None:
        _rows_of_pairs(
            chunk,
            number,
            width,
            slopes,
            every,
            sources is None,
            rows.points,
            rows.work(),
            weights,
            of_chunk(sums, chunk),
        )

    parallel_for(CHUNKS, work, threads=1 if n * len(every) < ALONE else None)
    return added(rows, sums, slopes=slopes)


def listed_pairs(
    rows: Rows, places: Array, others: Array, weights: Array, *, objective: str = "distortion"
) -> tuple[float, Array, Array]:
    """An objective over listed pairs, in both directions: i with others[places[i] : places[i + 1]].

    Returns:
        The objective over unordered pairs, its gradients by v, (N, D), and by κ, (F,).
    """
    whole, number = no_sums(rows, slopes=True, chunks=1), PAIR_OBJECTIVES.index(objective)
    by_kappa, totals = np.zeros((CHUNKS, len(rows.kappas))), np.tile(NOTHING, (CHUNKS, 1))

    def work(chunk: int) -> None:
        sums = Sums(whole.by_u[0], whole.by_numbers[0], by_kappa[chunk], totals[chunk])
        block = Rows(np.zeros((1, rows.dims)), rows.ends, rows.kappas)
        unused = of_chunk(no_sums(block, slopes=True, chunks=1), 0)
        _rows_of_listed_pairs(
            chunk, number, places, others, weights, rows.points, rows.work(), sums, block.points, unused
        )

    parallel_for(CHUNKS, work, threads=1 if len(others) < ALONE else None)
    # The list has each pair twice: once per point for gradients by points, twice for κ and the sum.
    return float(totals[:, 0].sum() / 2), *rows.gradients(whole.by_u, whole.by_numbers, by_kappa / 2)
