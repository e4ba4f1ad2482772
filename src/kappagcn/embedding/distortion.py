r"""Average distortion over all pairs of nodes, as one differentiable operation on tangent vectors at the origin.

.. math:: \frac{1}{n^2}\sum_{i\ne j}\Big(\Big(\frac{d(x_i, x_j)}{d_G(i, j)}\Big)^2 - 1\Big)^2

Value and gradients come from one pass over the pairs, so nothing of size N × N is kept between them: compiled where
numba is installed and points are on the CPU, else by torch in blocks of rows.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.geometry import tangent_dist
from kappagcn.graphs import shortest_paths
from kappagcn.nn.functional import Manifold, factors_of
from kappagcn.nn.midpoints import compiled
from kappagcn.nn.rows import first_order

__all__ = ["Distortion", "GraphDistances", "distortion", "measure"]

BLOCK = 2**20  # numbers of a block's largest tensor, by torch


class GraphDistances:
    """Lengths of shortest paths in the form that the loss takes.

    Args:
        lengths: (N, N), symmetric, 0 on the diagonal; negative or infinite where there is no path.

    Attributes:
        weights: 1/d², float32, (N, N), and 0 for pairs that do not count.
        pairs: Ordered pairs i ≠ j that count.
        left_out: Ordered pairs i ≠ j without a path.

    >>> from kappagcn.graphs import path
    >>> GraphDistances.of(path(3)).weights.tolist()
    [[0.0, 1.0, 0.25], [1.0, 0.0, 1.0], [0.25, 1.0, 0.0]]
    """

    def __init__(self, lengths: Tensor) -> None:
        if lengths.dim() != 2 or lengths.shape[0] != lengths.shape[1]:
            raise GraphError(f"expected distances (N, N), found {tuple(lengths.shape)}.")
        n = lengths.shape[0]
        off_diagonal = ~torch.eye(n, dtype=torch.bool)
        counted = (lengths > 0) & torch.isfinite(lengths) & off_diagonal
        if ((lengths == 0) & off_diagonal).any():
            raise GraphError("expected distances above 0 between different nodes, found 0.")
        wide = torch.where(counted, lengths, 1).double()
        if not torch.equal(wide, wide.T):
            raise GraphError("expected the same distance both ways, found others: the graph is undirected.")
        self.weights = torch.where(counted, wide.pow(-2), 0).float()
        self.pairs = int(counted.sum())
        self.left_out = n * (n - 1) - self.pairs

    @classmethod
    def of(cls, data: Data, **options: Any) -> GraphDistances:
        """Of a graph, by :func:`kappagcn.graphs.shortest_paths` and its options."""
        return cls(shortest_paths(data, **options))

    def __len__(self) -> int:
        return len(self.weights)


class Distortion(NamedTuple):
    """How well distances in the space follow those in the graph.

    Attributes:
        average: The loss.
        worst: The largest d/d_G over the smallest.
        left_out: Ordered pairs without a path, which do not count.
    """

    average: float
    worst: float
    left_out: int


def distortion(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Tensor:
    """The average distortion of points exp_0(v), differentiable in v and in the curvatures of the space: (N, D) → ().

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        distances: Of the graph.

    >>> from kappagcn import ProductManifold
    >>> from kappagcn.graphs import path
    >>> v = torch.tensor([[-0.5], [0.0], [0.5]], requires_grad=True)
    >>> distortion(v, ProductManifold.from_signature("E1"), GraphDistances.of(path(3)))
    tensor(0., grad_fn=<_AllPairsBackward>)
    """
    k, dims = _checked(v, manifold, distances)
    loss: Tensor = _AllPairs.apply(v, k, dims, distances)
    return loss


@torch.no_grad()
def measure(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Distortion:
    """Average and worst-case distortion."""
    k, dims = _checked(v, manifold, distances)
    (total, least, most), *_ = _sums(v, k, dims, distances.weights, slopes=False)
    worst = (most / least) ** 0.5 if 0 < least <= most else float("inf" if distances.pairs else "nan")
    return Distortion(2 * total / max(len(v), 1) ** 2, worst, distances.left_out)


def _checked(v: Tensor, manifold: Manifold, distances: GraphDistances) -> tuple[Tensor, list[int]]:
    if v.dim() != 2 or len(v) != len(distances):
        raise GraphError(f"expected {len(distances)} points, one for each node, found {tuple(v.shape)}.")
    return factors_of(v, manifold)


class _AllPairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, dims: list[int], distances: GraphDistances) -> Tensor:
        slopes = any(ctx.needs_input_grad[:2])
        (total, *_), by_v, by_k = _sums(v, k, dims, distances.weights, slopes=slopes)
        both_ways = 2 / max(len(v), 1) ** 2
        if slopes:
            ctx.save_for_backward(both_ways * by_v.to(v.dtype), both_ways * by_k.to(k.dtype))
        return v.new_tensor(both_ways * total)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_v, by_k = ctx.saved_tensors
        return grad * by_v, grad * by_k, None, None


@cache
def _kernels() -> ModuleType | None:
    try:
        from kappagcn.embedding import pairs
    except ImportError:  # numba is an extra
        return None
    return pairs


def _sums(
    v: Tensor, k: Tensor, dims: list[int], weights: Tensor, *, slopes: bool
) -> tuple[tuple[float, float, float], Tensor, Tensor]:
    """Σ(d²w − 1)², least and largest d²w over unordered pairs; gradients of the sum by v and κ."""
    kernels = _kernels() if compiled() and v.is_cpu else None
    if kernels is None:
        return _by_torch(v, k, dims, weights, slopes=slopes)
    rows = kernels.Rows(v.detach().numpy(), np.cumsum([0, *dims]), k.detach().double().numpy())
    found, by_v, by_k = kernels.all_pairs(rows, weights.numpy(), slopes=slopes)
    return tuple(found.tolist()), torch.from_numpy(by_v), torch.from_numpy(by_k)


def _by_torch(
    v: Tensor, k: Tensor, dims: list[int], weights: Tensor, *, slopes: bool
) -> tuple[tuple[float, float, float], Tensor, Tensor]:
    """The same in blocks of rows, each with its own small graph of derivatives."""
    v, k = v.detach().double().requires_grad_(slopes), k.detach().double().requires_grad_(slopes)
    total, least, most = 0.0, float("inf"), 0.0
    by_v, by_k = torch.zeros_like(v), torch.zeros_like(k)
    weights = weights.to(v.device).triu(1)
    rows = max(1, BLOCK // max(1, v.numel()))
    for start in range(0, len(v), rows):
        w = weights[start : start + rows].double()
        with torch.set_grad_enabled(slopes):
            parts = zip(v.split(dims, 1), k.unbind(), strict=True)
            squares = sum(tangent_dist(x[start : start + rows, None], x[None], k=kappa) ** 2 for x, kappa in parts)
            ratio = squares * w
            loss = torch.where(w > 0, ratio - 1, 0).square().sum()
        if slopes:
            own_v, own_k = torch.autograd.grad(loss, (v, k))
            by_v, by_k = by_v + own_v, by_k + own_k
        total += float(loss)
        counted = ratio.detach()[w > 0]
        if len(counted):
            least, most = min(least, float(counted.min())), max(most, float(counted.max()))
    return (total, least, most), by_v, by_k
