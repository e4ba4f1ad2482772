"""κ-midpoints over a sparse matrix: compiled where numba is installed and the rows are on the CPU, else by torch."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.kernels.dispatch import compiled
from kappagcn.nn.rows import any_far, edge_rows, lift_rows, lower_rows
from kappagcn.sparse import SparseMatrix

__all__ = ["count_edge_rows", "midpoints"]


def midpoints(v: Tensor, adjacency: SparseMatrix, k: Tensor, dims: list[int], *, double: bool = False) -> Tensor:
    """log_0(A ⊠ exp_0(V)) with factor f of dimension dims[f] and curvature k[f], (N, D) → (M, D).

    Args:
        v: Tangent vectors at the origin, (N, D).
        adjacency: A, (M, N), of v's dtype.
        k: Curvatures, (F,).
        dims: Dimensions, which sum to D.
        double: Lift, multiply and lower in float64.
    """
    adjacency.check(v)
    kernels = None if adjacency.values.requires_grad else compiled("midpoints", v, k, adjacency.values)
    dtype = v.dtype
    if kernels is not None:
        return cast(Tensor, kernels.midpoints(v, k, adjacency, dims, torch.float64 if double else dtype))
    if double:
        v, adjacency = v.double(), adjacency.to(torch.float64)
    parts = zip(v.split(dims, -1), k.to(v.dtype).unbind(), strict=True)
    return torch.cat([_by_torch(part, adjacency, kappa) for part, kappa in parts], dim=-1).to(dtype)


def _by_torch(v: Tensor, adjacency: SparseMatrix, kappa: Tensor) -> Tensor:
    lifted, weight = lift_rows(v, kappa), adjacency.row_sums()
    sums = adjacency.product(lifted)
    in_single = not torch.compiler.is_compiling() and v.dtype != torch.float64
    if in_single and adjacency.any_rank(any_far(lifted, sums, kappa, weight)):
        # Far out the digits that float32 loses count.
        return _by_torch(v.double(), adjacency.to(torch.float64), kappa.double()).to(v.dtype)
    return lower_rows(sums, kappa, weight)


@torch.no_grad()
def count_edge_rows(v: Tensor, adjacency: SparseMatrix, k: Tensor, dims: list[int]) -> int:
    """Number of rows beyond what float64 resolves for κ < 0: on the way up, and on the way down."""
    v, adjacency, k = v.double(), adjacency.to(torch.float64), k.double()
    count = 0
    for part, kappa in zip(v.split(dims, -1), k.unbind(), strict=True):
        far = 2 * (-kappa).clamp(min=0).sqrt() * part.norm(dim=-1) > ROW_EXPONENT[part.dtype]
        count += int(far.sum()) + edge_rows(adjacency.product(lift_rows(part, kappa)), kappa)
    return count
