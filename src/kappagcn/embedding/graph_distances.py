"""Lengths of shortest paths in the form that objectives over pairs take, and pairs within a few steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs import adjacency, shortest_paths

BYTES_OF_PAIR, LARGEST = 12, 16 * 2**30  # memory of a pair of nodes, and the most that all pairs may take
LONGEST_TABLE = 2**16
BLOCK = 2**22  # entries that are converted at a time
PER_NODE, MOST_NEAR = 128, 2**24  # near pairs: of a node on average, and in all


class GraphDistances:
    """Lengths of shortest paths from all nodes, or from some source nodes.

    Arrays are made in blocks of rows: whole temporary ones would be the most memory that an embedding takes.

    Args:
        lengths: (N, N), symmetric, 0 on the diagonal; negative or infinite where there is no path. With sources (S, N).
        sources: The nodes whose distances these are, drawn evenly, (S,); None for all.
        near: Near pairs, listed apart and not taken from the sources' rows.

    Attributes:
        lengths: As given.
        weights: 1/d², float32, (N, N) or (S, N), and 0 for pairs that do not count.
        sources: Source nodes, (S,); None for all.
        pairs: Number of ordered pairs i ≠ j that count.
        squares: Sum of d² over those pairs.
        unreachable_pairs: Number of ordered pairs i ≠ j without a path.
        longest: The largest distance; 0 where there is none.

    >>> from kappagcn.graphs import path
    >>> GraphDistances.of(path(3)).weights.tolist()
    [[0.0, 1.0, 0.25], [1.0, 0.0, 1.0], [0.25, 1.0, 0.0]]
    """

    def __init__(self, lengths: Tensor, sources: Tensor | None = None, near: NearPairs | None = None) -> None:
        if near is not None and sources is None:
            raise GraphError("near: expected near pairs only together with sources, found distances of all pairs.")
        rows = lengths.shape[-1] if sources is None else len(sources)
        if lengths.dim() != 2 or lengths.shape[0] != rows:
            raise GraphError(
                f"expected distances ({'N' if sources is None else rows}, N), found {tuple(lengths.shape)}."
            )
        places = torch.arange(rows)
        diagonal = places, places if sources is None else sources
        if int(torch.count_nonzero(lengths)) < lengths.numel() - int((lengths[diagonal] == 0).sum()):
            raise GraphError("expected distances above 0 between different nodes, found 0.")
        self.sources, self.near, self.lengths, self.weights = sources, near, lengths, _weights(lengths)
        self.weights[diagonal] = 0
        if sources is None and not torch.equal(self.weights, self.weights.T):
            raise GraphError(
                "expected the same distance in both directions, found different ones: the graph is undirected."
            )
        self.pairs = int(torch.count_nonzero(self.weights))
        self.unreachable_pairs = rows * (lengths.shape[1] - 1) - self.pairs
        counted = torch.where(torch.isfinite(lengths), lengths, 0) if lengths.is_floating_point() else lengths
        self.longest = max(float(counted.max()), 0.0) if self.pairs else 0.0
        self.squares = sum(float(row.clamp(min=0).double().square().sum()) for row in counted) if self.pairs else 0.0
        if near is not None and sources is not None:
            self.weights[near.entries(sources)] = 0

    @classmethod
    def of(
        cls,
        data: Data,
        sources: Sequence[int] | Tensor | None = None,
        near: NearPairs | None = None,
        **options: Any,
    ) -> GraphDistances:
        """Distances of a graph by `kappagcn.graphs.shortest_paths`, from all nodes or from some."""
        if sources is None:
            if BYTES_OF_PAIR * data.num_nodes**2 > LARGEST:
                raise GraphError(
                    f"expected a graph whose pairs fit into memory, found {data.num_nodes:,} nodes. Take the distances "
                    "of some sources instead."
                )
            return cls(shortest_paths(data, **options), near=near)
        starts = torch.as_tensor(sources)
        return cls(shortest_paths(data, starts, **options), starts, near)

    def __len__(self) -> int:
        return self.weights.shape[1]

    def row_norm(self, objective: str) -> float:
        """The divisor of a row's sum, on average: N for the distortion, pairs or Σd² per row for the others."""
        if objective == "distortion":
            return float(max(1, len(self)))
        whole = self.pairs if objective == "relative" else self.squares
        return whole / len(self.weights) if whole else 1.0


def _weights(lengths: Tensor) -> Tensor:
    """1/d² in float32, 0 where there is no path."""
    longest = int(lengths.max()) if lengths.numel() and not lengths.is_floating_point() else 0
    steps = torch.arange(1, max(longest, 0) + 1 if longest <= LONGEST_TABLE else 1).double()
    table = torch.cat([torch.zeros(2, dtype=torch.float64), steps.pow(-2)]).float().numpy()  # distances −1, 0, 1 …
    weights = torch.empty(lengths.shape, dtype=torch.float32)
    for rows, out in zip(_blocks(lengths), _blocks(weights), strict=True):
        if lengths.is_floating_point() or longest > LONGEST_TABLE:
            counted = (rows > 0) & torch.isfinite(rows)
            out.copy_(torch.where(counted, torch.where(counted, rows, 1).double().pow(-2), 0))
        else:
            out.copy_(torch.from_numpy(table[np.add(rows.clamp(min=-1).numpy(), 1, dtype=np.int32)]))
    return weights


def _blocks(rows: Tensor) -> tuple[Tensor, ...]:
    """Views of some rows at a time."""
    views: tuple[Tensor, ...] = rows.split(max(1, BLOCK // max(1, rows.shape[1])))
    return views


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
        budget = n + min(per_node * n, MOST_NEAR)
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
