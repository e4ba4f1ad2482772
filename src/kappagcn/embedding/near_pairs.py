"""Pairs of nodes within a few steps: few pairs, which determine where a point lies among its neighbours."""

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
MOST = 2**24  # most pairs in the list


class NearPairs:
    """A compressed list of pairs, both ways: i with ``others[places[i] : places[i + 1]]``.

    Randomly drawn sources contain such a pair once in many steps, though its gradient is larger than that of hundreds
    of far pairs. So every step takes all near pairs, and sources only for pairs farther apart.

    Attributes:
        steps: Largest number of steps between the nodes of a pair; 0 without pairs.
        places: Start of each node's list in `others`, (N + 1,).
        others: Second nodes of the pairs, (P,).
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
        """Near pairs of a graph: the number of steps is the largest with at most `per_node` pairs per node on average.

        Graphs whose edges have lengths get an empty list: distances are not known before all paths are computed.
        """
        links = adjacency(graph).astype(np.int32)
        n = links.shape[0]
        if graph.get("edge_weight") is not None:
            return cls._listed(0, sp.csr_array((n, n), dtype=np.int32))
        links.data[:] = 1
        step = (links + sp.eye_array(n, dtype=np.int32, format="csr")).tocsr()
        budget = n + min(per_node * n, MOST)
        ball, total, steps = sp.eye_array(n, dtype=np.int32, format="csr"), sp.csr_array((n, n), dtype=np.int32), 0
        while (ball @ np.diff(step.indptr)).sum() <= 8 * budget:  # bound on the entries of the next matrix
            wider = sp.csr_array(ball @ step)
            if wider.nnz > budget or wider.nnz == ball.nnz:
                break
            wider.data[:] = 1
            ball, total, steps = wider, total + wider, steps + 1
        return cls._listed(steps, sp.csr_array(total))

    @classmethod
    def _listed(cls, steps: int, total: sp.csr_array) -> NearPairs:
        """The list, from the number of balls of radius 1 … steps around i that contain j: steps + 1 − d."""
        total.sort_indices()
        lengths = steps + 1 - total.data
        rows = np.repeat(np.arange(total.shape[0]), np.diff(total.indptr))
        kept = rows != total.indices
        places = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=total.shape[0]))])
        weights = (lengths[kept].astype(np.float64) ** -2).astype(np.float32)
        return cls(steps, *map(torch.from_numpy, (places, total.indices[kept].astype(np.int64), weights)))

    def share(self, rank: int, size: int) -> NearPairs:
        """The pairs of one of `size` ranges of nodes, which together have all pairs, each range about equally many."""
        borders = torch.searchsorted(self.places, torch.arange(size + 1) * len(self.others) // size)
        first, last = self.places[borders[rank]], self.places[borders[rank + 1]]
        return NearPairs(self.steps, self.places.clamp(int(first), int(last)), self.others, self.weights)

    def entries(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Positions of the pairs of these nodes in a matrix with a row for each of them: rows and columns."""
        counts = (self.places[1:] - self.places[:-1])[nodes]
        rows = torch.repeat_interleave(torch.arange(len(nodes)), counts)
        first = torch.repeat_interleave(self.places[:-1][nodes] - counts.cumsum(0) + counts, counts)
        return rows, self.others[first + torch.arange(len(rows))]
