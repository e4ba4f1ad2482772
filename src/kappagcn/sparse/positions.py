"""Positions of a sparse matrix's entries with their orders, and what products compute once from a matrix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.sparse.compressed import CSR, sorted_order

__all__ = ["Positions", "Prepared", "versions_of"]


class Prepared:
    """What products compute once from the entries of a matrix."""

    def __init__(self, versions: tuple[int, ...] | None) -> None:
        self.versions = versions
        self.csr: CSR | None = None
        self.transpose: CSR | None = None
        self.row_sums: Tensor | None = None
        self.matrices: tuple[Tensor, Tensor] | None = None  # CSR tensors
        self.arrays: tuple[Any, Any, Any] | None = None  # the first three as NumPy arrays
        self.converted: Any = None  # the matrix in another dtype
        self.coalesced: Any = None  # the matrix with repeated entries added up


class Positions:
    """Positions of a matrix's entries, and their orders by row and by column, made at their first use."""

    def __init__(self, rows: Tensor, cols: Tensor, shape: tuple[int, int]) -> None:
        self.rows, self.cols, self.shape = rows, cols, shape
        self._orders: _Orders | None = None
        self._repeated: Positions | None = None

    def _sort(self) -> _Orders:
        versions = versions_of(self.rows, self.cols)
        if self._orders is None or versions not in (None, self._orders.versions):
            with torch.inference_mode(False):
                column_starts, by_column = sorted_order(self.cols, self.shape[1])
                row_starts, order = sorted_order(self.rows.index_select(0, by_column), self.shape[0])
                by_row = by_column.index_select(0, order)
                self._repeated = None
                self._orders = _Orders(
                    versions,
                    (row_starts, self.cols.index_select(0, by_row).int(), by_row),
                    (column_starts, self.rows.index_select(0, by_column).int(), by_column),
                )
        return self._orders

    def compressed(self, values: Tensor) -> CSR:
        """The entries by row, then by column."""
        return _compressed(*self._sort().by_row, values)

    def compressed_transpose(self, values: Tensor) -> CSR:
        """The entries of the transpose by row."""
        return _compressed(*self._sort().by_column, values)

    def repeated(self, count: int) -> Positions:
        """The positions of a block-diagonal matrix, count·i + h and count·j + h for h < count, (E · count,)."""
        if self._repeated is None or self._repeated.shape[0] != count * self.shape[0]:
            number = torch.arange(count, device=self.rows.device)
            rows, cols = ((count * part.unsqueeze(1) + number).flatten() for part in (self.rows, self.cols))
            self._repeated = Positions(rows, cols, (count * self.shape[0], count * self.shape[1]))
        return self._repeated

    def transpose(self) -> Positions:
        """The positions of the transpose."""
        turned = Positions(self.cols, self.rows, self.shape[::-1])
        if self._orders is not None:
            versions = self._orders.versions
            turned._orders = _Orders(
                None if versions is None else versions[::-1], self._orders.by_column, self._orders.by_row
            )
        return turned

    def to(self, device: torch.device) -> Positions:
        """The positions on another device."""
        return Positions(self.rows.to(device), self.cols.to(device), self.shape)


class _Orders:
    """Starts of rows, columns and numbers of entries sorted by row, and the same of the transpose."""

    def __init__(
        self,
        versions: tuple[int, ...] | None,
        by_row: tuple[Tensor, Tensor, Tensor],
        by_column: tuple[Tensor, Tensor, Tensor],
    ) -> None:
        self.versions, self.by_row, self.by_column = versions, by_row, by_column


def _compressed(starts: Tensor, indices: Tensor, order: Tensor, values: Tensor) -> CSR:
    with torch.inference_mode(False):
        return CSR(starts, indices, values.detach().index_select(0, order))


def versions_of(*tensors: Tensor) -> tuple[int, ...] | None:
    """Version counters, which change with every change in place; None in compiled functions, which cannot read them."""
    if torch.compiler.is_compiling():
        return None
    return tuple(-1 if t.is_inference() else t._version for t in tensors)
