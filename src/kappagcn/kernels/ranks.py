r"""A ranking loss compiled by numba, which is lowest if neighbours in the graph are nearest points in the space.

Σ_a Σ_b −log(e^{−d_ab}/(e^{−d_ab} + Σ_c e^{−d_ac})),    b the neighbours of a, c all other nodes except a
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.blocks import parallel_for
from kappagcn.kernels.pair_distances import squared_distances, take_direction
from kappagcn.kernels.pair_gradients import Sums, add_gradients, added, borrowed_sums, no_sums, of_chunk
from kappagcn.kernels.point_blocks import (
    ALONE,
    BLOCK,
    CHUNKS,
    PULL,
    TOTAL,
    Points,
    Rows,
    Work,
    borrowed_points,
    borrowed_work,
)
from kappagcn.kernels.vector_math import compiled, exponential, inlined

__all__ = ["ranked_rows"]

Array = NDArray[Any]
LEAST = 1e-12  # smallest distance in a denominator
LEAST_EXPONENT = -700.0  # e to the power of this is as good as 0


@inlined
def _logistic(x: float) -> float:
    """1/(1 + e^−x)."""
    small = math.exp(-abs(x))
    return 1 / (1 + small) if x > 0 else small / (1 + small)


@inlined
def _row_of_ranks(i: int, distances: Array, neighbours: Array, pull: Array) -> float:
    """The ranking loss of point i; into `pull` its derivatives by the squared distances from i."""
    n, nearest, others = distances.shape[0], np.inf, 0.0
    pull[:] = distances
    pull[i] = np.inf
    for b in neighbours:
        pull[b] = np.inf
    for j in range(n):
        nearest = min(nearest, pull[j])
    if nearest == np.inf:  # all others are neighbours
        pull[:] = 0.0
        return 0.0
    for j in range(n):
        pull[j] = exponential(max(nearest - pull[j], LEAST_EXPONENT))
        others += pull[j]
    loss, shares, rest = 0.0, 0.0, math.log(others) - nearest
    for b in neighbours:
        excess = distances[b] + rest
        loss += max(excess, 0.0) + math.log1p(math.exp(-abs(excess)))  # log(1 + e^excess)
        shares += _logistic(excess)
    for j in range(n):
        pull[j] *= -0.5 * shares / (others * max(distances[j], LEAST))
    pull[i] = 0.0
    for b in neighbours:
        pull[b] = 0.5 * _logistic(distances[b] + rest) / max(distances[b], LEAST)
    return loss


@compiled
def _ranked_rows(
    first: int,
    slopes: bool,
    sources: Array,
    places: Array,
    others: Array,
    owned: Points,
    space: Work,
    totals: Sums,
) -> None:
    """The ranking loss of every `CHUNKS`-th source from `first`, and its gradients by all points."""
    points, work, sums = borrowed_points(owned), borrowed_work(space), borrowed_sums(totals)
    n, blocks, pairs = places.shape[0] - 1, points.u.shape[0], work.pairs
    distances, pull = np.empty(n), np.empty(n)
    for place in range(first, sources.shape[0], CHUNKS):
        i = sources[place]
        neighbours = others[places[i] : places[i + 1]]
        if neighbours.shape[0] == 0:
            continue
        take_direction(i, points, work)
        for block in range(blocks):
            squared_distances(i, points.u[block], points.numbers[block], 0, BLOCK, points, work)
            start = block * BLOCK
            for j in range(min(BLOCK, n - start)):
                distances[start + j] = math.sqrt(max(pairs[TOTAL + j], 0.0))
        sums.totals[0] += _row_of_ranks(i, distances, neighbours, pull)
        for block in range(blocks if slopes else 0):
            u, numbers = points.u[block], points.numbers[block]
            squared_distances(i, u, numbers, 0, BLOCK, points, work)
            start, stop = block * BLOCK, min((block + 1) * BLOCK, n)
            pairs[PULL : PULL + BLOCK] = 0.0
            pairs[PULL : PULL + stop - start] = pull[start:stop]
            add_gradients(i, u, numbers, 0, BLOCK, True, points, sums, sums.by_u[block], sums.by_numbers[block], work)


def ranked_rows(
    rows: Rows, places: Array, others: Array, sources: Array | None = None, *, slopes: bool = True
) -> tuple[float, Array, Array]:
    """The ranking loss of sources, or of all points, whose neighbours a compressed list names.

    Returns:
        The loss, its gradients by v, (N, D), and by κ, (F,).
    """
    n, every = rows.count, np.arange(rows.count) if sources is None else sources
    sums = no_sums(rows, slopes=slopes)

    def work(chunk: int) -> None:
        _ranked_rows(chunk, slopes, every, places, others, rows.points, rows.work(), of_chunk(sums, chunk))

    parallel_for(CHUNKS, work, threads=1 if n * len(every) < ALONE else None)
    totals, by_v, by_k = added(rows, sums, slopes=slopes)
    return float(totals[0]), by_v, by_k
