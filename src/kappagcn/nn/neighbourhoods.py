"""Aggregations that handle each neighbourhood separately, in float64: at the node, and Fréchet means."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.geometry import add, expmap0, frechet_mean, logmap0
from kappagcn.geometry.numerics import ROW_LEAST_COSINE, ROW_RESOLVED, arsinc, cosc
from kappagcn.geometry.vectors import dot
from kappagcn.kernels.rows import within
from kappagcn.sparse import SparseMatrix


def tangential_at_nodes(v: Tensor, adjacency: SparseMatrix, k: Tensor) -> Tensor:
    r"""log_0 of exp_x(Σ_j A_ij log_x(x_j)) at x = x_i (definition 3), (N, D) → (N, D), in float64.

    With p = 1 + κ|x|² = 1/cos_κ²|v| and z = κ sin_κ²(θ/2) = κ|x_j − x_i|²/(p_i p_j), moved to the origin

        log_x(x_j) = 2 arsinc(z)/√(1 − z) · ((x_j − x_i)/p_j + z x_i),

    of which no part cancels far out. Points farther than 30/√−κ count as lying there, and steps end before 35/√−κ.
    """
    if adjacency.shape[0] != len(v):
        raise GraphError(
            f"expected as many targets as sources to aggregate at the node itself, found {adjacency.shape}; use "
            f"aggregation midpoint, tangential or frechet."
        )
    rows, cols, k = adjacency.rows, adjacency.cols, k.double()
    near = within(v.double(), k, ROW_RESOLVED)
    # The origin's antipode is at infinity; a point close to it is used instead.
    near = torch.where(cosc(k * dot(near, near)).abs() < ROW_LEAST_COSINE, 1 - ROW_LEAST_COSINE, 1) * near
    x, p = expmap0(near, k=k), cosc(k * dot(near, near)) ** -2
    own, other_p = x.index_select(0, rows), adjacency.gather(p).index_select(0, cols)
    apart = adjacency.gather(x).index_select(0, cols) - own
    z = k * dot(apart, apart) / (p.index_select(0, rows) * other_p)
    # The direction to an antipode is arbitrary.
    weights = adjacency.values.double().unsqueeze(-1) * arsinc(z) / (1 - z).clamp(min=ROW_LEAST_COSINE**2).sqrt()
    half = torch.zeros_like(x).index_add(0, rows, weights / other_p * apart)
    half = half + torch.zeros_like(p).index_add(0, rows, weights * z) * x
    return logmap0(add(x, expmap0(half, k=k), k=k), k=k).to(v.dtype)


def frechet(v: Tensor, adjacency: SparseMatrix, k: Tensor) -> Tensor:
    """(Σ_j A_ij) times log_0 of the Fréchet mean of the points with weights A_i, (N, D) → (M, D), in float64."""
    dtype, v, k, adjacency = v.dtype, v.double(), k.double(), adjacency.to(torch.float64)
    x = adjacency.gather(expmap0(v, k=k))
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
        some = torch.where(total == 0, within.to(weights.dtype), weights)  # any mean: its weight is 0
        means = logmap0(frechet_mean(x[adjacency.cols[entries]], some, k=k), k=k)
        out = out.index_put((nodes,), total * means)
    return out.to(dtype)


def _by_width(degrees: Tensor) -> list[tuple[Tensor, int]]:
    """Nodes with 1, 2, 3 to 4, 5 to 8, … neighbours, and the largest number of each group: at most half is padding."""
    groups, width = [], 1
    largest = int(degrees.max()) if degrees.numel() else 0
    while width // 2 < largest:
        nodes = torch.nonzero((degrees > width // 2) & (degrees <= width)).flatten()
        if len(nodes):
            groups.append((nodes, width))
        width *= 2
    return groups
