"""Objectives over pairs of points compiled by numba: value and gradients in one pass over the pairs.

With w = 1/d_G² an objective adds up, for each pair,

    distortion   (d²w − 1)²
    relative     |d√w − 1|
    stress       (d√w − 1)²/w

Its derivative by d², the pull, goes to `add_gradients`, which knows how d² depends on both points and on κ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import parallel_for
from kappagcn.kernels.pair_distances import ALONE, BLOCK, CHUNKS, Points, Rows, compiled, squared_distances
from kappagcn.kernels.pair_gradients import Sums, add_gradients, added, no_sums
from kappagcn.objectives import PAIR_OBJECTIVES

__all__ = ["all_pairs", "listed_pairs"]

Array = NDArray[Any]
DISTORTION, RELATIVE, STRESS = range(len(PAIR_OBJECTIVES))
LEAST_RATIO = 1e-24  # of d²w: the distance has no derivative where points coincide


@compiled
def _pulls(objective: int, squares: Array, w: Array, pull: Array, m: int) -> float:
    """The objective of m pairs; into `pull` its derivatives by d²."""
    loss = 0.0
    if objective == DISTORTION:
        for j in range(m):
            excess = squares[j] * w[j] - 1 if w[j] > 0 else 0.0
            loss += excess * excess
            pull[j] = 2 * excess * w[j]
        return loss
    for j in range(m):
        ratio = math.sqrt(max(squares[j] * w[j], LEAST_RATIO)) if w[j] > 0 else 1.0
        excess = ratio - 1
        if objective == RELATIVE:
            loss += abs(excess)
            pull[j] = 0.5 * w[j] / ratio if excess > 0 else -0.5 * w[j] / ratio
        else:
            loss += excess * excess / w[j] if w[j] > 0 else 0.0
            pull[j] = excess / ratio
    return loss


@compiled
def _block_of_pairs(
    i: int,
    start: int,
    stop: int,
    objective: int,
    slopes: bool,
    once: bool,
    w: Array,
    points: Points,
    sums: Sums,
    parts: Array,
    flat: Array,
) -> None:
    """Pairs of point i with those of a block: adds to the objective and its gradients."""
    m, totals, squares = stop - start, sums.totals, flat[0]
    squared_distances(i, start, stop, points, parts, flat)
    totals[0] += _pulls(objective, squares, w, flat[3], m)
    if slopes:
        add_gradients(i, start, stop, once, points, sums, parts, flat)
        return
    for j in range(m):
        if w[j] > 0:
            totals[1], totals[2] = min(totals[1], squares[j] * w[j]), max(totals[2], squares[j] * w[j])


@compiled
def _rows_of_pairs(
    first: int, objective: int, slopes: bool, sources: Array, once: bool, points: Points, weights: Array, sums: Sums
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
            w = weights[place, start:stop]
            _block_of_pairs(i, start, stop, objective, slopes, once, w, points, sums, parts, flat)


@compiled
def _rows_of_listed_pairs(
    first: int, objective: int, places: Array, others: Array, weights: Array, points: Points, sums: Sums
) -> None:
    """Pairs of every `CHUNKS`-th point from `first` with those that a compressed list names; gradients by the point.

    Points of the list are copied beside each other, the point itself in front.
    """
    dims, factors, width = points.u.shape[0], points.kappas.shape[0], BLOCK + 1
    parts, flat = np.ones((5, factors, BLOCK)), np.empty((5, BLOCK))
    u, near = np.empty((dims, width)), np.empty((4, factors, width))
    copied = Points(u, near[0], near[1], near[2], near[3], points.ends, points.kappas, points.turns, points.bends)
    own = Sums(
        np.zeros((dims, width)), np.zeros((factors, width)), np.zeros((factors, width)), sums.by_kappa, sums.totals
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
            w = weights[left:stop]
            _block_of_pairs(0, 1, stop - left + 1, objective, True, True, w, copied, own, parts, flat)
            sums.by_u[:, i] += own.by_u[:, 0]
            sums.by_r[:, i] += own.by_r[:, 0]
            sums.by_sine[:, i] += own.by_sine[:, 0]


def all_pairs(
    rows: Rows, weights: Array, sources: Array | None = None, *, objective: str = "distortion", slopes: bool = True
) -> tuple[Array, Array, Array]:
    """An objective over unordered pairs i < j with a weight above 0.

    Args:
        rows: The points.
        weights: 1/d_G² for each pair, (N, N), 0 for pairs to be left out; float32 or float64.
        sources: Only pairs with these, and `weights` theirs alone, (B, N). Pairs of a source with itself have weight 0.
            Gradients are then by the other point.
        objective: One of `PAIR_OBJECTIVES`.
        slopes: Whether to compute gradients.

    Returns:
        The objective and, without slopes, the least and the largest d²w, (3,); gradients by v, (N, D), and by κ, (F,).
    """
    n, every = rows.u.shape[1], np.arange(rows.u.shape[1]) if sources is None else sources
    sums, number = no_sums(rows, n if slopes else 0), PAIR_OBJECTIVES.index(objective)

    def work(chunk: int) -> None:
        _rows_of_pairs(chunk, number, slopes, every, sources is None, rows.points, weights, sums[chunk])

    parallel_for(CHUNKS, work, alone=n * len(every) < ALONE)
    return added(rows, sums, slopes=slopes)


def listed_pairs(
    rows: Rows, places: Array, others: Array, weights: Array, *, objective: str = "distortion"
) -> tuple[float, Array, Array]:
    """The same over pairs that a compressed list names, both ways: i with others[places[i] : places[i + 1]].

    Returns:
        The objective over unordered pairs, its gradients by v, (N, D), and by κ, (F,).
    """
    n, f, number = rows.u.shape[1], len(rows.kappas), PAIR_OBJECTIVES.index(objective)
    by_u, by_r, by_sine = np.zeros((len(rows.u), n)), np.zeros((f, n)), np.zeros((f, n))
    by_kappa, totals = np.zeros((CHUNKS, f)), np.tile([0.0, np.inf, 0.0], (CHUNKS, 1))

    def work(chunk: int) -> None:
        sums = Sums(by_u, by_r, by_sine, by_kappa[chunk], totals[chunk])
        _rows_of_listed_pairs(chunk, number, places, others, weights, rows.points, sums)

    parallel_for(CHUNKS, work, alone=len(others) < ALONE)
    # Each pair was met twice: by its points once for each of them, by κ and in the sum twice.
    return float(totals[:, 0].sum() / 2), *rows.gradients(by_u, by_r, by_sine, by_kappa.sum(0) / 2)
