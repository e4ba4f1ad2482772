"""Aggregations that look at each neighbourhood's points: in the node's own tangent space, and by Fréchet means.

Both work on the entries of the sparse matrix, (E, D), never on all pairs of nodes; one space at a time, since both are
the factors' own in a product.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.geometry import expmap, expmap0, frechet_mean, logmap, logmap0
from kappagcn.sparse import SparseMatrix

__all__ = ["frechet", "tangential_at_nodes"]


def tangential_at_nodes(v: Tensor, adjacency: SparseMatrix, k: Tensor) -> Tensor:
    """log_0 of exp_x(Σ_j A_ij log_x(x_j)) at x = x_i (definition 3), (N, D) → (N, D)."""
    if adjacency.shape[0] != len(v):
        raise GraphError(
            f"expected as many targets as sources to aggregate at the node itself, found {adjacency.shape}; use "
            f"aggregation midpoint, tangential or frechet."
        )
    x = expmap0(v, k=k)
    to_neighbours = logmap(x[adjacency.rows], adjacency.spread(x)[adjacency.cols], k=k)
    pull = torch.zeros_like(x).index_add(0, adjacency.rows, adjacency.values.unsqueeze(-1) * to_neighbours)
    return logmap0(expmap(x, pull, k=k), k=k)


def frechet(v: Tensor, adjacency: SparseMatrix, k: Tensor) -> Tensor:
    """(Σ_j A_ij) times log_0 of the Fréchet mean of the points with weights A_i, (N, D) → (M, D)."""
    x = adjacency.spread(expmap0(v, k=k))
    order = adjacency.rows.argsort(stable=True)
    degrees = torch.bincount(adjacency.rows, minlength=adjacency.shape[0])
    starts = degrees.cumsum(0) - degrees
    out = v.new_zeros(adjacency.shape[0], v.shape[1])
    for nodes, width in _by_width(degrees):
        place = torch.arange(width, device=v.device)
        within = place < degrees[nodes].unsqueeze(-1)
        entries = order[torch.where(within, starts[nodes].unsqueeze(-1) + place, starts[nodes].unsqueeze(-1))]
        weights = adjacency.values[entries] * within
        total = weights.sum(-1, keepdim=True)
        some = torch.where(total == 0, within.to(weights.dtype), weights)  # without weight any mean will do: times 0
        means = logmap0(frechet_mean(x[adjacency.cols[entries]], some, k=k), k=k)
        out = out.index_put((nodes,), total * means)
    return out


def _by_width(degrees: Tensor) -> list[tuple[Tensor, int]]:
    """Nodes with 1, 2, 3 to 4, 5 to 8, … neighbours, and the largest number of each: at most half of it is padding."""
    groups, width = [], 1
    largest = int(degrees.max()) if degrees.numel() else 0
    while width // 2 < largest:
        nodes = torch.nonzero((degrees > width // 2) & (degrees <= width)).flatten()
        if len(nodes):
            groups.append((nodes, width))
        width *= 2
    return groups
