"""κ-midpoints over a sparse matrix: rows are lifted, multiplied by the matrix, and lowered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from torch.library import custom_op

from kappagcn.geometry.numerics import ROW_EXPONENT, ROW_FAR_TANGENT, ROW_NEAR, ball_gap
from kappagcn.geometry.vectors import dot
from kappagcn.kernels.dispatch import runs_loops
from kappagcn.kernels.midpoints import backward, forward, midpoint_rows, precision
from kappagcn.kernels.rows import Factors, lift_rows, lower_by_torch
from kappagcn.sparse import Matrix, SparseMatrix
from kappagcn.sparse.compressed import csr_tensor
from kappagcn.tracing import is_cheap_to_read, is_compiled_for_cpu, is_slow_to_read


def midpoints(
    v: Tensor,
    adjacency: Matrix,
    k: Tensor,
    dims: list[int],
    *,
    bias: Tensor | None = None,
    double: bool = False,
) -> Tensor:
    """log_0(A ⊠ exp_0(V)) + b with factor f of dimension dims[f] and curvature k[f], (N, D) → (M, D).

    Compiled loops take a matrix whose rows are in this process; a matrix that ranks share, other devices and transforms
    of ``torch.func`` take the steps of `_in_steps`.
    """
    adjacency.check(v)
    if double and v.dtype != torch.float64:
        rows = midpoints(v.double(), adjacency.to(torch.float64), k, dims).to(v.dtype)
    elif type(adjacency) is not SparseMatrix:
        rows = _in_steps(v, k, dims, adjacency)
    elif is_compiled_for_cpu(v, k) and adjacency.is_local():
        tensors = *adjacency.csr(), *adjacency.csr_transpose(), adjacency.row_sums()
        rows = cast(Tensor, midpoints_operation(v, k.double(), dims, *tensors))
    elif runs_loops(v, k, adjacency.values) and (not adjacency.requires_grad or adjacency.is_non_negative()):
        constant = adjacency.with_values(adjacency.values.detach()) if adjacency.requires_grad else adjacency
        matrices = *constant.to(precision(v, k)).matrices(), constant.row_sums()
        entries = adjacency.values, adjacency.rows, adjacency.cols
        rows = midpoint_rows(v, k.double(), dims, entries, matrices, partial(_twin, dims=dims, adjacency=adjacency))
    else:
        rows = _in_steps(v, k, dims, adjacency)
    return rows if bias is None else rows + bias


def _twin(
    v: Tensor, k: Tensor, values: Tensor | None = None, *, dims: Sequence[int], adjacency: SparseMatrix
) -> Tensor:
    return _in_steps(v, k, dims, adjacency if values is None else adjacency.with_values(values))


def _in_steps(v: Tensor, k: Tensor, dims: Sequence[int], adjacency: Matrix, *, double: bool = False) -> Tensor:
    """Midpoints by a lift, a sparse product and a lowering of all rows in torch, in the dtype of the rows.

    If some row is far all is computed in float64, as by `kappagcn.kernels.midpoints`; on a device that is slow to read
    always, where Python cannot read values never.
    """
    if v.dtype != torch.float64 and (double or is_slow_to_read(v)):
        return _in_steps(v.double(), k, dims, adjacency.to(torch.float64)).to(v.dtype)
    weight, kappas = adjacency.row_sums(), k.double()
    lifted = lift_rows(v, kappas, dims)
    sums = adjacency.product(lifted)
    if v.dtype != torch.float64 and is_cheap_to_read(v, k):
        far = any_far(lifted, k, dims) or any_far(sums, k, dims, weight)
        if adjacency.any_rank(far):  # ranks that share a matrix go the same way
            return _in_steps(v, k, dims, adjacency, double=True)
    return lower_by_torch(sums, kappas, weight, dims)


def _parts(e: Tensor, k: Tensor, dims: Sequence[int]) -> list[tuple[Tensor, Tensor, float]]:
    """Parts n and h of ambient rows, (N, D) and (N,), and κ, for each factor."""
    parts = zip(e.split([dim + 1 for dim in dims], -1), k.tolist(), strict=True)
    return [(part[:, :-1], part[:, -1], kappa) for part, kappa in parts]


@torch.no_grad()
def any_far(e: Tensor, k: Tensor, dims: Sequence[int], weight: Tensor | None = None) -> bool:
    """Whether some row lies so far out for κ < 0, or points out of the space, that rounding errors of a sum count.

    Args:
        e: Lifted rows, or sums of them, (N, D + F).
        k: Curvatures of the factors, (F,).
        dims: Dimensions of the factors.
        weight: Sums of the weights, (N,); None for lifted rows, which need no products.
    """
    least = (1 - ROW_FAR_TANGENT) ** -0.5  # height of a point whose tanh² is ROW_FAR_TANGENT
    for n, h, kappa in _parts(e, k, dims):
        if kappa >= 0 or not len(e):
            continue
        if weight is None:
            far = not bool(h.max() < least)
        else:
            square, ahead = torch.linalg.vecdot(n, n), torch.where(weight < 0, -h, h).clamp(min=0)
            near = (-kappa * square < ROW_FAR_TANGENT * ahead.square()) | (square == 0)  # false on overflow
            far = not bool(near.all())
        if far:
            return True
    return False


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
    for n, h, kappa in _parts(sums, k, dims):
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
