"""κ-midpoints over a sparse matrix: compiled where numba is installed and the rows are on the CPU, else by torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.nn.rows import any_far, edge_rows, first_order, lift_rows, lower_rows
from kappagcn.sparse import SparseMatrix, multiply

__all__ = ["compiled", "count_edge_rows", "kernels_for", "midpoints", "torch_only"]

COMPILED_FOR = (torch.float32, torch.float64)
_torch_only = False


class _Compiled(torch.autograd.Function):
    """Lift, product and lower as one operation."""

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        adjacency: SparseMatrix,
        dims: list[int],
        dtype: torch.dtype,
        kernels: ModuleType,
    ) -> Tensor:
        matrix, ctx.transpose = adjacency.to(dtype).matrices()
        ctx.adjacency = adjacency
        weight = adjacency.row_sums()
        ctx.kernels, ctx.factors = kernels, kernels.Factors(dims, k.tolist())
        rows = adjacency.gather_forward(v)
        lifted, lifts = kernels.lift(rows, ctx.factors, dtype, ROW_EXPONENT[torch.float64])
        sums = multiply(matrix, lifted)
        lowered = kernels.lower(sums, matrix, rows, lifts, ctx.factors, weight)
        ctx.save_for_backward(rows, k, weight, lifts, sums, *lowered[1:])
        return lowered.rows  # type: ignore[no-any-return]

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        rows, k, weight, lifts, sums, *kept = ctx.saved_tensors
        kernels, factors, lowered = ctx.kernels, ctx.factors, ctx.kernels.Lowered(grad, *kept)
        by_sums, by_far, by_k = kernels.lower_backward(sums, lowered, factors, weight, grad)
        by_lifted = kernels.add_far(multiply(ctx.transpose, by_sums), ctx.transpose, lowered.far, by_far, factors)
        by_rows, by_k_too = kernels.lift_backward(rows, factors, lifts, by_lifted)
        by_k = (by_k.sum(0) if len(by_k) > 1 else by_k[0]) + (by_k_too.sum(0) if len(by_k_too) > 1 else by_k_too[0])
        return ctx.adjacency.gather_backward(by_rows), torch.from_numpy(by_k).to(k.dtype), None, None, None, None


@cache
def _kernels() -> ModuleType | None:
    try:
        from kappagcn.kernels import rows
    except ImportError:  # numba is an extra
        return None
    return rows


@contextmanager
def torch_only() -> Iterator[None]:
    """Within it midpoints go through torch, as where numba is not installed; for comparisons."""
    global _torch_only
    before, _torch_only = _torch_only, True
    try:
        yield
    finally:
        _torch_only = before


def compiled() -> bool:
    """Whether midpoints on the CPU go through compiled code."""
    return not _torch_only and _kernels() is not None


def kernels_for(*tensors: Tensor) -> ModuleType | None:
    """The compiled functions, where these tensors can go through them."""
    if torch.compiler.is_compiling() or not compiled():
        return None
    for t in tensors:
        if not t.is_cpu or t.dtype not in COMPILED_FOR:
            return None
    return _kernels()


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
    kernels = None if adjacency.values.requires_grad else kernels_for(v, k, adjacency.values)
    if kernels is not None:
        found: Tensor = _Compiled.apply(v, k, adjacency, dims, torch.float64 if double else v.dtype, kernels)
        return found
    dtype = v.dtype
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
        count += int(far.sum()) + int(edge_rows(adjacency.product(lift_rows(part, kappa)), kappa))
    return count
