"""Lift, sparse product and lower as one operation, all factors of a product in the same pass.

A row (v_1, …, v_F) is lifted to (n_1, …, n_F, h_1, …, h_F).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.kernels.blocks import Factors
from kappagcn.kernels.dispatch import first_order
from kappagcn.kernels.lifting import lift, lift_backward
from kappagcn.kernels.lowering import Lowered, add_far, lower, lower_backward
from kappagcn.sparse import SparseMatrix, multiply

__all__ = ["midpoints"]


class _Midpoints(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, adjacency: SparseMatrix, dims: list[int], dtype: torch.dtype) -> Tensor:
        matrix, ctx.transpose = adjacency.to(dtype).matrices()
        ctx.adjacency, ctx.factors = adjacency, Factors.of(dims, k)
        weight, rows = adjacency.row_sums(), adjacency.gather_forward(v)
        lifted, lifts = lift(rows, ctx.factors, dtype, ROW_EXPONENT[torch.float64])
        sums = multiply(matrix, lifted)
        lowered = lower(sums, matrix, rows, lifts, ctx.factors, weight)
        ctx.save_for_backward(rows, k, weight, lifts, sums, *lowered[1:])
        return lowered.rows

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        rows, k, weight, lifts, sums, *kept = ctx.saved_tensors
        lowered = Lowered(grad, *kept)
        by_sums, by_far, by_k = lower_backward(sums, lowered, ctx.factors, weight, grad)
        by_lifted = add_far(multiply(ctx.transpose, by_sums), ctx.transpose, lowered.far, by_far, ctx.factors)
        by_rows, by_k_of_lift = lift_backward(rows, ctx.factors, lifts, by_lifted)
        by_kappa = torch.from_numpy(by_k + by_k_of_lift).to(k.dtype)
        return ctx.adjacency.gather_backward(by_rows), by_kappa, None, None, None


def midpoints(v: Tensor, k: Tensor, adjacency: SparseMatrix, dims: list[int], dtype: torch.dtype) -> Tensor:
    """log_0(A ⊠ exp_0(V)), (N, D) → (M, D), with lifts and sums in `dtype`; see `kappagcn.nn.midpoints`."""
    rows: Tensor = _Midpoints.apply(v, k, adjacency, dims, dtype)
    return rows
