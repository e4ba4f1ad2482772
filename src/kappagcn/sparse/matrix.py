"""Matrices that multiply rows of nodes: what layers ask of one, and the matrix that is given by its entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.sparse.compressed import CSR, csr_product, product, sorted_order
from kappagcn.tracing import is_cheap_to_read, is_compiled_for_cpu, is_concrete

__all__ = ["Matrix", "SparseMatrix", "check_range"]

T = TypeVar("T")
Orders = dict[str, Any]  # of entries, made at their first use by matrices with the same positions


class Matrix(ABC):
    """What layers ask of a matrix (M, N) that multiplies rows of nodes, (N, D) → (M, D). It never changes.

    Attributes:
        shape: (M, N).
    """

    shape: tuple[int, int]

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """Floating-point type of the entries."""

    @property
    @abstractmethod
    def requires_grad(self) -> bool:
        """Whether the entries get a gradient."""

    @abstractmethod
    def product(self, x: Tensor) -> Tensor:
        """The product with rows, (N, D) → (M, D), differentiable."""

    @abstractmethod
    def to(self, *args: Any, **kwargs: Any) -> Matrix:
        """The matrix in another dtype or on another device; arguments are those of ``Tensor.to``."""

    @abstractmethod
    def dropout(self, p: float) -> Matrix:
        """The matrix with each entry set to 0 with probability p, and the others divided by 1 − p."""

    @abstractmethod
    def row_sums(self) -> Tensor:
        """Row sums Σ_j A_ij, (M,)."""

    @abstractmethod
    def is_non_negative(self) -> bool:
        """Whether no entry is below 0."""

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.product(x)

    def check(self, x: Tensor) -> None:
        """Refuse rows that cannot be multiplied by this matrix."""
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[0] != self.shape[1] or not x.is_floating_point():
            value = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise GraphError(
                f"expected ({self.shape[1]}, D) of floating-point numbers for a matrix {self.shape}, found {value}."
            )

    def is_local(self) -> bool:
        """Whether compiled loops can take the matrix by `csr`, `csr_transpose` and `row_sums`."""
        return False

    def any_rank(self, condition: bool) -> bool:
        """Whether the condition holds on any rank that has rows of the matrix."""
        return condition

    def mean_over_ranks(self, values: Tensor) -> Tensor:
        """The mean of one number for each node, (N,), over the nodes of all ranks."""
        return values.mean()


class SparseMatrix(Matrix):
    """An (M, N) matrix that multiplies dense rows: ``matrix @ x``, (N, D) → (M, D), differentiable in x.

    Repeated entries add up. The matrix and its tensors must not be changed; `with_values` gives another one with the
    same positions, which shares their order. If the values need a gradient, the product is a sum over entries, not a
    CSR product.

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

    rows: Tensor
    cols: Tensor
    values: Tensor
    _orders: Orders
    _made: dict[object, Any]  # what products compute once, by name

    def __init__(self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        check_range(rows, shape[0], "rows: expected entries")
        check_range(cols, shape[1], "cols: expected entries")
        self._set(rows, cols, values, shape, {})

    def _set(self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int], orders: Orders) -> None:
        self.rows, self.cols, self.values, self.shape = rows, cols, values, shape
        self._orders, self._made = orders, {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(f"{name}: expected no change of a matrix; make another one, as with_values does.")
        super().__setattr__(name, value)

    @property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the entries."""
        return self.values.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether the entries get a gradient."""
        return self.values.requires_grad

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "cols": self.cols, "values": self.values, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["rows"], state["cols"], state["values"], state["shape"], {})

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
        return SparseMatrix(rows, cols, entries.values().clone(), (matrix.shape[0], matrix.shape[1]))

    def _derived(
        self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int], orders: Orders | None = None
    ) -> Self:
        """A matrix of the same kind with these entries."""
        matrix = object.__new__(type(self))
        matrix._set(rows, cols, values, shape, {} if orders is None else orders)
        return matrix

    def with_values(self, values: Tensor) -> Self:
        """A matrix with other values at the same positions."""
        if values.shape != self.rows.shape:
            raise GraphError(f"values: expected {tuple(self.rows.shape)}, found {tuple(values.shape)}.")
        return self._derived(self.rows, self.cols, values, self.shape, self._orders)

    def with_heads(self, values: Tensor) -> Self:
        """The block-diagonal matrix, (M·H, N·H), of one matrix for each column of values, (E, H).

        Rows of nodes for each head, (N, H, D), are its rows as (N·H, D).
        """
        heads = values.shape[1]
        if heads == 1:
            return self.with_values(values.squeeze(1))
        name = f"{heads} heads"
        if name not in self._orders:
            number = torch.arange(heads, device=self.rows.device)
            rows, cols = ((heads * part.unsqueeze(1) + number).flatten() for part in (self.rows, self.cols))
            self._orders[name] = rows, cols, (heads * self.shape[0], heads * self.shape[1]), {}
        rows, cols, shape, orders = self._orders[name]
        return self._derived(rows, cols, values.flatten(), shape, orders)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The matrix in another dtype or on another device; arguments are those of ``Tensor.to``."""
        values = self.values.to(*args, **kwargs)
        if values is self.values:
            return self
        if values.device != self.values.device:
            rows, cols = (part.to(values.device) for part in (self.rows, self.cols))
            return self._derived(rows, cols, values, self.shape)
        if self.requires_grad or not is_concrete(values):
            return self.with_values(values)
        return self._once(("to", values.dtype), lambda: self.with_values(self.values.to(values.dtype)))

    def transpose(self) -> SparseMatrix:
        """The transpose, (N, M)."""
        return self._derived(self.cols, self.rows, self.values, self.shape[::-1])

    def dropout(self, p: float) -> Self:
        """The matrix with each entry set to 0 with probability p, and the others divided by 1 − p."""
        if not p:
            return self
        if self._is_in_steps() or torch.compiler.is_compiling():
            return self.with_values(nn.functional.dropout(self.values, p))
        coalesced = self._once("coalesced", self._coalesced)
        return coalesced.with_values(drop_values(coalesced.values, p))

    def _coalesced(self) -> Self:
        """The matrix with repeated entries added up."""
        entries = self.to_coo()
        rows, cols = entries.indices()
        return self._derived(rows, cols, entries.values(), self.shape)

    def product(self, x: Tensor) -> Tensor:
        """``matrix @ x`` as a method, which torch.compile can trace."""
        self.check(x)
        if x.dtype not in (torch.float32, torch.float64):  # half precision is multiplied in float32
            return self.to(torch.float32).product(x.float()).to(x.dtype)
        if x.dtype != self.dtype:
            return self.to(x.dtype).product(x)
        return self._times(self.gather(x))

    def _times(self, x: Tensor) -> Tensor:
        if self._is_in_steps(x):
            terms = self.values.unsqueeze(-1) * x.index_select(0, self.cols)
            return x.new_zeros(self.shape[0], x.shape[1]).index_add(0, self.rows, terms)
        if torch.compiler.is_compiling():
            return cast(Tensor, csr_product(*self.csr(), *self.csr_transpose(), x))
        return product(*self.matrices(), x)

    def _is_in_steps(self, *others: Tensor) -> bool:
        """Whether a product has to be made of differentiable steps of torch, and nothing may be cached."""
        tensors = (self.values, *others)
        return self.values.requires_grad or not (is_concrete(*tensors) or is_compiled_for_cpu(*tensors))

    def gather(self, x: Tensor) -> Tensor:
        """The rows that the columns of the matrix refer to, differentiable: x itself, unless ranks share the matrix."""
        return x

    def is_local(self) -> bool:
        """Whether compiled loops can take the matrix: all its rows are in this process, its values have no gradient."""
        return not self._is_in_steps()

    def is_non_negative(self) -> bool:
        """Whether no entry is below 0."""
        return bool((self.values >= 0).all())

    def row_sums(self) -> Tensor:
        """Row sums Σ_j A_ij, (M,), cached."""
        if self._is_in_steps():
            return self._summed()
        return self._once("row_sums", self._summed)

    def _summed(self) -> Tensor:
        return self._times(self.values.new_ones(self.shape[1], 1)).squeeze(-1)

    def with_arrays(self, csr: CSR, transpose: CSR, row_sums: Tensor) -> Self:
        """The matrix with arrays that were made before, so that products do not sort its entries."""
        matrix = self.with_values(self.values)
        matrix._made.update(csr=csr, csr_transpose=transpose, row_sums=row_sums)
        return matrix

    def csr(self) -> CSR:
        """The entries by row, cached."""
        return self._once("csr", lambda: self._compressed(0))

    def csr_transpose(self) -> CSR:
        """The entries of the transpose by row, cached."""
        return self._once("csr_transpose", lambda: self._compressed(1))

    def _compressed(self, axis: int) -> CSR:
        """The values in the order of rows, then columns (0), or of columns (1)."""
        if "sorted" not in self._orders:
            column_starts, by_column = sorted_order(self.cols, self.shape[1])
            row_starts, order = sorted_order(self.rows.index_select(0, by_column), self.shape[0])
            by_row = by_column.index_select(0, order)
            self._orders["sorted"] = (
                (row_starts, self.cols.index_select(0, by_row).int(), by_row),
                (column_starts, self.rows.index_select(0, by_column).int(), by_column),
            )
        starts, indices, order = self._orders["sorted"][axis]
        return CSR(starts, indices, self.values.detach().index_select(0, order))

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The matrix and its transpose as CSR tensors of torch, without a gradient, cached."""
        return self._once("matrices", lambda: (self.to_csr(), self.csr_transpose().tensor(self.shape[0])))

    def prepared(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """`matrices` in a dtype, and the row sums, as midpoints need them, cached."""
        return self._once(dtype, lambda: (*self.to(dtype).matrices(), self.row_sums()))

    def to_csr(self) -> Tensor:
        """The matrix as a CSR tensor of torch, without a gradient."""
        return self.csr().tensor(self.shape[1])

    def to_coo(self) -> Tensor:
        """The matrix as a coalesced COO tensor: entries sorted by row, repeated ones added up, without a gradient."""
        indices = torch.stack([self.rows, self.cols])
        return torch.sparse_coo_tensor(indices, self.values.detach(), self.shape, check_invariants=False).coalesce()

    def to_dense(self) -> Tensor:
        """The matrix as a dense tensor."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.rows, self.cols), self.values, accumulate=True)

    def _once(self, name: object, make: Callable[[], T]) -> T:
        """The value of `make`, computed once."""
        if name not in self._made:
            with torch.inference_mode(False):
                self._made[name] = make()
        return cast(T, self._made[name])

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


def check_range(indices: Tensor, size: int, expected: str) -> None:
    """Refuse indices outside [0, size), if they can be read without waiting; `expected` begins the message."""
    if is_cheap_to_read(indices) and indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        raise GraphError(f"{expected} from 0 to {size - 1}, found {int(indices.min())} to {int(indices.max())}.")
