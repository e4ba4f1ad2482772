r"""Objectives over all pairs of nodes, each as one differentiable operation on tangent vectors at the origin.

    distortion   (1/n²) Σ_{i≠j} ((d(x_i, x_j)/d_G(i, j))² − 1)²        the paper's
    relative     mean of |d/d_G − 1|                                   D_avg of most other papers
    stress       Σ (d − d_G)²/Σ d_G²                                   multidimensional scaling

Value and gradients come from one pass over the pairs, so nothing of size N × N is kept between them: compiled where
numba is installed and points are on the CPU, else by torch in blocks of rows.

From the distances of some nodes, drawn evenly, the same is estimated without bias: the value by the mean of their
rows, and the gradient of each point from its pairs with those nodes, twice, because pairs count in both directions.
So every point of a large graph moves in every step. Near pairs can be taken exactly beside them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.embedding.graph_distances import GraphDistances, NearPairs
from kappagcn.errors import GraphError
from kappagcn.geometry import tangent_dist
from kappagcn.geometry.manifold import Manifold
from kappagcn.kernels import torch_pairs
from kappagcn.kernels.dispatch import first_order
from kappagcn.kernels.listed_pairs import listed_pairs
from kappagcn.kernels.pairs import all_pairs
from kappagcn.kernels.points import LEAST_RATIO, Rows
from kappagcn.nn.inputs import factors_of
from kappagcn.nn.point_distances import compiled_rows, factors_by_torch
from kappagcn.objectives import PAIR_OBJECTIVES

BLOCK = 2**20  # numbers of a block's largest tensor, by torch


def distortion(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Tensor:
    """The average distortion of points exp_0(v), differentiable in v and in the curvatures of the space: (N, D) → ().

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        distances: Distances in the graph.

    >>> from kappagcn import ProductManifold
    >>> from kappagcn.graphs import path
    >>> v = torch.tensor([[-0.5], [0.0], [0.5]], requires_grad=True)
    >>> round(float(distortion(v, ProductManifold.from_signature("E1"), GraphDistances.of(path(3))).detach()), 6)
    0.0
    """
    return pair_loss(v, manifold, distances)


def pair_loss(
    v: Tensor,
    manifold: Manifold,
    distances: GraphDistances,
    objective: str = "distortion",
    row_norm: float | None = None,
) -> Tensor:
    """An objective over pairs of points exp_0(v), differentiable in v and in the curvatures: (N, D) → ().

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        distances: Distances in the graph.
        objective: ``"distortion"``, ``"relative"`` or ``"stress"``.
        row_norm: Divisor of the sums of rows; by default that of `distances`, which depends on the drawn sources.

    >>> from kappagcn import ProductManifold
    >>> from kappagcn.graphs import path
    >>> v = torch.tensor([[-0.6], [0.0], [0.6]])
    >>> round(float(pair_loss(v, ProductManifold.from_signature("E1"), GraphDistances.of(path(3)), "relative")), 6)
    0.2
    """
    if objective not in PAIR_OBJECTIVES:
        raise GraphError(f"objective: expected {', '.join(PAIR_OBJECTIVES)}, found {objective!r}.")
    k, dims = checked_points(v, manifold, distances)
    norm = distances.row_norm(objective) if row_norm is None else row_norm
    loss: Tensor = _Pairs.apply(v, k, dims, distances, objective, norm)
    return loss


def checked_points(v: Tensor, manifold: Manifold, distances: GraphDistances) -> tuple[Tensor, list[int]]:
    """Curvatures and dimensions of the factors, for as many points as there are nodes."""
    if v.dim() != 2 or len(v) != len(distances):
        raise GraphError(f"expected {len(distances)} points, one for each node, found {tuple(v.shape)}.")
    return factors_of(v, manifold)


class _Pairs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        dims: list[int],
        distances: GraphDistances,
        objective: str,
        norm: float,
    ) -> Tensor:
        slopes, rows = any(ctx.needs_input_grad[:2]), compiled_rows(v, k, dims)
        total, by_v, by_k = pair_sums(v, k, dims, distances, objective, slopes=slopes, rows=rows)
        ordered = 1 / (max(1, len(distances.weights)) * norm)
        counted = 2 * ordered if distances.sources is None else ordered  # all pairs are summed once
        total, by_v, by_k = counted * total, 2 * ordered * by_v, counted * by_k
        if distances.near is not None:
            both_ways = 2 / (len(v) * norm)
            near_total, own_v, own_k = _near(v, k, dims, distances.near, objective, rows)
            total = total + both_ways * near_total
            if slopes:
                by_v, by_k = by_v + both_ways * own_v, by_k + both_ways * own_k
        if slopes:
            ctx.save_for_backward(by_v.to(v.dtype), by_k.to(k.dtype))
        return v.new_tensor(total)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        by_v, by_k = ctx.saved_tensors
        return grad * by_v, grad * by_k, None, None, None, None


def pair_sums(
    v: Tensor,
    k: Tensor,
    dims: list[int],
    distances: GraphDistances,
    objective: str,
    *,
    slopes: bool,
    rows: Rows | None = None,
) -> tuple[float, Tensor, Tensor]:
    """The sum over unordered pairs, or pairs with sources, and its gradients.

    Args:
        v: Tangent vectors at the origin, (N, D).
        k: Curvatures of the factors, (F,).
        dims: Dimensions of the factors.
        distances: Distances in the graph.
        objective: One of `PAIR_OBJECTIVES`.
        slopes: Whether to compute gradients, by v and by κ.
        rows: Result of `compiled_rows`, if already computed.
    """
    rows = compiled_rows(v, k, dims) if rows is None else rows
    if rows is None:
        return _by_torch(v, k, dims, distances, objective, slopes=slopes)
    sources = None if distances.sources is None else distances.sources.numpy()
    total, by_v, by_k = all_pairs(rows, distances.weights.numpy(), sources, objective=objective, slopes=slopes)
    return total, torch.from_numpy(by_v), torch.from_numpy(by_k)


def _near(
    v: Tensor, k: Tensor, dims: list[int], near: NearPairs, objective: str, rows: Rows | None
) -> tuple[float, Tensor, Tensor]:
    """The sum over unordered pairs of a list, and its gradients by v and κ."""
    if rows is not None:
        lists = near.places.numpy(), near.others.numpy(), near.weights.numpy()
        total, near_v, near_k = listed_pairs(rows, *lists, objective=objective)
        return total, torch.from_numpy(near_v), torch.from_numpy(near_k)
    v, k = v.detach().double().requires_grad_(), k.detach().double().requires_grad_()
    sums, by_v, by_k = 0.0, torch.zeros_like(v), torch.zeros_like(k)
    firsts = torch.repeat_interleave(torch.arange(len(v)), near.places.diff())
    own = slice(int(near.places[0]), int(near.places[-1]))  # a share of the list has fewer nodes
    others, weights = near.others[own], near.weights[own].to(v)
    for some in torch.arange(len(others)).split(max(1, BLOCK // max(1, v.shape[1]))):
        with torch.enable_grad():
            ends = v[firsts[some]], v[others[some]]
            parts = zip(*(x.split(dims, 1) for x in ends), k.unbind(), strict=True)
            squares = sum((tangent_dist(x, y, k=kappa) ** 2 for x, y, kappa in parts), start=v.new_zeros(()))
            loss = pair_terms(squares, weights[some], objective).sum() / 2
        own_v, own_k = torch.autograd.grad(loss, (v, k))
        sums, by_v, by_k = sums + float(loss.detach()), by_v + own_v, by_k + own_k
    return sums, by_v, by_k


def pair_terms(squares: Tensor, w: Tensor, objective: str) -> Tensor:
    """Terms of the objective for pairs with squared distances and weights."""
    if objective == "distortion":
        return torch.where(w > 0, squares * w - 1, 0).square()
    excess = torch.where(w > 0, squares * w, 1).clamp(min=LEAST_RATIO).sqrt() - 1
    if objective == "relative":
        return excess.abs()
    return excess.square() / torch.where(w > 0, w, 1)


def block_height(v: Tensor) -> int:
    """Rows of a block by torch."""
    return max(1, BLOCK // max(1, v.numel()))


def squares_from(v: Tensor, k: Tensor, dims: list[int], rows: Tensor, *, fixed: bool = False) -> Tensor:
    """d² of some points from all, (S, N); `fixed`: without gradients by those points."""
    some = v[rows].detach() if fixed else v[rows]
    parts = zip(some.split(dims, 1), v.split(dims, 1), k.unbind(), strict=True)
    squares: Tensor = sum(
        (tangent_dist(x[:, None], y[None], k=kappa) ** 2 for x, y, kappa in parts), start=v.new_zeros(())
    )
    return squares


def _by_torch(
    v: Tensor, k: Tensor, dims: list[int], distances: GraphDistances, objective: str, *, slopes: bool
) -> tuple[float, Tensor, Tensor]:
    """`pair_sums` by torch."""
    factors, weights, sources = factors_by_torch(v, k, dims), distances.weights.to(v.device), distances.sources
    with torch.no_grad():
        total = torch_pairs.all_pairs(factors, weights, sources, objective, slopes=slopes)
        by_v, by_k = zip(*(factor.gradients() for factor in factors), strict=True)
    return total, torch.cat(by_v, 1), torch.stack(by_k)
