"""The matrix that is given by its entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.sparse.base import Matrix
from kappagcn.sparse.compressed import CSR, csr_product, product
from kappagcn.sparse.positions import Positions, versions_of
from kappagcn.tracing import is_cheap_to_read, is_compiled_for_cpu, is_concrete

__all__ = ["SparseMatrix", "check_range"]

T = TypeVar("T")


class SparseMatrix(Matrix):
    """An (M, N) matrix that multiplies dense rows: ``matrix @ x``, (N, D) → (M, D), differentiable in x.

    Repeated entries add up. The matrix cannot be changed; `with_values` gives another one with the same positions,
    which shares their order. If the values need a gradient, the product is a sum over entries, not a CSR product.

    The order of entries by row and by column is made at the first product, and again if one of the tensors was changed
    in place since then; functions compiled by ``torch.compile`` do not notice such changes.

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
        self._set(Positions(rows, cols, shape), values)

    def _set(self, positions: Positions, values: Tensor) -> None:
        self._positions, self._values = positions, values
        self._made: dict[str, Any] = {}  # what products compute once, by name
        self._versions: tuple[int, ...] | None = None  # of the tensors when it was made

    @property
    def rows(self) -> Tensor:
        """Row of each entry, (E,)."""
        return self._positions.rows

    @property
    def cols(self) -> Tensor:
        """Column of each entry, (E,)."""
        return self._positions.cols

    @property
    def values(self) -> Tensor:
        """Entries, (E,)."""
        return self._values

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(M, N)."""
        return self._positions.shape

    @property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the entries."""
        return self._values.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether the entries get a gradient."""
        return self._values.requires_grad

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "cols": self.cols, "values": self.values, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(Positions(state["rows"], state["cols"], state["shape"]), state["values"])

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

    def _derived(self, positions: Positions, values: Tensor) -> Self:
        """A matrix of the same kind with these entries."""
        matrix = object.__new__(type(self))
        matrix._set(positions, values)
        return matrix

    def with_values(self, values: Tensor) -> Self:
        """A matrix with other values at the same positions."""
        if values.shape != self.rows.shape:
            raise GraphError(f"values: expected {tuple(self.rows.shape)}, found {tuple(values.shape)}.")
        return self._derived(self._positions, values)

    def with_heads(self, values: Tensor) -> Self:
        """The block-diagonal matrix, (M·H, N·H), of one matrix for each column of values, (E, H).

        Rows of nodes for each head, (N, H, D), are its rows as (N·H, D).
        """
        if values.shape[1] == 1:
            return self.with_values(values.squeeze(1))
        return self._derived(self._positions.repeated(values.shape[1]), values.flatten())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The matrix in another dtype or on another device; arguments are those of ``Tensor.to``."""
        values = self._values.to(*args, **kwargs)
        if values is self._values:
            return self
        if values.device != self.values.device:
            return self._derived(self._positions.to(values.device), values)
        if self.requires_grad or not is_concrete(values):
            return self.with_values(values)
        return self._once(f"{values.dtype}", lambda: self.with_values(self.values.to(values.dtype)))

    def transpose(self) -> SparseMatrix:
        """The transpose, (N, M)."""
        return self._derived(Positions(self.cols, self.rows, self.shape[::-1]), self.values)

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
        return self._derived(Positions(rows, cols, self.shape), entries.values())

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
        tensors = (self._values, *others)
        return self._values.requires_grad or not (is_concrete(*tensors) or is_compiled_for_cpu(*tensors))

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
        matrix._versions = versions_of(self.rows, self.cols, self.values)
        matrix._made.update(csr=csr, csr_transpose=transpose, row_sums=row_sums)
        return matrix

    def csr(self) -> CSR:
        """The entries by row, cached."""
        return self._once("csr", lambda: self._positions.compressed(self.values))

    def csr_transpose(self) -> CSR:
        """The entries of the transpose by row, cached."""
        return self._once("csr_transpose", lambda: self._positions.compressed_transpose(self.values))

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The matrix and its transpose as CSR tensors of torch, without a gradient, cached."""
        return self._once("matrices", lambda: (self.to_csr(), self.csr_transpose().tensor(self.shape[0])))

    def arrays(self) -> tuple[Any, Any, Any]:
        """`csr`, `csr_transpose` and `row_sums` as NumPy arrays, cached."""
        return self._once("arrays", self._arrays)

    def _arrays(self) -> tuple[Any, Any, Any]:
        matrix, transpose = (tuple(map(Tensor.numpy, csr)) for csr in (self.csr(), self.csr_transpose()))
        return matrix, transpose, self.row_sums().contiguous().numpy()

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

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """The value of `make`, computed again only if the entries have been changed in place."""
        versions = versions_of(self._positions.rows, self._positions.cols, self._values)
        if versions not in (None, self._versions):
            self._made, self._versions = {}, versions
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
