"""A rank's rows of the adjacency in CSR form, ready to multiply, in as little memory as the products need."""

from __future__ import annotations

import mmap
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from kappagcn.distributed.halo_exchange import Exchange
from kappagcn.distributed.matrix import PartMatrix
from kappagcn.sparse.matrix import SparseMatrix, csr_tensor, multiply

__all__ = ["CSR", "CSRPartMatrix", "normalized_rows"]

Array = NDArray[Any]


class CSR(NamedTuple):
    """The arrays of a CSR matrix: int32 (M + 1,) and (E,), and values (E,)."""

    indptr: Array
    indices: Array
    values: Array


def normalized_rows(
    indptr: Array,
    indices: Array,
    weights: Array | None,
    degrees: Array,
    *,
    normalization: str,
    loop_weight: float | None,
    dtype: Any,
) -> CSR:
    """Own rows of the normalised adjacency with self-loops, as `kappagcn.sparse.normalized_adjacency` makes them.

    Args:
        indptr: Start of each own row in `indices`, (own + 1,).
        indices: Columns: own nodes, then the halo, (E,).
        weights: Weights of edges, (E,); None for 1.
        degrees: Sum of the weights of the edges of each own and halo node, (own + halo,).
        normalization: ``"symmetric"``, ``"row"`` or ``"none"``.
        loop_weight: Weight of a self-loop at every node; None for no self-loops.
        dtype: NumPy's type of the values.
    """
    own, counts = len(indptr) - 1, np.diff(indptr)
    full = degrees.astype(np.float64) + (loop_weight or 0.0)
    rooted = np.divide(1.0, np.sqrt(full), out=np.zeros_like(full), where=full > 0).astype(dtype)
    of_row: Array | None = None
    of_column: Array | None = None
    if normalization == "symmetric":
        of_row, of_column = rooted[:own], rooted
    elif normalization == "row":
        of_row = (1 / np.where(full[:own] == 0, 1, full[:own])).astype(dtype)
    values = np.ones(len(indices), dtype) if weights is None else weights.astype(dtype)
    if of_column is not None:
        values *= of_column[indices]
    if of_row is not None:
        values *= np.repeat(of_row, counts)
    if loop_weight is None:
        return CSR(indptr.astype(np.int32), np.asarray(indices, np.int32), values)
    starts = indptr[:-1]
    loops = np.full(own, loop_weight, dtype)
    loops *= 1 if of_row is None else of_row
    loops *= 1 if of_column is None else of_column[:own]
    indices = np.insert(indices, starts, np.arange(own, dtype=np.int32))
    return CSR((indptr + np.arange(own + 1)).astype(np.int32), indices, np.insert(values, starts, loops))


def transposed(matrix: CSR, columns: int) -> CSR:
    """The transpose, (columns, M)."""
    rows = sp.csr_array((matrix.values, matrix.indices, matrix.indptr), shape=(len(matrix.indptr) - 1, columns))
    turned = rows.tocsc()
    return CSR(turned.indptr, turned.indices, turned.data)


class _Product(torch.autograd.Function):
    """The exchange of rows and the product in one step, so that an exchange can keep the product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: CSRPartMatrix, exchange: Exchange) -> Tensor:
        ctx.matrix, ctx.exchange = matrix, exchange
        return exchange.product(matrix.csr(), x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.exchange.product_backward(ctx.matrix.transpose(), grad), None, None


class CSRPartMatrix(PartMatrix):
    """A `PartMatrix` from CSR arrays, which are not copied; coordinates are made when a layer needs them.

    Args:
        matrix: Own rows.
        shape: (own, own + halo).
        exchange: Fetches the rows of other ranks.
        transpose: The transposed matrix; by default made when a gradient needs it.
        sums: Sums of the rows, (own,); by default made when a layer needs them.
    """

    def __init__(
        self,
        matrix: CSR,
        shape: tuple[int, int],
        exchange: Exchange,
        transpose: CSR | None = None,
        sums: Array | None = None,
    ) -> None:
        self.shape, self.exchange, self._layout = shape, exchange, None
        self.values, self._arrays, self._transpose = torch.from_numpy(matrix.values), matrix, transpose
        self._coordinates: tuple[Tensor, Tensor] | None = None
        self._clear_cache()
        self._version = self.values._version
        self._row_sums = None if sums is None else torch.from_numpy(sums)

    def _gather_and_multiply(self, x: Tensor) -> Tensor:
        if self._is_traced(x):
            return super()._gather_and_multiply(x)
        product: Tensor = _Product.apply(x, self, self.exchange.next_gather())
        self._release_pages()
        return product

    def _times(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled() or self._is_traced(x):
            return super()._times(x)
        return multiply(self.csr(), x)

    def csr(self) -> Tensor:
        """The matrix as a CSR tensor."""
        return _tensor(self._arrays, self.shape)

    def transpose(self) -> Tensor:
        """The transpose as a CSR tensor."""
        if self._transpose is None:
            self._transpose = transposed(self._arrays, self.shape[1])
        return _tensor(self._transpose, self.shape[::-1])

    def _release_pages(self) -> None:
        """Give the memory of mapped arrays back to the system until the next product; it stays in the disk's cache."""
        for array in self._arrays:
            pages = getattr(array, "_mmap", None)
            if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The matrix and its transpose as CSR tensors."""
        return self.csr(), self.transpose()

    def _pairs(self) -> tuple[Tensor, Tensor]:
        if self._coordinates is None:
            counts = torch.from_numpy(np.diff(self._arrays.indptr))
            rows = torch.arange(self.shape[0]).repeat_interleave(counts)
            self._coordinates = rows, torch.from_numpy(self._arrays.indices).long()
        return self._coordinates

    @property
    def rows(self) -> Tensor:  # type: ignore[override]
        """Row of each entry, (E,)."""
        return self._pairs()[0]

    @property
    def cols(self) -> Tensor:  # type: ignore[override]
        """Column of each entry, (E,)."""
        return self._pairs()[1]

    def to(self, dtype: torch.dtype) -> SparseMatrix:
        """The matrix in another dtype, cached."""
        if dtype == self.values.dtype:
            return self
        if self._converted is None or self._converted.values.dtype != dtype:
            matrix = self._arrays._replace(values=self.values.to(dtype).numpy())
            turned = self._transpose
            if turned is not None:
                turned = turned._replace(values=torch.from_numpy(turned.values).to(dtype).numpy())
            self._converted = CSRPartMatrix(matrix, self.shape, self.exchange, turned)
        return self._converted

    def _plain(self) -> PartMatrix:
        return PartMatrix(self.rows, self.cols, self.values, self.shape, self.exchange)

    def with_values(self, values: Tensor) -> SparseMatrix:
        """A matrix with other values at the same positions."""
        return self._plain().with_values(values)

    def coalesced(self) -> SparseMatrix:
        """The matrix with its entries sorted by row; `with_values` then shares the layout."""
        return self._plain().coalesced()

    def __getstate__(self) -> dict[str, Any]:
        return {"arrays": self._arrays, "shape": self.shape, "exchange": self.exchange}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["arrays"], state["shape"], state["exchange"])  # type: ignore[misc]


def _tensor(matrix: CSR, shape: tuple[int, int]) -> Tensor:
    starts, indices, values = map(torch.from_numpy, matrix)
    return csr_tensor(starts, indices, values, shape)
