"""Midpoints as operations that ``torch.compile`` calls as they are, and the rows that they cap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_NEAR, ball_gap
from kappagcn.geometry.vectors import dot
from kappagcn.kernels.midpoints import backward, forward, precision
from kappagcn.kernels.rows import Factors, lift_rows
from kappagcn.sparse import Matrix
from kappagcn.sparse.compressed import csr_tensor


def ambient_parts(e: Tensor, k: Tensor, dims: Sequence[int]) -> list[tuple[Tensor, Tensor, float]]:
    """Parts n and h of ambient rows, (N, D) and (N,), and κ, for each factor."""
    parts = zip(e.split([dim + 1 for dim in dims], -1), k.tolist(), strict=True)
    return [(part[:, :-1], part[:, -1], kappa) for part, kappa in parts]


@torch.no_grad()
def count_edge_rows(v: Tensor, adjacency: Matrix, k: Tensor, dims: list[int]) -> int:
    """Number of rows beyond what float64 resolves for κ < 0, before and after the product."""
    roots = (-k.double()).clamp(min=0).sqrt().unbind()
    radii = [2 * root * part.double().norm(dim=-1) for part, root in zip(v.split(dims, -1), roots, strict=True)]
    is_near = all(bool((radius <= ROW_NEAR).all()) for radius in radii) and adjacency.is_non_negative()
    if not adjacency.any_rank(not is_near):  # a product in float64 would sort the whole matrix again
        return 0
    count = sum(int((radius > ROW_EXPONENT[torch.float64]).sum()) for radius in radii)
    sums = adjacency.to(torch.float64).product(lift_rows(v.double(), k.double(), dims))
    for n, h, kappa in ambient_parts(sums, k, dims):
        size = (max(0.0, -kappa) * dot(n, n).squeeze(-1)).sqrt()
        count += int(((size > 0) & (size >= (1 - ball_gap(sums)) * h)).sum())
    return count


@custom_op("kappagcn::midpoints", mutates_args=(), device_types="cpu")
def midpoints_operation(
    v: Tensor,
    k: Tensor,
    dims: Sequence[int],
    starts: Tensor,
    indices: Tensor,
    values: Tensor,
    turned_starts: Tensor,
    turned_indices: Tensor,
    turned_values: Tensor,
    weight: Tensor,
) -> Tensor:
    """`kernels.midpoints.forward` as a function that ``torch.compile`` calls as it is.

    Args:
        v: V, (N, D), of float32 or float64.
        k: Curvatures of the factors, (F,), of float64.
        dims: Dimensions of the factors.
        starts: A by rows: first entry of each row, (M + 1,); with its columns and values, (E,).
        indices: Columns.
        values: Values.
        turned_starts: The transpose of A by rows, (N + 1,), (E,) and (E,).
        turned_indices: Columns.
        turned_values: Values.
        weight: Row sums of A, (M,).

    Returns:
        The midpoints, (M, D).
    """
    matrix = csr_tensor(starts, indices, values.to(precision(v, k)), (len(weight), len(v)))
    return forward(v, Factors.of(k, dims), matrix, weight)[0]


@midpoints_operation.register_fake
def _(v: Tensor, k: Tensor, dims: Sequence[int], *arrays: Tensor) -> Tensor:
    return v.new_empty(arrays[-1].shape[0], v.shape[1])


@custom_op("kappagcn::midpoints_backward", mutates_args=(), device_types="cpu")
def midpoints_backward(
    grad: Tensor,
    v: Tensor,
    k: Tensor,
    dims: Sequence[int],
    starts: Tensor,
    indices: Tensor,
    values: Tensor,
    turned_starts: Tensor,
    turned_indices: Tensor,
    turned_values: Tensor,
    weight: Tensor,
) -> tuple[Tensor, Tensor]:
    """Gradients of midpoints with respect to V, (N, D), and κ, (F,); what they need is computed again."""
    dtype = precision(v, k)
    matrix = csr_tensor(starts, indices, values.to(dtype), (len(weight), len(v)))
    transpose = csr_tensor(turned_starts, turned_indices, turned_values.to(dtype), (len(v), len(weight)))
    _, kept = forward(v, Factors.of(k, dims), matrix, weight)
    by_v, by_k, *_ = backward(grad, v, (matrix, transpose), weight, kept)
    return by_v, k.new_tensor(by_k)


@midpoints_backward.register_fake
def _(grad: Tensor, v: Tensor, k: Tensor, dims: Sequence[int], *arrays: Tensor) -> tuple[Tensor, Tensor]:
    return v.new_empty(v.shape), k.new_empty(k.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    v, k, ctx.dims, *arrays = inputs
    ctx.save_for_backward(v, k, *arrays)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    v, k, *arrays = ctx.saved_tensors
    return *midpoints_backward(grad, v, k, ctx.dims, *arrays), *[None] * 8


midpoints_operation.register_autograd(_backward, setup_context=_save)
