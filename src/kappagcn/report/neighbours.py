"""Nearest nodes in the full space, all factors and dimensions together: d² = Σ d_f²."""

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.ambient import tangent_cdist
from kappagcn.run_folder import Array, Embedded

BLOCK = 2**22  # distances at once


@torch.no_grad()
def nearest(embedded: Embedded, nodes: Array, count: int = 8) -> tuple[Array, Array]:
    """The `count` nodes nearest to each of S nodes, and their distances, (S, count) each."""
    v = _vectors(embedded)
    kept = min(count, len(v) - 1)
    others, lengths = [], []
    for block in torch.as_tensor(nodes).split(max(1, BLOCK // len(v))):
        distances = _distances(embedded, v[block], v)
        distances[torch.arange(len(block)), block] = torch.inf
        smallest = distances.topk(kept, largest=False)
        others.append(smallest.indices)
        lengths.append(smallest.values)
    return torch.cat(others).numpy(), torch.cat(lengths).numpy()


@torch.no_grad()
def central(embedded: Embedded, nodes: Array) -> int:
    """The one of some nodes from which the others are nearest on average."""
    v = _vectors(embedded)[torch.as_tensor(nodes)]
    sums = [_distances(embedded, block, v).sum(1) for block in v.split(max(1, BLOCK // len(v)))]
    return int(nodes[int(torch.cat(sums).argmin())])


@torch.no_grad()
def distances_from(embedded: Embedded, node: int, nodes: Array) -> Array:
    """Distances from one node to S nodes, (S,)."""
    v = _vectors(embedded)
    return np.asarray(_distances(embedded, v[node].unsqueeze(0), v[torch.as_tensor(nodes)])[0])


def _vectors(embedded: Embedded) -> Tensor:
    return torch.as_tensor(embedded.tangent).double()


def _distances(embedded: Embedded, u: Tensor, v: Tensor) -> Tensor:
    """All distances, (S, D), (N, D) → (S, N)."""
    total = torch.zeros(len(u), len(v), dtype=torch.float64)
    for k, part in embedded.factors:
        total += tangent_cdist(u[:, part], v[:, part], k=k) ** 2
    return total.sqrt()
