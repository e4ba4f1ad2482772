"""Sparse matrices for the inner loop: CSR with 32-bit indices, and the transpose kept for the backward.

torch's own backward of a CSR product sorts the transpose on every call, which costs more than the product.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.utils import add_remaining_self_loops

from kappagcn.errors import GraphError

__all__ = ["SparseMatrix", "bipartite_adjacency", "normalized_adjacency"]

NORMALIZATIONS = ("symmetric", "row", "none")


def multiply(matrix: Tensor, x: Tensor) -> Tensor:
    """A CSR tensor times dense rows, in their own precision also under autocast."""
    if torch.is_autocast_enabled(x.device.type):
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

    Entries given several times add up. Where the values need a gradient, or a compiler looks on, the product is a sum
    over entries instead.

    Args:
        rows: Row of each entry, (E,).
        cols: Column of each entry, (E,).
        values: Entries, (E,).
        shape: (M, N).

    >>> matrix = SparseMatrix(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([2.0, 3.0]), (2, 2))
    >>> matrix @ torch.tensor([[1.0], [10.0]])
    tensor([[20.],
            [ 3.]])
    """

    def __init__(self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        if not torch.compiler.is_compiling():
            _check_range(rows, shape[0], "rows: expected entries")
            _check_range(cols, shape[1], "cols: expected entries")
        self.rows, self.cols, self.values, self.shape = rows, cols, values, shape
        self._layout: _Layout | None = None
        self._forget()

    def _forget(self) -> None:
        self._kept: tuple[Tensor, Tensor] | None = None
        self._other: SparseMatrix | None = None
        self._sums: Tensor | None = None
        self._unique: SparseMatrix | None = None
        self._version = -1

    def _current(self) -> None:
        """Forget what was made of values that have been changed in place since."""
        if self.values.is_inference():
            return
        if self._version != self.values._version:
            self._forget()
            self._version = self.values._version

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "cols": self.cols, "values": self.values, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _layout=None)
        self._forget()

    @classmethod
    def from_tensor(cls, matrix: Tensor) -> SparseMatrix:
        """The same matrix from any torch tensor, sparse or dense."""
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
        """The same as ``matrix @ x``, in a form that torch.compile follows."""
        self.check(x)
        if x.dtype not in (torch.float32, torch.float64):  # half precision is multiplied in single
            return self.to(torch.float32).product(x.float()).to(x.dtype)
        if x.dtype != self.values.dtype:
            return self.to(x.dtype).product(x)
        return self._times(self.spread(x))

    def _times(self, x: Tensor) -> Tensor:
        if self.values.requires_grad or torch.compiler.is_compiling():
            terms = self.values.unsqueeze(-1) * x.index_select(0, self.cols)
            return x.new_zeros(self.shape[0], x.shape[1]).index_add(0, self.rows, terms)
        matrix, transpose = self.matrices()
        product: Tensor = _Product.apply(matrix, transpose, x)
        return product

    def spread(self, x: Tensor) -> Tensor:
        """Dense rows as the entries' columns count them, differentiable: x itself, where all rows are here."""
        return x

    def gather(self, x: Tensor) -> Tensor:
        """The same without a gradient, for operations that have a backward of their own."""
        return x

    def give_back(self, grad: Tensor) -> Tensor:
        """The transpose of `gather`."""
        return grad

    def anywhere(self, found: bool) -> bool:
        """Whether something was found, here or wherever else the matrix has rows."""
        return found

    def check(self, x: Tensor) -> None:
        """Refuse rows that this matrix does not multiply with."""
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[0] != self.shape[1] or not x.is_floating_point():
            found = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise GraphError(
                f"expected ({self.shape[1]}, D) of floating-point numbers for a matrix {self.shape}, found {found}."
            )

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The matrix and its transpose in torch's CSR form, made once."""
        self._current()
        if self._kept is None:
            with torch.inference_mode(False):
                layout, values = self._sorted()
                self._kept = layout.matrices(values)
        return self._kept

    def _sorted(self) -> tuple[_Layout, Tensor]:
        """Where the entries are, and the entries in that order; those given several times added up."""
        if self._layout is not None:
            return self._layout, self.values.detach()
        places = torch.stack([self.rows, self.cols])
        found = torch.sparse_coo_tensor(places, self.values.detach(), self.shape, check_invariants=False).coalesce()
        return _Layout(found.indices(), self.shape), found.values().clone()

    def coalesced(self) -> SparseMatrix:
        """The same matrix with its entries sorted by row, each once; what it takes to multiply fast can be shared."""
        if self._layout is not None:
            return self
        with torch.inference_mode(False):
            layout, values = self._sorted()
            found = self.with_values(values)
        found.rows, found.cols = layout.places
        found._layout = layout
        return found

    def with_values(self, values: Tensor) -> SparseMatrix:
        """A matrix with entries in the same places."""
        changed = copy(self)
        changed.values, changed._layout = values, self._layout
        return changed

    def dropout(self, p: float) -> SparseMatrix:
        """Each entry set to 0 with probability p, the others divided by 1 − p."""
        if not p:
            return self
        if self.values.requires_grad:
            return self.with_values(nn.functional.dropout(self.values, p))
        self._current()
        if self._unique is None:
            self._unique = self.coalesced()
        return self._unique.with_values(nn.functional.dropout(self._unique.values, p))

    def row_sums(self) -> Tensor:
        """Σ_j A_ij, (M,), by the same product that multiplies rows; summed once."""
        if self.values.requires_grad or torch.compiler.is_compiling():
            return self._times(self.values.new_ones(self.shape[1], 1)).squeeze(-1)
        self._current()
        if self._sums is None:
            with torch.inference_mode(False):
                self._sums = self._times(self.values.new_ones(self.shape[1], 1)).squeeze(-1)
        return self._sums

    def to(self, dtype: torch.dtype) -> SparseMatrix:
        """The same matrix with other numbers; made once."""
        if dtype == self.values.dtype:
            return self
        if self.values.requires_grad or torch.compiler.is_compiling():
            return self.with_values(self.values.to(dtype))
        self._current()
        if self._other is None or self._other.values.dtype != dtype:
            with torch.inference_mode(False):
                self._other = self.with_values(self.values.to(dtype))
        return self._other

    def to_dense(self) -> Tensor:
        """The matrix with all its zeros."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.rows, self.cols), self.values, accumulate=True)

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} × {self.shape[1]}, {len(self.values)} entries)"


class _Layout:
    """Places of a matrix's entries, sorted by row, and the order that sorts them by column."""

    def __init__(self, places: Tensor, shape: tuple[int, int]) -> None:
        self.places, self.shape = places, shape
        rows, cols = places
        self.order = cols.argsort(stable=True)
        self.by_row = _starts(rows, shape[0]), cols.int()
        self.by_column = _starts(cols[self.order], shape[1]), rows[self.order].int()

    def matrices(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """CSR of the matrix with these entries, and of its transpose."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            turned = (self.shape[1], self.shape[0])
            return (
                torch.sparse_csr_tensor(*self.by_row, values, self.shape, check_invariants=False),
                torch.sparse_csr_tensor(*self.by_column, values[self.order], turned, check_invariants=False),
            )


def _starts(sorted_rows: Tensor, count: int) -> Tensor:
    """Where each row begins among sorted entries, (count + 1,)."""
    return torch.searchsorted(sorted_rows, torch.arange(count + 1, device=sorted_rows.device), out_int32=True)


def normalized_adjacency(
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    *,
    normalization: str = "symmetric",
    add_self_loops: bool = True,
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """The matrix a graph convolution multiplies with: row i sums over the edges that end in i, as in PyG.

    Args:
        edge_index: Edges, (2, E), from row 0 to row 1.
        edge_weight: Their weights, (E,); 1 by default.
        num_nodes: N; by default one more than the largest node.
        normalization: ``"symmetric"`` for D^-½ A D^-½ (the paper's experiments), ``"row"`` for D⁻¹A (rows sum to 1, so
            that midpoints commute with isometries), ``"none"``.
        add_self_loops: Add a self-loop of weight 1 to every node that has none.
        dtype: Of the entries.

    >>> from kappagcn.graphs import path
    >>> normalized_adjacency(path(2).edge_index, normalization="row").to_dense()
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    _check_edges(edge_index, edge_weight, normalization)
    if num_nodes is None:
        num_nodes = int(edge_index.max()) + 1 if edge_index.numel() else 0
    _check_nodes(edge_index, num_nodes)
    weights = _weights(edge_index, edge_weight, dtype)
    if add_self_loops:
        edge_index, weights = _with_loops(edge_index, weights, num_nodes)
    degree = weights.new_zeros(num_nodes).index_add(0, edge_index[1], weights)
    return _normalized(edge_index, weights, (degree, degree), normalization)


def bipartite_adjacency(
    edge_index: Tensor,
    size: tuple[int, int],
    edge_weight: Tensor | None = None,
    *,
    normalization: str = "symmetric",
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """The matrix (M, N) for edges from N sources to M targets, two different kinds of nodes; no self-loops.

    Args:
        edge_index: Edges, (2, E), from sources in row 0 to targets in row 1.
        size: (N, M), as PyG's.
        edge_weight: Their weights, (E,); 1 by default.
        normalization: As in `normalized_adjacency`, with the sources' and the targets' own degrees.
        dtype: Of the entries.

    >>> edges = torch.tensor([[0, 1, 2], [0, 0, 1]])  # from three sources to two targets
    >>> bipartite_adjacency(edges, (3, 2), normalization="row").product(torch.ones(3, 1))
    tensor([[1.],
            [1.]])
    """
    _check_edges(edge_index, edge_weight, normalization)
    for part, count in zip(edge_index, size, strict=True):
        _check_nodes(part, count)
    weights = _weights(edge_index, edge_weight, dtype)
    degrees = [
        weights.new_zeros(count).index_add(0, part, weights) for part, count in zip(edge_index, size, strict=True)
    ]
    return _normalized(edge_index, weights, (degrees[0], degrees[1]), normalization)


def _check_edges(edge_index: Tensor, edge_weight: Tensor | None, normalization: str) -> None:
    if normalization not in NORMALIZATIONS:
        raise GraphError(f"expected normalization {', '.join(NORMALIZATIONS)}, found {normalization!r}.")
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        found = f"{tuple(edge_index.shape)}" if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise GraphError(f"expected edge_index as integers (2, E), found {found}.")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise GraphError(f"expected edge_index as integers (2, E), found {edge_index.dtype}.")
    if edge_weight is not None and (not isinstance(edge_weight, Tensor) or edge_weight.shape != edge_index.shape[1:]):
        found = f"shape {tuple(edge_weight.shape)}" if isinstance(edge_weight, Tensor) else type(edge_weight).__name__
        raise GraphError(f"expected one weight per edge as a tensor ({edge_index.shape[1]},), found {found}.")


def _check_range(places: Tensor, size: int, expected: str) -> None:
    if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < size:
        raise GraphError(f"{expected} from 0 to {size - 1}, found {int(places.min())} to {int(places.max())}.")


def _check_nodes(nodes: Tensor, count: int) -> None:
    if not torch.compiler.is_compiling():
        _check_range(nodes, count, "expected edges between nodes")


def _weights(edge_index: Tensor, edge_weight: Tensor | None, dtype: torch.dtype) -> Tensor:
    if edge_weight is None:
        return torch.ones(edge_index.shape[1], dtype=dtype, device=edge_index.device)
    return edge_weight.to(dtype)


def _with_loops(edge_index: Tensor, weights: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
    """Every node with one self-loop, of weight 1 where it had none."""
    if not torch.compiler.is_compiling():
        both: tuple[Tensor, Tensor] = add_remaining_self_loops(edge_index, weights, 1.0, nodes)
        return both
    # The same without shapes that depend on values: old self-loops stay, with weight 0.
    source, target = edge_index
    loop = source == target
    own = weights.new_ones(nodes + 1).index_put((torch.where(loop, source, nodes),), weights)[:nodes]
    every = torch.arange(nodes, device=source.device).expand(2, -1)
    return torch.cat([edge_index, every], 1), torch.cat([torch.where(loop, 0, weights), own])


def _normalized(
    edge_index: Tensor, weights: Tensor, degrees: tuple[Tensor, Tensor], normalization: str
) -> SparseMatrix:
    """With the degrees of sources and targets."""
    (source, target), (out, into) = edge_index, degrees
    if normalization == "symmetric":
        weights = _inverse_root(out)[source] * weights * _inverse_root(into)[target]
    elif normalization == "row":
        weights = weights / into.masked_fill(into == 0, 1)[target]
    return SparseMatrix(target, source, weights, (len(into), len(out)))


def _inverse_root(degree: Tensor) -> Tensor:
    return torch.where(degree > 0, degree, 1).pow(-0.5).masked_fill(degree <= 0, 0)
