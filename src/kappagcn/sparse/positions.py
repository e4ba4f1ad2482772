"""Positions of a sparse matrix's entries with their orders, which matrices with other values share."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.sparse.compressed import CSR, sorted_order

__all__ = ["Positions", "versions_of"]


class _Sorted(NamedTuple):
    """Entries sorted by row: starts of rows, columns, and numbers of entries."""

    starts: Tensor
    indices: Tensor
    order: Tensor

    def compressed(self, values: Tensor) -> CSR:
        with torch.inference_mode(False):
            return CSR(self.starts, self.indices, values.detach().index_select(0, self.order))


class Positions:
    """Positions of a matrix's entries, and their orders by row and by column, made at their first use."""

    def __init__(self, rows: Tensor, cols: Tensor, shape: tuple[int, int]) -> None:
        self.rows, self.cols, self.shape = rows, cols, shape
        self._orders: tuple[_Sorted, _Sorted] | None = None  # by row and by column
        self._versions: tuple[int, ...] | None = None
        self._repeated: Positions | None = None

    def _sort(self) -> tuple[_Sorted, _Sorted]:
        versions = versions_of(self.rows, self.cols)
        if self._orders is None or versions not in (None, self._versions):
            with torch.inference_mode(False):
                column_starts, by_column = sorted_order(self.cols, self.shape[1])
                row_starts, order = sorted_order(self.rows.index_select(0, by_column), self.shape[0])
                by_row = by_column.index_select(0, order)
                self._repeated, self._versions = None, versions
                self._orders = (
                    _Sorted(row_starts, self.cols.index_select(0, by_row).int(), by_row),
                    _Sorted(column_starts, self.rows.index_select(0, by_column).int(), by_column),
                )
        return self._orders

    def compressed(self, values: Tensor) -> CSR:
        """The entries by row, then by column."""
        return self._sort()[0].compressed(values)

    def compressed_transpose(self, values: Tensor) -> CSR:
        """The entries of the transpose by row."""
        return self._sort()[1].compressed(values)

    def repeated(self, count: int) -> Positions:
        """The positions of a block-diagonal matrix, count·i + h and count·j + h for h < count, (E · count,)."""
        if self._repeated is None or self._repeated.shape[0] != count * self.shape[0]:
            number = torch.arange(count, device=self.rows.device)
            rows, cols = ((count * part.unsqueeze(1) + number).flatten() for part in (self.rows, self.cols))
            self._repeated = Positions(rows, cols, (count * self.shape[0], count * self.shape[1]))
        return self._repeated

    def to(self, device: torch.device) -> Positions:
        """The positions on another device."""
        return Positions(self.rows.to(device), self.cols.to(device), self.shape)


def versions_of(*tensors: Tensor) -> tuple[int, ...] | None:
    """Version counters, which change with every change in place; None in compiled functions, which cannot read them."""
    if torch.compiler.is_compiling():
        return None
    return tuple(-1 if t.is_inference() else t._version for t in tensors)
