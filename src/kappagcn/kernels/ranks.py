r"""A ranking loss compiled by numba, which is lowest if neighbours in the graph are nearest points in the space.

Σ_a Σ_b −log(e^{−d_ab}/(e^{−d_ab} + Σ_c e^{−d_ac})),    b the neighbours of a, c all other nodes except a
"""

from __future__ import annotations

import math

import numpy as np

from kappagcn.kernels.blocks import Array, parallel_for
from kappagcn.kernels.pairs import PULL, TOTAL, Sums, add_gradients, squared_distances
from kappagcn.kernels.points import ALONE, BLOCK, CHUNKS, Points, Rows
from kappagcn.kernels.vector_math import compiled, exponential, inlined

__all__ = ["ranked_rows"]

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
    chunk: int, slopes: bool, sources: Array, places: Array, others: Array, points: Points, sums: Sums
) -> None:
    """The ranking loss of every `CHUNKS`-th source from `chunk`, and its gradients by all points."""
    n, blocks = places.shape[0] - 1, points.u.shape[0]
    parts, pairs = np.empty((6, points.kappas.shape[0], BLOCK)), np.empty((5, BLOCK))
    distances, pull = np.empty(n), np.empty(n)
    for place in range(chunk, sources.shape[0], CHUNKS):
        i = sources[place]
        neighbours = others[places[i] : places[i + 1]]
        if neighbours.shape[0] == 0:
            continue
        for block in range(blocks):
            squared_distances(i, block, points, parts, pairs)
            for j in range(min(BLOCK, n - block * BLOCK)):
                distances[block * BLOCK + j] = math.sqrt(max(pairs[TOTAL, j], 0.0))
        sums.total[0] += _row_of_ranks(i, distances, neighbours, pull)
        for block in range(blocks if slopes else 0):
            squared_distances(i, block, points, parts, pairs)
            pairs[PULL] = 0.0
            for j in range(min(BLOCK, n - block * BLOCK)):
                pairs[PULL, j] = pull[block * BLOCK + j]
            add_gradients(i, block, True, points, sums, parts, pairs)


def ranked_rows(
    rows: Rows, places: Array, others: Array, sources: Array | None = None, *, slopes: bool = True
) -> tuple[float, Array, Array]:
    """The ranking loss of sources, or of all points, whose neighbours a compressed list names.

    Returns:
        The loss, its gradients by v, (N, D), and by κ, (F,).
    """
    starts, sums = np.arange(rows.count) if sources is None else sources, Sums.zeros(rows, slopes=slopes)

    def work(chunk: int) -> None:
        _ranked_rows(chunk, slopes, starts, places, others, rows.points, sums.of_chunk(chunk))

    parallel_for(CHUNKS, work, threads=1 if rows.count * len(starts) < ALONE else None)
    return sums.added(rows, slopes=slopes)
