r"""A ranking loss whose minimum makes the neighbours of a node in the graph its nearest points in the space.

    mean over edges (a, b) of −log(e^{−d_ab}/(e^{−d_ab} + Σ_c e^{−d_ac})),    c all nodes that are no neighbours of a

It is the loss of Poincaré embeddings, with all other nodes instead of a few sampled ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.embedding.pair_objectives import block_height, squares_from
from kappagcn.geometry.manifold import Manifold
from kappagcn.graphs import adjacency
from kappagcn.kernels.dispatch import first_order
from kappagcn.kernels.ranks import ranked_rows
from kappagcn.nn.inputs import factors_of
from kappagcn.nn.point_distances import compiled_rows

LEAST = 1e-12  # smallest distance, as in the compiled rows


class Neighbours:
    """The neighbours of each node as a compressed list: those of i are ``others[places[i] : places[i + 1]]``.

    >>> from kappagcn.graphs import path
    >>> Neighbours.of(path(3)).others.tolist()
    [1, 0, 2, 1]
    """

    def __init__(self, places: Tensor, others: Tensor) -> None:
        self.places, self.others = places, others

    @classmethod
    def of(cls, graph: Data) -> Neighbours:
        """Neighbours in a graph; lengths of edges are ignored."""
        links = adjacency(graph)
        return cls(*(torch.from_numpy(a.astype(np.int64)) for a in (links.indptr, links.indices)))

    def mask(self, nodes: Tensor) -> Tensor:
        """Whether each node is a neighbour of each source, (S, N)."""
        count = len(self.places) - 1
        linked = torch.zeros(len(nodes), count, dtype=torch.bool)
        for row, node in enumerate(nodes.tolist()):
            linked[row, self.others[self.places[node] : self.places[node + 1]]] = True
        return linked


def ranking_loss(v: Tensor, manifold: Manifold, neighbours: Neighbours, sources: Tensor | None = None) -> Tensor:
    """The ranking loss of points exp_0(v), differentiable in v and in the curvatures: (N, D) → ().

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        neighbours: Neighbours of each node in the graph.
        sources: Nodes whose edges are taken, as an estimate of the mean over all; None for all.

    >>> from kappagcn import ProductManifold
    >>> from kappagcn.graphs import path
    >>> line, order = torch.arange(4.0)[:, None], Neighbours.of(path(4))
    >>> round(float(ranking_loss(line, ProductManifold.from_signature("E1"), order)), 4)
    0.1323
    """
    k, dims = factors_of(v, manifold)
    every = torch.arange(len(v)) if sources is None else sources
    edges = max(1, len(neighbours.others)) * len(every) / max(1, len(v))
    loss: Tensor = _Ranks.apply(v, k, dims, neighbours, every)
    return loss / edges


class _Ranks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, dims: list[int], neighbours: Neighbours, sources: Tensor) -> Tensor:
        slopes = any(ctx.needs_input_grad[:2])
        rows = compiled_rows(v, k, dims)
        if rows is None:
            total, by_v, by_k = _by_torch(v, k, dims, neighbours, sources, slopes=slopes)
        else:
            places, others = neighbours.places.numpy(), neighbours.others.numpy()
            total, *arrays = ranked_rows(rows, places, others, sources.numpy(), slopes=slopes)
            by_v, by_k = (torch.from_numpy(a) for a in arrays)
        if slopes:
            ctx.save_for_backward(by_v.to(v.dtype), by_k.to(k.dtype))
        return v.new_tensor(total)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        by_v, by_k = ctx.saved_tensors
        return grad * by_v, grad * by_k, None, None, None


def _by_torch(
    v: Tensor, k: Tensor, dims: list[int], neighbours: Neighbours, sources: Tensor, *, slopes: bool
) -> tuple[float, Tensor, Tensor]:
    v, k = v.detach().double().requires_grad_(slopes), k.detach().double().requires_grad_(slopes)
    total, by_v, by_k = 0.0, torch.zeros_like(v), torch.zeros_like(k)
    for some in sources.split(block_height(v)):
        linked = neighbours.mask(some).to(v.device)
        with torch.set_grad_enabled(slopes):
            distances = squares_from(v, k, dims, some).clamp(min=LEAST**2).sqrt()
            excluded = linked.clone()
            excluded[torch.arange(len(some)), some] = True
            others = torch.logsumexp((-distances).masked_fill(excluded, -torch.inf), 1, keepdim=True)
            loss = (torch.logaddexp(-distances, others) + distances)[linked].sum()
        if slopes:
            own_v, own_k = torch.autograd.grad(loss, (v, k))
            by_v, by_k = by_v + own_v, by_k + own_k
        total += float(loss.detach())
    return total, by_v, by_k
