"""The most probable missing links: all pairs in blocks of rows where that is feasible, else among likely candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.graphs import NegativeSampler
from kappagcn.graphs.negatives import pair_keys
from kappagcn.links.candidates import candidate_pairs
from kappagcn.models import LinkPredictor
from kappagcn.nn import FermiDiracDecoder
from kappagcn.nn.point_distances import distances_from

__all__ = ["top_pairs"]

EXACT_PAIRS = 3 * 10**8  # number of pairs up to which all are compared, which takes seconds
BLOCK = 2**22  # scores in memory at once


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
