"""Likely missing links of a large graph, in blocks: pairs with a common neighbour, near points, and pairs of hubs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy import spatial
from torch import Tensor

__all__ = ["candidate_pairs"]

Array = NDArray[Any]
BLOCK = 2**22  # pairs in memory at once, but for those of a single node
NEAREST = 32  # neighbours of a node, by tangent vectors, that are candidates
TREE_NODES = 100_000  # number of nodes from which near points are looked for along random directions, not in a tree
DIRECTIONS = 8  # random directions along which points are sorted; each gives NEAREST / DIRECTIONS neighbours
MOST_SHARED = 64  # largest degree of a common neighbour through which candidates are looked for
TWO_STEPS = 5 * 10**7  # pairs by common neighbours, from which only those of lower degree are used
HUBS = 1000  # nodes of the highest degree, of which all pairs are candidates


def candidate_pairs(v: Tensor, edges: Tensor) -> Iterator[Tensor]:
    """Blocks of pairs of different nodes, (2, P) each, the lower number first; a pair may come more than once.

    Args:
        v: Tangent vectors of the nodes, (N, D).
        edges: Known edges, each once, (2, E).
    """
    n = len(v)
    first, second = (torch.cat((a, b)).to(torch.int32).numpy() for a, b in (edges, edges.flip(0)))
    links = sp.csr_array((np.ones(len(first), np.float32), (first, second)), shape=(n, n))
    degree = np.diff(links.indptr)
    hubs = np.sort(np.argsort(-degree, kind="stable")[:HUBS])
    rows, cols = np.triu_indices(len(hubs), 1)
    yield _pairs(hubs[rows], hubs[cols])
    yield from _with_common_neighbour(links, degree)
    points = v.double().numpy()
    yield from _near_by_tree(points) if n < TREE_NODES else _near_by_directions(points)


def _with_common_neighbour(links: sp.csr_array, degree: Array) -> Iterator[Tensor]:
    """Pairs two steps apart through a node of low degree; through hubs all pairs would be candidates."""
    pairs_through = np.bincount(degree, weights=degree.astype(np.float64) ** 2, minlength=MOST_SHARED + 1).cumsum()
    most = int(np.flatnonzero(pairs_through[: MOST_SHARED + 1] <= TWO_STEPS)[-1])
    shared = degree <= most
    through = sp.csr_array(sp.diags_array(shared.astype(np.float32)) @ links)
    reached = (links @ np.where(shared, degree, 0).astype(np.float64)).cumsum()
    for rows in _row_blocks(reached):
        two_steps = sp.coo_array(links[rows] @ through)
        first, second = two_steps.coords[0] + rows.start, two_steps.coords[1]
        once = first < second
        yield _pairs(first[once], second[once])


def _row_blocks(counts: Array) -> Iterator[slice]:
    """Consecutive rows that have at most BLOCK pairs together, or one row; `counts` are cumulative sums."""
    start = 0
    while start < len(counts):
        before = counts[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(counts, before + BLOCK, side="right")))
        yield slice(start, stop)
        start = stop


def _near_by_tree(points: Array) -> Iterator[Tensor]:
    """The nearest points of each."""
    n = len(points)
    tree = spatial.cKDTree(points)
    for rows in np.array_split(np.arange(n), 1 + n * NEAREST // BLOCK):
        _, near = tree.query(points[rows], min(NEAREST + 1, n))
        near = near.reshape(len(rows), -1)
        yield _pairs(np.repeat(rows, near.shape[1]), near.reshape(-1))


def _near_by_directions(points: Array) -> Iterator[Tensor]:
    """Points that follow one another along random directions: fewer of the nearest, in time that grows as sorting."""
    directions = np.random.default_rng(0).standard_normal((points.shape[1], DIRECTIONS))
    for places in (points @ directions).T:
        order = np.argsort(places, kind="stable")
        for step in range(1, NEAREST // DIRECTIONS + 1):
            yield _pairs(order[:-step], order[step:])


def _pairs(first: Array, second: Array) -> Tensor:
    """Pairs of different nodes, the lower number first, (2, P)."""
    different = first != second
    ends = np.stack((first[different], second[different])).astype(np.int64)
    return torch.from_numpy(np.sort(ends, axis=0))
