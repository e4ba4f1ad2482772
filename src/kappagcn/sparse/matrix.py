"""Sparse matrices for training: CSR with 32-bit indices, and the transpose kept for the backward pass.

torch's own backward of a CSR product sorts the transpose on every call, which costs more than the product.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.tracing import is_autocast_on, is_cheap_to_read, is_concrete

__all__ = ["SparseMatrix", "check_range", "csr_tensor", "multiply"]


def multiply(matrix: Tensor, x: Tensor) -> Tensor:
    """The product of a CSR tensor and dense rows, in the rows' precision also under autocast."""
    if is_autocast_on(x):
        with torch.autocast(x.device.type, enabled=False):
            return matrix @ x
    return matrix @ x


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, x: Tensor) -> Tensor:
        ctx.matrices = matrix, transpose
        return multiply(matrix, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        matrix, transpose = ctx.matrices
        return None, None, _Product.apply(transpose, matrix, grad)


class SparseMatrix:
    """An (M, N) matrix that multiplies dense rows: ``matrix @ x``, (N, D) → (M, D), differentiable in x.

    Repeated entries add up. If the values need a gradient, or under torch.compile, the product is a sum over entries
    in place of a CSR product.

    Args:
        rows: Row of each entry, (E,).
        cols: Column of each entry, (E,).
        values: Entries, (E,).
        shape: Shape (M, N) of the matrix.

    >>> matrix = SparseMatrix(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([2.0, 3.0]), (2, 2))
    >>> matrix @ torch.tensor([[1.0], [10.0]])
    tensor([[20.],
            [ 3.]])
    """

    def __init__(self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        check_range(rows, shape[0], "rows: expected entries")
        check_range(cols, shape[1], "cols: expected entries")
        self.rows, self.cols, self.values, self.shape = rows, cols, values, shape
        self._layout: _Layout | None = None
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._csr: tuple[Tensor, Tensor] | None = None
        self._csr_arrays: tuple[Any, Any, Any] | None = None
        self._converted: SparseMatrix | None = None
        self._row_sums: Tensor | None = None
        self._coalesced: SparseMatrix | None = None
        self._version = -1

    def _check_cache(self) -> None:
        """Clear the cache if the values have been changed in place."""
        if not self.values.is_inference() and self._version != self.values._version:
            self._clear_cache()
            self._version = self.values._version

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "cols": self.cols, "values": self.values, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _layout=None)
        self._clear_cache()

    @classmethod
    def from_tensor(cls, matrix: Tensor) -> SparseMatrix:
        """A matrix from any torch tensor, sparse or dense."""
        if matrix.requires_grad:
            raise GraphError(
                "expected a sparse tensor without gradient, found one that requires it; give a dense one, or edges as "
                "edge_index with edge_weight."
            )
        entries = matrix.to_sparse_coo().coalesce()
        rows, cols = entries.indices().clone()  # views of a sparse tensor cannot be compiled
        return cls(rows, cols, entries.values().clone(), (matrix.shape[0], matrix.shape[1]))

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.product(x)

    def product(self, x: Tensor) -> Tensor:
        """``matrix @ x`` as a method, which torch.compile can trace."""
        self.check(x)
        if x.dtype not in (torch.float32, torch.float64):  # half precision is multiplied in float32
            return self.to(torch.float32).product(x.float()).to(x.dtype)
        if x.dtype != self.values.dtype:
            return self.to(x.dtype).product(x)
        return self._gather_and_multiply(x)

    def _gather_and_multiply(self, x: Tensor) -> Tensor:
        return self._times(self.gather(x))

    def _times(self, x: Tensor) -> Tensor:
        if self._is_traced(x):
            terms = self.values.unsqueeze(-1) * x.index_select(0, self.cols)
            return x.new_zeros(self.shape[0], x.shape[1]).index_add(0, self.rows, terms)
        matrix, transpose = self.matrices()
        product: Tensor = _Product.apply(matrix, transpose, x)
        return product

    def _is_traced(self, *others: Tensor) -> bool:
        """Whether a product has to be made of differentiable steps, and nothing may be cached."""
        return self.values.requires_grad or not is_concrete(self.values, *others)

    def gather(self, x: Tensor) -> Tensor:
        """The rows that the columns of the matrix refer to, differentiable: x itself, unless ranks share the matrix."""
        return x

    def is_local(self) -> bool:
        """Whether compiled loops can take the matrix: all its rows are in this process, its values have no gradient."""
        return not self._is_traced()

    def any_rank(self, condition: bool) -> bool:
        """Whether the condition holds on any rank that has rows of the matrix."""
        return condition

    def mean_over_ranks(self, values: Tensor) -> Tensor:
        """The mean of one number for each node, (N,), over the nodes of all ranks."""
        return values.mean()

    def check(self, x: Tensor) -> None:
        """Refuse rows that cannot be multiplied by this matrix."""
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[0] != self.shape[1] or not x.is_floating_point():
            value = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise GraphError(
                f"expected ({self.shape[1]}, D) of floating-point numbers for a matrix {self.shape}, found {value}."
            )

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The matrix and its transpose as CSR tensors, cached."""
        self._check_cache()
        if self._csr is None:
            with torch.inference_mode(False):
                layout, values = self._sorted()
                self._csr = layout.matrices(values)
        return self._csr

    def arrays(self) -> tuple[Any, Any, Any]:
        """Row starts, columns and values of the matrix and of its transpose, and row sums, as NumPy arrays, cached."""
        self._check_cache()
        if self._csr_arrays is None:
            one, other = (
                (csr.crow_indices().numpy(), csr.col_indices().numpy(), csr.values().numpy()) for csr in self.matrices()
            )
            self._csr_arrays = one, other, self.row_sums().contiguous().numpy()
        return self._csr_arrays

    def _sorted(self) -> tuple[_Layout, Tensor]:
        """The sorted positions of the entries and their values in this order, with repeated entries added up."""
        if self._layout is not None:
            return self._layout, self.values.detach()
        entries = self.to_coo()
        return _Layout(entries.indices(), self.shape), entries.values().clone()

    def to_coo(self) -> Tensor:
        """The matrix as a coalesced COO tensor: entries sorted by row, repeated ones added up, without a gradient."""
        indices = torch.stack([self.rows, self.cols])
        return torch.sparse_coo_tensor(indices, self.values.detach(), self.shape, check_invariants=False).coalesce()

    def coalesced(self) -> SparseMatrix:
        """The matrix with its entries sorted by row and without repetitions; `with_values` then shares the layout."""
        if self._layout is not None:
            return self
        with torch.inference_mode(False):
            layout, values = self._sorted()
            matrix = self.with_values(values)
        matrix.rows, matrix.cols = layout.indices
        matrix._layout = layout
        return matrix

    def with_values(self, values: Tensor) -> SparseMatrix:
        """A matrix with other values at the same positions."""
        changed = copy(self)
        changed.values, changed._layout = values, self._layout
        return changed

    def dropout(self, p: float) -> SparseMatrix:
        """The matrix with each entry set to 0 with probability p, and the others divided by 1 − p."""
        if not p:
            return self
        if self._is_traced():
            return self.with_values(nn.functional.dropout(self.values, p))
        self._check_cache()
        if self._coalesced is None:
            self._coalesced = self.coalesced()
        return self._coalesced.with_values(drop_values(self._coalesced.values, p))

    def row_sums(self) -> Tensor:
        """Row sums Σ_j A_ij, (M,), cached."""
        if self._is_traced():
            return self._times(self.values.new_ones(self.shape[1], 1)).squeeze(-1)
        self._check_cache()
        if self._row_sums is None:
            with torch.inference_mode(False):
                self._row_sums = self._times(self.values.new_ones(self.shape[1], 1)).squeeze(-1)
        return self._row_sums

    def to(self, dtype: torch.dtype) -> SparseMatrix:
        """The matrix in another dtype, cached."""
        if dtype == self.values.dtype:
            return self
        if self._is_traced():
            return self.with_values(self.values.to(dtype))
        self._check_cache()
        if self._converted is None or self._converted.values.dtype != dtype:
            with torch.inference_mode(False):
                self._converted = self.with_values(self.values.to(dtype))
        return self._converted

    def to_dense(self) -> Tensor:
        """The matrix as a dense tensor."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.rows, self.cols), self.values, accumulate=True)

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} × {self.shape[1]}, {self.values.shape[0]} entries)"


