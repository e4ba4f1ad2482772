"""Nearest nodes in the full space, all factors and dimensions together: d² = Σ d_f²."""

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry import tangent_dist
from kappagcn.geometry.numerics import arsin_k, sin_k
from kappagcn.run_folder import Array, Embedded

BLOCK = 2**22  # distances at once
FARTHEST = 170.0  # √|κ|·radius beyond which a product of two hyperbolic sines is too large to square
SPARE = 8  # candidates more than asked for: their order may change when measured again


@torch.no_grad()
def nearest(embedded: Embedded, nodes: Array, count: int = 8) -> tuple[Array, Array]:
    """The `count` nodes nearest to each of S nodes, and their distances, (S, count) each."""
    v = _vectors(embedded)
    kept = min(count, len(v) - 1)
    others, lengths = [], []
    for block in torch.as_tensor(nodes).split(max(1, BLOCK // len(v))):
        rough = _squares(embedded, v[block], v)
        rough[torch.arange(len(block)), block] = torch.inf
        candidates = rough.topk(min(kept + SPARE, len(v) - 1), largest=False).indices
        exact, order = _distances(embedded, v[block].unsqueeze(1), v[candidates]).sort(stable=True)
        others.append(candidates.gather(1, order)[:, :kept])
        lengths.append(exact[:, :kept])
    return torch.cat(others).numpy(), torch.cat(lengths).numpy()


@torch.no_grad()
def central(embedded: Embedded, nodes: Array) -> int:
    """The one of some nodes from which the others are nearest on average."""
    v = _vectors(embedded)[torch.as_tensor(nodes)]
    sums = [_squares(embedded, block, v).sqrt().sum(1) for block in v.split(max(1, BLOCK // len(v)))]
    return int(nodes[int(torch.cat(sums).argmin())])


@torch.no_grad()
def distances_from(embedded: Embedded, node: int, nodes: Array) -> Array:
    """Distances from one node to S nodes, (S,)."""
    v = _vectors(embedded)
    return np.asarray(_distances(embedded, v[node].unsqueeze(0), v[torch.as_tensor(nodes)]))


def _vectors(embedded: Embedded) -> Tensor:
    return torch.as_tensor(embedded.tangent).double()


def _distances(embedded: Embedded, u: Tensor, v: Tensor) -> Tensor:
    u, v = torch.broadcast_tensors(u, v)
    squares = [tangent_dist(u[..., part], v[..., part], k=k) ** 2 for k, part in embedded.factors]
    return torch.stack(squares).sum(0).sqrt()


def _squares(embedded: Embedded, u: Tensor, v: Tensor) -> Tensor:
    """d² of all pairs by the κ-haversine, (S, D), (N, D) → (S, N), quickly."""
    total = torch.zeros(len(u), len(v), dtype=torch.float64)
    for k, part in embedded.factors:
        total += _factor_squares(u[:, part], v[:, part], torch.tensor(k, dtype=torch.float64))
    return total


def _factor_squares(u: Tensor, v: Tensor, k: Tensor) -> Tensor:
    (a, to_u), (b, to_v) = _polar(u, k), _polar(v, k)
    gap = torch.cdist(to_u, to_v, compute_mode="donot_use_mm_for_euclid_dist")
    square = sin_k(a / 2 - b.mT / 2, k=k) ** 2 + sin_k(a, k=k) * sin_k(b.mT, k=k) * gap**2 / 4
    return (2 * arsin_k(square.clamp(min=0).sqrt(), k=k)) ** 2


def _polar(v: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Distances from the origin, (N, 1), and directions."""
    length = v.norm(dim=1, keepdim=True)
    radius = 2 * length
    if k < 0:
        radius = radius.clamp(max=FARTHEST / float((-k).sqrt()))
    return radius, v / torch.where(length == 0, 1, length)
