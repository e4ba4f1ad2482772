"""Aggregations that look at each neighbourhood by itself: at the node, and Fréchet means. All in float64 inside."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.geometry import expmap0, frechet_mean, logmap0
from kappagcn.geometry.numerics import (
    ROW_LEAST,
    ROW_LEAST_COSINE,
    ROW_RESOLVED,
    ROW_TRANSLATED,
    arsinc,
    cosc,
    positive_root,
    sin_k,
    sinc,
)
from kappagcn.geometry.vectors import norm
from kappagcn.nn.rows import lift_rows, log_rows, within
from kappagcn.sparse import SparseMatrix

__all__ = ["frechet", "tangential_at_nodes"]


def tangential_at_nodes(v: Tensor, adjacency: SparseMatrix, k: Tensor) -> Tensor:
    r"""log_0 of exp_x(Σ_j A_ij log_x(x_j)) at x = x_i (definition 3), (N, D) → (N, D), in float64.

    With lifts E and z = κ sin_κ²(θ_ij/2) of the distances θ_ij, the logarithm in ambient coordinates is

        log_x(x_j) = θ/sin_κ(θ) · (E_j − cos_κ(θ) E_i) = arsinc(z)/√(1 − z) · (E_j − (1 − 2z) E_i),

    so no point of the ball is needed. Points farther out than 30/√−κ count as lying there.
    """
    if adjacency.shape[0] != len(v):
        raise GraphError(
            f"expected as many targets as sources to aggregate at the node itself, found {adjacency.shape}; use "
            f"aggregation midpoint, tangential or frechet."
        )
    k = k.double()
    points = adjacency.gather(within(v.double(), k, ROW_RESOLVED))
    e = lift_rows(points, k)
    z = k * _haversines(points, adjacency.rows, adjacency.cols, k)
    cosine = (1 - z).clamp(min=ROW_LEAST_COSINE**2).sqrt()
    weights = adjacency.values.double().unsqueeze(-1) * arsinc(z) / cosine
    # The last column is that of cosines.
    terms = torch.cat((weights * e.index_select(0, adjacency.cols), weights * (1 - 2 * z)), -1)
    sums, own = terms.new_zeros(len(v), terms.shape[1]).index_add(0, adjacency.rows, terms), e[: len(v)]
    return _from_nodes(own, sums[:, :-1] - sums[:, -1:] * own, k).to(v.dtype)


def _haversines(v: Tensor, rows: Tensor, cols: Tensor, k: Tensor) -> Tensor:
    """sin_κ²(θ/2) of the distances between points v[rows] and v[cols], (E, 1), by the κ-haversine of `tangent_dist`."""
    length = norm(v).clamp(min=ROW_LEAST)  # at the origin the direction is 0, with a derivative that is right
    direction, sine = v / length, length * sinc(4 * k * length * length)
    apart = direction.index_select(0, rows) - direction.index_select(0, cols)
    radial = length.index_select(0, rows) - length.index_select(0, cols)
    across = sine.index_select(0, rows) * sine.index_select(0, cols) * (apart * apart).sum(-1, keepdim=True)
    return (sin_k(radial, k=k).square() + across).clamp(min=0)


def _from_nodes(e: Tensor, pull: Tensor, k: Tensor) -> Tensor:
    """log_0 of exp_x(pull), from the lifts e of x and tangent vectors at them in ambient coordinates."""
    n, h = e[:, :-1], e[:, -1:]
    # The pull's length is that of its transport to the origin or, from beyond the equator, to the origin's antipode.
    side = torch.where((k > 0) & (h < 0), -1, 1)
    length = norm(pull[:, :-1] - side * pull[:, -1:] / (1 + side * h) * n)
    longest = ROW_TRANSLATED / positive_root(-k)
    part = torch.where((k < 0) & (length > longest), longest / length.clamp(min=longest), 1)
    z = k * (part * length).square()
    v = log_rows(cosc(z) * e + part * sinc(z) * pull, k)
    # A longer pull only adds to the radius.
    rest, reached = 0.5 * (1 - part) * length, norm(v)
    return v * (1 + rest / torch.where(rest > 0, reached, 1))


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
        some = torch.where(total == 0, within.to(weights.dtype), weights)  # without weight any mean will do: times 0
        means = logmap0(frechet_mean(x[adjacency.cols[entries]], some, k=k), k=k)
        out = out.index_put((nodes,), total * means)
    return out.to(dtype)


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
