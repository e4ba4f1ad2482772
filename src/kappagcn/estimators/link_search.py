"""The most probable missing links: all pairs in blocks of rows where that is feasible, else among likely candidates."""

from __future__ import annotations

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
from kappagcn.training import distances_from

__all__ = ["top_pairs"]

Array = NDArray[Any]
EXACT_PAIRS = 3 * 10**8  # number of pairs up to which all are compared, which takes seconds
BLOCK = 2**22  # scores in memory at once
NEAREST = 32  # neighbours of a node, by tangent vectors, that are candidates
MOST_SHARED = 64  # largest degree of a common neighbour through which candidates are looked for
HUBS = 1000  # nodes of the highest degree, of which all pairs are candidates


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
    best = _Best(k)
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
    pairs = _candidates(v, edges, n)
    pairs = pairs[:, ~NegativeSampler(edges, n).contains(pairs)]
    for some in pairs.split(BLOCK, 1):
        best.add(some, model.decode(v, some).double())
    return best.pairs, best.scores


class _Best:
    """The best pairs so far; of equal scores the pair with the lower numbers."""

    def __init__(self, k: int) -> None:
        self.k, self.pairs, self.scores = k, torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.float64)

    def add(self, pairs: Tensor, scores: Tensor) -> None:
        pairs, scores = torch.cat((self.pairs, pairs), 1), torch.cat((self.scores, scores))
        order = np.lexsort((pairs[1].numpy(), pairs[0].numpy(), -scores.numpy()))[: self.k].copy()
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


def _candidates(v: Tensor, edges: Tensor, n: int) -> Tensor:
    """Pairs with a common neighbour, near points, and pairs of hubs, each once, (2, P)."""
    first, second = torch.cat((edges, edges.flip(0)), 1).numpy()
    links = sp.csr_array((np.ones(len(first), np.float32), (first, second)), shape=(n, n))
    degree = np.diff(links.indptr)
    # Not through hubs: all pairs would be candidates.
    few = sp.csr_array(sp.diags_array((degree <= MOST_SHARED).astype(np.float32)) @ links)
    two_steps = sp.coo_array(sp.triu(links @ few, 1))
    _, near = spatial.cKDTree(v.double().numpy()).query(v.double().numpy(), min(NEAREST + 1, n))
    near = near.reshape(n, -1)
    hubs = np.sort(np.argsort(-degree, kind="stable")[:HUBS])
    rows, cols = np.triu_indices(len(hubs), 1)
    ends = [
        np.concatenate([two_steps.coords[0], np.repeat(np.arange(n), near.shape[1]), hubs[rows]]),
        np.concatenate([two_steps.coords[1], near.reshape(-1), hubs[cols]]),
    ]
    pairs = torch.from_numpy(np.stack(ends).astype(np.int64))
    keys = pair_keys(pairs[:, pairs[0] != pairs[1]], n).unique()
    return torch.stack((keys // n, keys % n))
