"""The normalised adjacency matrix of a graph, or of a bipartite graph, as a `SparseMatrix`."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import add_remaining_self_loops

from kappagcn.errors import GraphError
from kappagcn.sparse.matrix import SparseMatrix, check_range
from kappagcn.tracing import is_cheap_to_read

__all__ = ["NORMALIZATIONS", "bipartite_adjacency", "normalized_adjacency"]

NORMALIZATIONS = ("symmetric", "row", "none")


def normalized_adjacency(
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    *,
    normalization: str = "symmetric",
    add_self_loops: bool = True,
    loop_weight: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """The matrix of a graph convolution: row i sums over the edges that end in node i, as in PyG.

    Args:
        edge_index: Edges, (2, E), from row 0 to row 1.
        edge_weight: Edge weights, (E,); 1 by default.
        num_nodes: Number of nodes N; by default one more than the largest index.
        normalization: ``"symmetric"`` for D^-½ A D^-½ (the paper's experiments), ``"row"`` for D⁻¹A (rows sum to 1, so
            that midpoints commute with isometries), ``"none"``.
        add_self_loops: Whether to add a self-loop to every node that has none.
        loop_weight: Weight of self-loops that are added; 2 in PyG's ``improved``.
        dtype: Floating-point type of the entries.

    >>> from kappagcn.graphs import path
    >>> normalized_adjacency(path(2).edge_index, normalization="row").to_dense()
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    weights = _checked_weights(edge_index, edge_weight, normalization, dtype)
    if num_nodes is None:
        num_nodes = int(edge_index.max()) + 1 if edge_index.numel() else 0
    _check_nodes(edge_index, num_nodes)
    if add_self_loops:
        edge_index, weights = _with_loops(edge_index, weights, num_nodes, loop_weight)
    degree = weights.new_zeros(num_nodes).index_add(0, edge_index.select(0, 1), weights)
    return _normalized(edge_index, weights, (degree, degree), normalization)


def bipartite_adjacency(
    edge_index: Tensor,
    size: tuple[int, int],
    edge_weight: Tensor | None = None,
    *,
    normalization: str = "symmetric",
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """The matrix (M, N) for edges from N sources to M targets, two sets of nodes; no self-loops are added.

    Args:
        edge_index: Edges, (2, E), from sources in row 0 to targets in row 1.
        size: (N, M), in PyG's order.
        edge_weight: Edge weights, (E,); 1 by default.
        normalization: As in `normalized_adjacency`, with the degrees of sources and targets.
        dtype: Floating-point type of the entries.

    >>> edges = torch.tensor([[0, 1, 2], [0, 0, 1]])  # from three sources to two targets
    >>> bipartite_adjacency(edges, (3, 2), normalization="row").product(torch.ones(3, 1))
    tensor([[1.],
            [1.]])
    """
    weights, degrees = _checked_weights(edge_index, edge_weight, normalization, dtype), []
    for part, count in zip(edge_index.unbind(), size, strict=True):
        _check_nodes(part, count)
        degrees.append(weights.new_zeros(count).index_add(0, part, weights))
    return _normalized(edge_index, weights, (degrees[0], degrees[1]), normalization)


def _checked_weights(edge_index: Tensor, edge_weight: Tensor | None, normalization: str, dtype: torch.dtype) -> Tensor:
    """Weights of the edges, (E,), after checks of all arguments."""
    if normalization not in NORMALIZATIONS:
        raise GraphError(f"expected normalization {', '.join(NORMALIZATIONS)}, found {normalization!r}.")
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        value = f"{tuple(edge_index.shape)}" if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise GraphError(f"expected edge_index as integers (2, E), found {value}.")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise GraphError(f"expected edge_index as integers (2, E), found {edge_index.dtype}.")
    if edge_weight is None:
        return torch.ones(edge_index.shape[1], dtype=dtype, device=edge_index.device)
    if not isinstance(edge_weight, Tensor) or edge_weight.shape != edge_index.shape[1:]:
        value = f"shape {tuple(edge_weight.shape)}" if isinstance(edge_weight, Tensor) else type(edge_weight).__name__
        raise GraphError(f"expected one weight per edge as a tensor ({edge_index.shape[1]},), found {value}.")
    return edge_weight.to(dtype)


def _check_nodes(nodes: Tensor, count: int) -> None:
    check_range(nodes, count, "expected edges between nodes")


def _with_loops(edge_index: Tensor, weights: Tensor, nodes: int, loop_weight: float) -> tuple[Tensor, Tensor]:
    """The edges with a self-loop at every node, of this weight where there was none."""
    if is_cheap_to_read(edge_index, weights):
        edges_and_weights: tuple[Tensor, Tensor] = add_remaining_self_loops(edge_index, weights, loop_weight, nodes)
        return edges_and_weights
    # Without shapes that depend on values: old self-loops stay, with weight 0.
    source, target = edge_index.unbind()
    loop = source == target
    own = weights.new_full((nodes + 1,), loop_weight).index_put((torch.where(loop, source, nodes),), weights)
    own = own.narrow(0, 0, nodes)
    every = torch.arange(nodes, device=source.device).expand(2, -1)
    return torch.cat([edge_index, every], 1), torch.cat([torch.where(loop, 0, weights), own])


def _normalized(
    edge_index: Tensor, weights: Tensor, degrees: tuple[Tensor, Tensor], normalization: str
) -> SparseMatrix:
    """The matrix normalised by the degrees of sources and targets."""
    (source, target), (out, into) = edge_index.unbind(), degrees
    if normalization == "symmetric":
        weights = inverse_root(out).index_select(0, source) * weights * inverse_root(into).index_select(0, target)
    elif normalization == "row":
        weights = weights / into.masked_fill(into == 0, 1).index_select(0, target)
    return SparseMatrix(target, source, weights, (into.shape[0], out.shape[0]))


def inverse_root(degree: Tensor) -> Tensor:
    """1/√d of degrees, and 0 for those that are not positive."""
    return torch.where(degree > 0, degree, 1).pow(-0.5).masked_fill(degree <= 0, 0)
