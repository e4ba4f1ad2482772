"""Sparse matrices for the inner loop: CSR with 32-bit indices, and the transpose kept for the backward.

torch's own backward of a CSR product sorts the transpose on every call, which costs more than the product.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.utils import add_remaining_self_loops

from kappagcn.errors import GraphError

__all__ = ["SparseMatrix", "normalized_adjacency"]

NORMALIZATIONS = ("symmetric", "row", "none")


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, x: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transpose @ grad


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
        for name, nodes, size in (("rows", rows, shape[0]), ("cols", cols, shape[1])):
            if nodes.numel() and not 0 <= int(nodes.min()) <= int(nodes.max()) < size:
                raise GraphError(
                    f"{name}: expected entries from 0 to {size - 1}, found {int(nodes.min())} to {int(nodes.max())}."
                )
        self.rows, self.cols, self.values, self.shape = rows, cols, values, shape
        self._kept: tuple[Tensor, Tensor] | None = None
        self._other: SparseMatrix | None = None
        self._sums: Tensor | None = None

    @classmethod
    def from_tensor(cls, matrix: Tensor) -> SparseMatrix:
        """The same matrix from any torch tensor, sparse or dense."""
        entries = matrix.detach().to_sparse_coo().coalesce()
        rows, cols = entries.indices()
        return cls(rows, cols, entries.values(), (matrix.shape[0], matrix.shape[1]))

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.product(x)

    def product(self, x: Tensor) -> Tensor:
        """The same as ``matrix @ x``, in a form that torch.compile follows."""
        if x.dim() != 2 or x.shape[0] != self.shape[1]:
            raise GraphError(f"expected ({self.shape[1]}, D) to multiply with {self.shape}, found {tuple(x.shape)}.")
        if self.values.requires_grad or torch.compiler.is_compiling():
            terms = self.values.unsqueeze(-1) * x.index_select(0, self.cols)
            return x.new_zeros(self.shape[0], x.shape[1]).index_add(0, self.rows, terms)
        matrix, transpose = self.matrices()
        product: Tensor = _Product.apply(matrix, transpose, x)
        return product

    def matrices(self) -> tuple[Tensor, Tensor]:
        """The matrix and its transpose in torch's CSR form, made once."""
        if self._kept is None:
            self._kept = (
                _csr(self.rows, self.cols, self.values, self.shape),
                _csr(self.cols, self.rows, self.values, (self.shape[1], self.shape[0])),
            )
        return self._kept

    def row_sums(self) -> Tensor:
        """Σ_j A_ij, (M,), by the same product that multiplies rows; summed once."""
        if self._sums is None or self.values.requires_grad or torch.compiler.is_compiling():
            self._sums = self.product(self.values.new_ones(self.shape[1], 1)).squeeze(-1)
        return self._sums

    def to(self, dtype: torch.dtype) -> SparseMatrix:
        """The same matrix with other numbers; made once."""
        if dtype == self.values.dtype:
            return self
        if self._other is None or self._other.values.dtype != dtype or self.values.requires_grad:
            self._other = SparseMatrix(self.rows, self.cols, self.values.to(dtype), self.shape)
        return self._other

    def to_dense(self) -> Tensor:
        """The matrix with all its zeros."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.rows, self.cols), self.values, accumulate=True)

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} × {self.shape[1]}, {len(self.values)} entries)"


def _csr(rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        entries = torch.sparse_coo_tensor(torch.stack([rows, cols]), values.detach(), shape, check_invariants=False)
        found = entries.coalesce().to_sparse_csr()
        return torch.sparse_csr_tensor(
            found.crow_indices().int(), found.col_indices().int(), found.values(), shape, check_invariants=False
        )


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
    if normalization not in NORMALIZATIONS:
        raise GraphError(f"expected normalization {', '.join(NORMALIZATIONS)}, found {normalization!r}.")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
        raise GraphError(f"expected edge_index as integers (2, E), found {edge_index.dtype} {tuple(edge_index.shape)}.")
    last = int(edge_index.max()) + 1 if edge_index.numel() else 0
    nodes = last if num_nodes is None else num_nodes
    if last > nodes or (edge_index.numel() and int(edge_index.min()) < 0):
        raise GraphError(f"expected edges between nodes 0 to {nodes - 1}, found {int(edge_index.min())} to {last - 1}.")
    weights = torch.ones(edge_index.shape[1], dtype=dtype, device=edge_index.device)
    if edge_weight is not None:
        if edge_weight.shape != weights.shape:
            raise GraphError(f"expected one weight per edge ({len(weights)}), found shape {tuple(edge_weight.shape)}.")
        weights = edge_weight.to(dtype)
    if add_self_loops:
        edge_index, weights = add_remaining_self_loops(edge_index, weights, 1.0, nodes)
    source, target = edge_index
    degree = weights.new_zeros(nodes).index_add(0, target, weights)
    if normalization == "symmetric":
        scale = degree.pow(-0.5)
        scale = scale.masked_fill(degree <= 0, 0)
        weights = scale[source] * weights * scale[target]
    elif normalization == "row":
        weights = weights / degree.masked_fill(degree == 0, 1)[target]
    return SparseMatrix(target, source, weights, (nodes, nodes))
