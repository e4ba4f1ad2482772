"""κ-midpoints over a sparse matrix: compiled in one pass over its entries, or lift, sparse product and lowering."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_NEAR
from kappagcn.kernels.dispatch import compiled
from kappagcn.nn.rows import any_far, edge_rows, lift_rows, lower_rows
from kappagcn.sparse import SparseMatrix
from kappagcn.tracing import is_cheap_to_read, is_slow_to_read


def midpoints(
    v: Tensor,
    adjacency: SparseMatrix,
    k: Tensor,
    dims: list[int],
    *,
    bias: Tensor | None = None,
    double: bool = False,
) -> Tensor:
    """log_0(A ⊠ exp_0(V)) + b with factor f of dimension dims[f] and curvature k[f], (N, D) → (M, D)."""
    adjacency.check(v)
    if bias is not None and (double or bias.dtype != v.dtype):
        return midpoints(v, adjacency, k, dims, double=double) + bias
    if double and v.dtype != torch.float64:
        return midpoints(v.double(), adjacency.to(torch.float64), k, dims).to(v.dtype)
    kernels = compiled("midpoints", v, k, *([] if bias is None else [bias])) if adjacency.is_local() else None
    twin = partial(_shifted, adjacency=adjacency, dims=dims)
    if kernels is None:
        return twin(v, k, bias)
    matrix, transpose, weight = adjacency.arrays()
    return cast(Tensor, kernels.midpoints(v, k.double(), bias, matrix, tuple(dims), transpose, weight, twin))


def _shifted(v: Tensor, k: Tensor, bias: Tensor | None = None, *, adjacency: SparseMatrix, dims: list[int]) -> Tensor:
    rows = _in_steps(v, k, adjacency, dims)
    return rows if bias is None else rows + bias


def _in_steps(v: Tensor, k: Tensor, adjacency: SparseMatrix, dims: list[int], *, double: bool = False) -> Tensor:
    """Midpoints by a lift, a sparse product and a lowering of all rows."""
    # On a device that is slow to read, whether rows lie far out is not looked up.
    if v.dtype != torch.float64 and (double or is_slow_to_read(v)):
        return _in_steps(v.double(), k, adjacency.to(torch.float64), dims).to(v.dtype)
    kappas, weight = k.double().unbind(), adjacency.row_sums()
    lifted = [lift_rows(part, kappa) for part, kappa in zip(v.split(dims, -1), kappas, strict=True)]
    sums = adjacency.product(_join(lifted)).split([dim + 1 for dim in dims], -1)
    if v.dtype != torch.float64 and is_cheap_to_read(v, k) and bool((k < 0).any()):
        far = any(any_far(*part, weight) for part in zip(lifted, sums, kappas, strict=True))
        if adjacency.any_rank(far):  # float32 would lose digits
            return _in_steps(v, k, adjacency, dims, double=True)
    return _join([lower_rows(e, kappa, weight) for e, kappa in zip(sums, kappas, strict=True)])


def _factors(v: Tensor, k: Tensor, dims: list[int]) -> Iterator[tuple[Tensor, Tensor]]:
    """Columns and curvature of each factor."""
    return zip(v.split(dims, -1), k.unbind(), strict=True)


def _join(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


@torch.no_grad()
def count_edge_rows(v: Tensor, adjacency: SparseMatrix, k: Tensor, dims: list[int]) -> int:
    """Number of rows beyond what float64 resolves for κ < 0, before and after the product."""
    radii = [2 * (-kappa).clamp(min=0).sqrt() * part.norm(dim=-1) for part, kappa in _factors(v, k, dims)]
    is_near = all(bool((radius <= ROW_NEAR).all()) for radius in radii) and bool((adjacency.values >= 0).all())
    if not adjacency.any_rank(not is_near):  # a product in float64 would sort the whole matrix again
        return 0
    v, adjacency, k = v.double(), adjacency.to(torch.float64), k.double()
    count = 0
    for part, kappa in _factors(v, k, dims):
        far = 2 * (-kappa).clamp(min=0).sqrt() * part.norm(dim=-1) > ROW_EXPONENT[part.dtype]
        count += int(far.sum()) + edge_rows(adjacency.product(lift_rows(part, kappa)), kappa)
    return count
