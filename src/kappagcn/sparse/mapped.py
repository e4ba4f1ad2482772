"""The normalised adjacency of a graph that need not fit into memory: rows are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.sparse.normalization import NORMALIZATIONS, inverse_root
from kappagcn.sparse.sampler import RowsWithLoops

__all__ = ["MappedAdjacency"]


class MappedAdjacency(RowsWithLoops):
    r"""The rows of Â = D^-½ (A + wI) D^-½, or of another normalisation, from CSR arrays that may be mapped files.

    Args:
        indptr: Start of each row, (N + 1,).
        indices: Columns, (E,), of a symmetric matrix without self-loops.
        weights: Weights of the entries, (E,); None for 1.
        strengths: Sum of the weights of each row, (N,); needed with weights.
        on_read: Called with the number of entries of each access.

    >>> adjacency = MappedAdjacency(torch.tensor([0, 1, 2]), torch.tensor([1, 0])).normalized("row", 1.0)
    >>> adjacency.values_at(torch.tensor([0]), torch.tensor([0])), adjacency.loop_values(torch.tensor([0]))
    (tensor([0.5000]), tensor([0.5000]))
    """

    def __init__(
        self,
        indptr: Tensor,
        indices: Tensor,
        weights: Tensor | None = None,
        strengths: Tensor | None = None,
        *,
        on_read: Callable[[int], None] = lambda entries: None,
    ) -> None:
        if (weights is None) != (strengths is None):
            raise GraphError("expected weights and strengths, or neither, found one of them.")
        self.starts, self.cols, self.weights, self.strengths = indptr, indices, weights, strengths
        self.shape = (len(indptr) - 1, len(indptr) - 1)
        self.normalization, self.dtype, self._on_read = "none", torch.float32, on_read
        self.loop_weight: float | None = None

    def normalized(
        self, normalization: str, loop_weight: float | None, dtype: torch.dtype = torch.float32
    ) -> MappedAdjacency:
        """The normalised matrix, as `normalized_adjacency` makes it; self-loops have `loop_weight`, if any."""
        if normalization not in NORMALIZATIONS:
            raise GraphError(f"expected normalization {', '.join(NORMALIZATIONS)}, found {normalization!r}.")
        matrix = MappedAdjacency(self.starts, self.cols, self.weights, self.strengths, on_read=self._on_read)
        matrix.normalization, matrix.loop_weight, matrix.dtype = normalization, loop_weight, dtype
        return matrix

    def _degrees(self, nodes: Tensor) -> Tensor:
        sums = self.counts(nodes) if self.strengths is None else self.strengths[nodes]
        return sums.to(self.dtype) + (self.loop_weight or 0.0)

    def _scaled(self, rows: Tensor, columns: Tensor, values: Tensor) -> Tensor:
        if self.normalization == "symmetric":
            return values * inverse_root(self._degrees(rows)) * inverse_root(self._degrees(columns))
        if self.normalization == "row":
            degrees = self._degrees(rows)
            return values / degrees.masked_fill(degrees == 0, 1)
        return values

    def columns_at(self, entries: Tensor) -> Tensor:
        """Columns of these entries, (R,)."""
        self._on_read(entries.numel())
        columns: Tensor = self.cols[entries].long()
        return columns

    def values_at(self, rows: Tensor, entries: Tensor) -> Tensor:
        """Values of these entries, which lie in these rows, (R,)."""
        raw = torch.ones(entries.shape, dtype=self.dtype) if self.weights is None else self.weights[entries]
        return self._scaled(rows, self.columns_at(entries), raw.to(self.dtype))

    def has_loops(self, nodes: Tensor) -> Tensor:
        """Whether these nodes have a self-loop, (R,)."""
        return torch.full(nodes.shape, self.loop_weight is not None)

    def loop_values(self, nodes: Tensor) -> Tensor:
        """Values on the diagonal, (R,)."""
        return self._scaled(nodes, nodes, torch.full(nodes.shape, self.loop_weight or 0.0, dtype=self.dtype))

    def rows_between(self, start: int, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        """Entries of the rows from `start` to `stop`: row from 0, column, value; self-loops come last."""
        nodes = torch.arange(start, stop)
        local, entries = self.entries(nodes)
        loops = self.has_loops(nodes).nonzero().flatten()
        rows, cols = torch.cat([local, loops]), torch.cat([self.columns_at(entries), nodes[loops]])
        return rows, cols, torch.cat([self.values_at(nodes[local], entries), self.loop_values(nodes[loops])])
