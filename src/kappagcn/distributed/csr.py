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

from kappagcn import sparse
from kappagcn.distributed.halo_exchange import Exchange
from kappagcn.distributed.matrix import PartMatrix
from kappagcn.sparse.compressed import multiply
from kappagcn.sparse.positions import Prepared

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
        return exchange.product(matrix.to_csr(), x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.exchange.product_backward(ctx.matrix.csr_transpose().tensor(ctx.matrix.shape[0]), grad), None, None


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
        self._shape, self.exchange, self._arrays, self._transpose = shape, exchange, matrix, transpose
        self._values, self._prepared = torch.from_numpy(matrix.values), None
        self._part: PartMatrix | None = None
        if sums is not None:
            self._prepare().row_sums = torch.from_numpy(sums)

    def _gather_and_multiply(self, x: Tensor) -> Tensor:
        if self._is_in_steps(x):
            return super()._gather_and_multiply(x)
        product: Tensor = _Product.apply(x, self, self.exchange.next_gather())
        self._release_pages()
        return product

    def _times(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled() or self._is_in_steps(x):
            return super()._times(x)
        return multiply(self.to_csr(), x)

    def csr(self) -> sparse.CSR:
        """The entries by row."""
        return _tensors(self._arrays)

    def csr_transpose(self) -> sparse.CSR:
        """The entries of the transpose by row."""
        if self._transpose is None:
            self._transpose = transposed(self._arrays, self.shape[1])
        return _tensors(self._transpose)

    def _release_pages(self) -> None:
        """Give the memory of mapped arrays back to the system until the next product; it stays in the disk's cache."""
        for array in self._arrays:
            pages = getattr(array, "_mmap", None)
            if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(own, own + halo)."""
        return self._shape

    @property
    def rows(self) -> Tensor:
        """Row of each entry, (E,)."""
        return self._plain().rows

    @property
    def cols(self) -> Tensor:
        """Column of each entry, (E,)."""
        return self._plain().cols

    def _plain(self) -> PartMatrix:
        """The matrix with coordinates."""
        if self._part is None:
            counts = torch.from_numpy(np.diff(self._arrays.indptr))
            rows = torch.arange(self.shape[0]).repeat_interleave(counts)
            cols = torch.from_numpy(self._arrays.indices).long()
            self._part = PartMatrix(rows, cols, self.values, self.shape, self.exchange)
        return self._part

    def _prepare(self) -> Prepared:
        """What products have computed from the entries, which are never changed in place."""
        if self._prepared is None:
            self._prepared = Prepared(None)
        return self._prepared

    def to(self, *args: Any, **kwargs: Any) -> PartMatrix:  # type: ignore[override]
        """The matrix in another dtype, cached, or on another device; arguments are those of ``Tensor.to``."""
        values = self.values.to(*args, **kwargs)
        if values is self.values:
            return self
        if not values.is_cpu:
            return self._plain().to(*args, **kwargs)
        prepared = self._prepare()
        if prepared.converted is None or prepared.converted.dtype != values.dtype:
            turned = self._transpose
            if turned is not None:
                turned = turned._replace(values=torch.from_numpy(turned.values).to(values.dtype).numpy())
            matrix = self._arrays._replace(values=values.numpy())
            prepared.converted = CSRPartMatrix(matrix, self.shape, self.exchange, turned)
        converted: CSRPartMatrix = prepared.converted
        return converted

    def with_values(self, values: Tensor) -> PartMatrix:  # type: ignore[override]
        """A matrix with other values at the same positions."""
        return self._plain().with_values(values)

    def dropout(self, p: float) -> PartMatrix:  # type: ignore[override]
        """The matrix with each entry set to 0 with probability p, and the others divided by 1 − p."""
        return self._plain().dropout(p) if p else self

    def __getstate__(self) -> dict[str, Any]:
        return {"arrays": self._arrays, "shape": self.shape, "exchange": self.exchange}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["arrays"], state["shape"], state["exchange"])  # type: ignore[misc]


def _tensors(matrix: CSR) -> sparse.CSR:
    return sparse.CSR(*map(torch.from_numpy, matrix))
