"""The most probable missing links: all pairs in blocks of rows where that is feasible, else among likely candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy import spatial
from torch import Tensor

from kappagcn.graphs import NegativeSampler
from kappagcn.graphs.negatives import pair_keys
from kappagcn.models import LinkPredictor
from kappagcn.nn import FermiDiracDecoder
from kappagcn.nn.point_distances import distances_from

Array = NDArray[Any]
BLOCK = 2**22  # pairs or scores in memory at once, but for those of a single node
NEAREST = 32  # neighbours of a node, by tangent vectors, that are candidates
TREE_NODES = 100_000  # number of nodes from which near points are looked for along random directions, not in a tree
DIRECTIONS = 8  # random directions along which points are sorted; each gives NEAREST / DIRECTIONS neighbours
MOST_SHARED = 64  # largest degree of a common neighbour through which candidates are looked for
TWO_STEPS = 5 * 10**7  # pairs by common neighbours, from which only those of lower degree are used
HUBS = 1000  # nodes of the highest degree, of which all pairs are candidates
EXACT_PAIRS = 3 * 10**8  # number of pairs up to which all are compared, which takes seconds


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


@torch.no_grad()
def top_pairs(
    model: LinkPredictor, v: Tensor, edges: Tensor, k: int, *, exact: bool | None = None
) -> tuple[Tensor, Tensor]:
    """The k pairs without an edge that have the highest log-odds: (2, K) and (K,), best first.

    Args:
        model: Link predictor, whose decoder scores the pairs.
        v: Tangent vectors of the nodes, (N, D).
        edges: Known edges, (2, E).
        k: Number of pairs; fewer come back where the graph has fewer.
        exact: Whether to compare all pairs; by default where there are at most 3·10⁸. Otherwise candidates are pairs
            with a common neighbour, near points, and pairs of hubs.
    """
    n = len(v)
    exact = n * n <= EXACT_PAIRS if exact is None else exact
    known = pair_keys(edges, n).unique()
    best = _Best(k, n)
    if exact:
        for rows in torch.arange(n).split(max(1, BLOCK // n)):
            scores = _rows_of_scores(model, v, rows)
            scores[torch.arange(n) <= rows[:, None]] = -torch.inf  # each pair once
            first, last = int(rows[0]), int(rows[-1])
            own = known[(known >= first * n) & (known < (last + 1) * n)]
            scores[own // n - first, own % n] = -torch.inf
            top, places = scores.flatten().topk(min(k, scores.numel()))
            allowed = torch.isfinite(top)
            best.add(torch.stack((places // n + first, places % n))[:, allowed], top[allowed])
        return best.pairs, best.scores
    sampler = NegativeSampler(edges, n)
    for block in candidate_pairs(v, edges):
        pairs = block[:, ~sampler.contains(block)]
        best.add(pairs, model.decode(v, pairs).double())
    return best.pairs, best.scores


class _Best:
    """The best pairs so far, each once; of equal scores the pair with the lower numbers."""

    def __init__(self, k: int, num_nodes: int) -> None:
        self.k, self.num_nodes = k, num_nodes
        self.pairs, self.scores = torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.float64)

    def add(self, pairs: Tensor, scores: Tensor) -> None:
        if len(self.scores) == self.k:
            high = scores >= self.scores[-1]
            pairs, scores = pairs[:, high], scores[high]
        pairs, scores = torch.cat((self.pairs, pairs), 1), torch.cat((self.scores, scores))
        _, once = np.unique(pair_keys(pairs, self.num_nodes).numpy(), return_index=True)  # in the order of the keys
        order = once[np.argsort(-scores.numpy()[once], kind="stable")[: self.k]]
        self.pairs, self.scores = pairs[:, order], scores[order]


def _rows_of_scores(model: LinkPredictor, v: Tensor, rows: Tensor) -> Tensor:
    """Log-odds of some nodes with all, (S, N)."""
    if isinstance(model.decoder, FermiDiracDecoder):
        decoder = model.decoder
        squares = distances_from(v, model.manifold, rows).square()
        scores: Tensor = (decoder.r.item() - squares) / decoder.t.item()
        return scores
    matrix: Any = model.decoder.matrix
    left = v if matrix is None else v @ ((matrix + matrix.t()) / 2)
    bias: Any = model.decoder.bias
    products: Tensor = left[rows] @ v.t() + bias
    return products.double()
