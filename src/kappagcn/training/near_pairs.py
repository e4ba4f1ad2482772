"""Pairs of nodes within a few steps, which decide where a point lies among its neighbours and are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.graphs import adjacency

__all__ = ["NearPairs"]

Array = NDArray[Any]
PER_NODE = 128
MOST = 2**24  # pairs in all


class NearPairs:
    """A compressed list of pairs, both ways: i with ``others[places[i] : places[i + 1]]``.

    Drawing sources evenly meets such a pair once in many steps, though it pulls harder than hundreds of far ones; so
    all of them are taken in every step, and sources only for what is farther.

    Attributes:
        steps: Pairs at most so far apart; 0 where there are none.
        places: (N + 1,).
        others: (P,).
        weights: 1/d², float32, (P,).

    >>> from kappagcn.graphs import path
    >>> near = NearPairs.of(path(4), per_node=2.5)
    >>> near.steps, near.others.tolist()
    (2, [1, 2, 0, 2, 3, 0, 1, 3, 1, 2])
    """

    def __init__(self, steps: int, places: Tensor, others: Tensor, weights: Tensor) -> None:
        self.steps, self.places, self.others, self.weights = steps, places, others, weights

    @classmethod
    def of(cls, graph: Data, per_node: float = PER_NODE) -> NearPairs:
        """As many steps as give at most so many others for a node, on average; edges without weights count as steps.

        Where edges have lengths there is no list: how near two nodes are is not known before all paths are.
        """
        links = adjacency(graph).astype(np.int32)
        n = links.shape[0]
        if graph.get("edge_weight") is not None:
            return cls._listed(0, sp.csr_array((n, n), dtype=np.int32))
        links.data[:] = 1
        step = (links + sp.eye_array(n, dtype=np.int32, format="csr")).tocsr()
        budget = n + min(per_node * n, MOST)
        ball, total, steps = sp.eye_array(n, dtype=np.int32, format="csr"), sp.csr_array((n, n), dtype=np.int32), 0
        while (ball @ np.diff(step.indptr)).sum() <= 8 * budget:  # no more than so many entries in the next
            wider = sp.csr_array(ball @ step)
            if wider.nnz > budget or wider.nnz == ball.nnz:
                break
            wider.data[:] = 1
            ball, total, steps = wider, total + wider, steps + 1
        return cls._listed(steps, sp.csr_array(total))

    @classmethod
    def _listed(cls, steps: int, total: sp.csr_array) -> NearPairs:
        """From the number of balls that hold a pair: d of them do not, of those with radius 1 … steps, but the last."""
        total.sort_indices()
        lengths = steps + 1 - total.data
        rows = np.repeat(np.arange(total.shape[0]), np.diff(total.indptr))
        kept = rows != total.indices
        places = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=total.shape[0]))])
        weights = (lengths[kept].astype(np.float64) ** -2).astype(np.float32)
        return cls(steps, *map(torch.from_numpy, (places, total.indices[kept].astype(np.int64), weights)))

    def share(self, rank: int, size: int) -> NearPairs:
        """The pairs of a stretch of nodes, one of `size` with about as many pairs each; the stretches add up to all."""
        borders = torch.searchsorted(self.places, torch.arange(size + 1) * len(self.others) // size)
        first, last = self.places[borders[rank]], self.places[borders[rank + 1]]
        return NearPairs(self.steps, self.places.clamp(int(first), int(last)), self.others, self.weights)

    def entries(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Where pairs of these nodes are in a matrix with a row for each of them: rows and columns."""
        counts = (self.places[1:] - self.places[:-1])[nodes]
        rows = torch.repeat_interleave(torch.arange(len(nodes)), counts)
        first = torch.repeat_interleave(self.places[:-1][nodes] - counts.cumsum(0) + counts, counts)
        return rows, self.others[first + torch.arange(len(rows))]