def drop_values(values: Tensor, p: float) -> Tensor:
    """Values, (E,), of which each is set to 0 with probability p and the others are divided by 1 − p, without gradient.

    Four values share 64 random bits: a tenth of the time of `torch.nn.functional.dropout`, with p rounded to 16 bits.

    >>> drop_values(torch.ones(4), 0.0)
    tensor([1., 1., 1., 1.])
    """
    dropped = round(p * 2**16)
    if values.device.type != "cpu" or not 0 < dropped < 2**16:
        return nn.functional.dropout(values, p)
    bits = torch.empty(-(-values.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = bits.view(torch.int16)[: values.numel()] >= dropped - 2**15
    return (values * kept).mul_(2**16 / (2**16 - dropped))


class _Layout:
    """Positions of a matrix's entries sorted by row, (2, E), and the permutation that sorts them by column."""

    def __init__(self, indices: Tensor, shape: tuple[int, int]) -> None:
        self.indices, self.shape = indices, shape
        rows, cols = indices
        self.order = cols.argsort(stable=True)
        self.by_row = _row_starts(rows, shape[0]), cols.int()
        self.by_column = _row_starts(cols[self.order], shape[1]), rows[self.order].int()

    def matrices(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The matrix with these values and its transpose as CSR tensors."""
        rows, columns = self.shape
        # index_select takes a tenth of the time of values[order]
        turned = csr_tensor(*self.by_column, values.index_select(0, self.order), (columns, rows))
        return csr_tensor(*self.by_row, values, self.shape), turned


def csr_tensor(starts: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor that shares these tensors, unchecked."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts, indices, values, shape, check_invariants=False)


def _row_starts(sorted_rows: Tensor, count: int) -> Tensor:
    """The position of each row's first entry among sorted entries, (count + 1,)."""
    return torch.searchsorted(sorted_rows, torch.arange(count + 1, device=sorted_rows.device), out_int32=True)


def check_range(indices: Tensor, size: int, expected: str) -> None:
    """Refuse indices outside [0, size), if they can be read without waiting; `expected` begins the message."""
    if is_cheap_to_read(indices) and indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        raise GraphError(f"{expected} from 0 to {size - 1}, found {int(indices.min())} to {int(indices.max())}.")
