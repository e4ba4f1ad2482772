"""Distances of some points from all, and the points as the loops over all pairs take them: compiled, or by torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.kernels import torch_pairs
from kappagcn.kernels.dispatch import runs_loops
from kappagcn.kernels.pairs import distances_from as compiled_distances
from kappagcn.kernels.points import Rows
from kappagcn.nn.inputs import factors_of

__all__ = ["compiled_rows", "distances_from", "factors_by_torch"]


@torch.no_grad()
def distances_from(v: Tensor, manifold: Manifold, sources: Sequence[int] | Tensor) -> Tensor:
    """Distances of some points from all points exp_0(v), float64: (N, D) → (S, N).

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        sources: Numbers of the source points, (S,).

    >>> from kappagcn import ProductManifold
    >>> v = torch.tensor([[-0.5], [0.0], [0.5]])
    >>> distances_from(v, ProductManifold.from_signature("H1"), [0]).round(decimals=6)
    tensor([[0., 1., 2.]], dtype=torch.float64)
    """
    k, dims = factors_of(v, manifold)
    starts = torch.as_tensor(sources)
    if starts.dim() != 1 or starts.is_floating_point() or starts.dtype == torch.bool:
        raise GraphError(f"sources: expected numbers of nodes, found {starts.dtype} of shape {tuple(starts.shape)}.")
    if len(starts) and not 0 <= int(starts.min()) <= int(starts.max()) < len(v):
        raise GraphError(f"sources: expected nodes from 0 to {len(v) - 1}, found others.")
    rows = compiled_rows(v, k, dims)
    if rows is not None:
        return torch.from_numpy(compiled_distances(rows, starts.numpy()))
    known = torch.isfinite(v).all(1)
    finite = torch.where(known[:, None], v, 0).double()
    squares = torch_pairs.squares_from(factors_by_torch(finite, k, dims), starts)
    squares[torch.arange(len(starts)), starts] = 0
    return torch.where(known & known[starts][:, None], squares.sqrt(), torch.nan)  # as in the compiled pairs


def compiled_rows(v: Tensor, k: Tensor, dims: list[int]) -> Rows | None:
    """The points in the form that compiled loops take; None where torch is used instead."""
    if not runs_loops(v):
        return None
    return Rows(v.detach().numpy(), np.cumsum([0, *dims]), k.detach().double().numpy())


@torch.no_grad()
def factors_by_torch(v: Tensor, k: Tensor, dims: list[int]) -> list[torch_pairs.Factor]:
    """The points of each factor as `torch_pairs` takes them."""
    parts = v.detach().double().split(dims, 1)
    return [torch_pairs.Factor(part, kappa) for part, kappa in zip(parts, k.detach().double().tolist(), strict=True)]
