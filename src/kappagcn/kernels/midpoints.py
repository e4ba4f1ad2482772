r"""A layer of midpoints and its derivatives, weight · lower(A · lift(V)): rows are lifted, summed and lowered.

A is a sparse matrix, and weight has its row sums: the sum of lifted rows points to the midpoint, whatever its length.
`rows` has the equations of lift and lower; the sums between them are torch's sparse product, which uses all threads.

Lifted rows, their sums and the gradients of both are stored in the dtype of A: that of V, and for few rows in a space
of κ < 0 float64. In float32 a sum farther than 2.2/√−κ from the origin, where a rounding error of a lifted row grows
more than twentyfold, is computed again in float64, row by row. So midpoints have the digits of their dtype at any
distance that float64 resolves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_EXPONENT
from kappagcn.kernels.blocks import Array, as_array, loop
from kappagcn.kernels.dispatch import second_order
from kappagcn.kernels.rows import EDGE, Factors, dot, lift_all, lift_backward, lower, lower_backward, slope_by_z
from kappagcn.sparse.compressed import multiply

__all__ = ["Kept", "backward", "forward", "midpoint_rows", "precision"]

FARTHEST = ROW_EXPONENT[torch.float64]  # √−κ·r beyond which lifted rows count as lying there
SMALL = 2**17  # numbers of V that fit the processor's cache in float64 with all that is made of them


@loop
def _sum_rows(
    v: Array,
    ends: Array,
    lifts: Array,
    starts: Array,
    indices: Array,
    values: Array,
    rows: Array,
    sums: Array,
) -> None:
    """Some rows of A · lift(V), in float64; `lifts` as by `_lift`."""
    for f in range(ends.shape[0] - 1):
        first, dim = ends[f], ends[f + 1] - ends[f]
        top = first + np.uint64(f)
        for row in range(rows.shape[0]):
            for entry in range(starts[rows[row]], starts[rows[row] + 1]):
                j, value = indices[entry], np.float64(values[entry])
                for c in range(dim):
                    sums[row, top + c] += 2 * value * lifts[f, 0, j] * v[j, first + c]
                sums[row, top + dim] += value * lifts[f, 1, j]


@loop
def _sum_rows_backward(
    v: Array,
    kappas: Array,
    ends: Array,
    lifts: Array,
    starts: Array,
    indices: Array,
    values: Array,
    rows: Array,
    by_sums: Array,
    by_v: Array,
    by_kappa: Array,
) -> None:
    """Add gradients of `_sum_rows` with respect to V and κ."""
    for f in range(ends.shape[0] - 1):
        first, dim, kappa = ends[f], ends[f + 1] - ends[f], kappas[f]
        top = first + np.uint64(f)
        for row in range(rows.shape[0]):
            for entry in range(starts[rows[row]], starts[rows[row] + 1]):
                j, value, sinc, cosc = (
                    indices[entry],
                    values[entry],
                    lifts[f, 0, indices[entry]],
                    lifts[f, 1, indices[entry]],
                )
                q, along = dot(v, j, first, v, j, first, dim), dot(v, j, first, by_sums, row, top, dim)
                by_z = value * slope_by_z(q, kappa, sinc, cosc, along, by_sums[row, top + dim])
                by_kappa[f] += 4 * q * by_z
                for c in range(dim):
                    by_v[j, first + c] += 2 * value * sinc * by_sums[row, top + c] + 8 * kappa * by_z * v[j, first + c]


class Kept(NamedTuple):
    """What the derivatives of midpoints need.

    Attributes:
        factors: The factors of the space.
        lifts: sinc and cosc of each factor and row, (F, 2, N).
        sums: Sums of lifted rows, (M, D + F); 0 for far ones.
        stretches: u of each factor and sum, (F, M).
        far: The far sums, if there are any.
    """

    factors: Factors
    lifts: Tensor
    sums: Tensor
    stretches: Tensor
    far: Far | None


class Far(NamedTuple):
    """Far sums, which are computed in float64.

    Attributes:
        rows: Their numbers, (R,).
        weight: Row sums of their part of A, (R,).
        sums: Sums of lifted rows, (R, D + F).
        stretches: u of each factor and sum, (F, R).
    """

    rows: Array
    weight: Array
    sums: Array
    stretches: Array


def precision(v: Tensor, k: Tensor) -> torch.dtype:
    """The dtype of A for `forward`: float64 for few rows in a space of some κ < 0, where it costs nothing, else V's."""
    return torch.float64 if v.numel() <= SMALL and min(k.tolist(), default=0.0) < 0 else v.dtype


def forward(v: Tensor, factors: Factors, matrix: Tensor, weight: Tensor) -> tuple[Tensor, Kept]:
    """Midpoints weight · lower(A · lift(V)), (N, D) → (M, D), and what their derivatives need.

    Args:
        v: V, of float32 or float64.
        factors: The factors of the space.
        matrix: A, a CSR tensor of V's dtype or float64, in which lifted rows and sums are stored.
        weight: Row sums of A, (M,).
    """
    m, count, dtype = len(weight), len(factors.kappas), v.dtype
    v, weight = v.to(matrix.dtype), weight.to(matrix.dtype)
    lifted, lifts, is_far = lift_all(v, factors, FARTHEST)
    sums, out, far = multiply(matrix, lifted), v.new_empty(m, v.shape[1]), np.zeros(m, np.bool_)
    stretches = lifts.new_empty(count, m)
    lower(sums.numpy(), *factors, as_array(weight), EDGE, out.numpy(), stretches.numpy(), far)
    if v.dtype != torch.float64 and is_far and bool((matrix.values() < 0).any()):
        far[:] = True  # negative weights cancel digits of far rows in any sum
    if v.dtype == torch.float64 or not far.any():
        return out.to(dtype), Kept(factors, lifts, sums, stretches, None)
    rows = np.flatnonzero(far)
    again = Far(
        rows,
        weight.numpy()[rows].astype(np.float64),
        np.zeros((len(rows), sums.shape[1])),
        np.empty((count, len(rows))),
    )
    _sum_rows(as_array(v), factors.ends, lifts.numpy(), *_arrays(matrix), rows, again.sums)
    midpoints = np.empty((len(rows), v.shape[1]))
    lower(again.sums, *factors, again.weight, EDGE, midpoints, again.stretches, far)
    out.numpy()[rows], sums.numpy()[rows] = midpoints, 0
    return out.to(dtype), Kept(factors, lifts, sums, stretches, again)


def _arrays(matrix: Tensor) -> tuple[Array, Array, Array]:
    return matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()


def backward(
    grad: Tensor, v: Tensor, matrices: tuple[Tensor, Tensor], weight: Tensor, kept: Kept
) -> tuple[Tensor, Array, Tensor, Tensor, Array | None]:
    """Gradients with respect to V, κ, the sums of lifted rows, (M, D + F), the weights, (M,), and far sums.

    Args:
        grad: Gradient with respect to the midpoints, (M, D).
        v: As in `forward`, with its weight.
        matrices: A and its transpose, CSR tensors.
        weight: Row sums of A.
        kept: Result of `forward`.
    """
    factors, lifts, sums, stretches, far = kept
    dtype = v.dtype
    grad, v, weight = grad.to(sums.dtype), v.to(sums.dtype), weight.to(sums.dtype)
    by_v, by_k, by_sums, by_weight = (
        v.new_empty(v.shape),
        np.zeros(len(lifts)),
        torch.empty_like(sums),
        torch.zeros_like(weight),
    )
    x, g = as_array(v), as_array(grad)
    rows = as_array(sums), *factors, as_array(weight), EDGE, stretches.numpy(), g
    lower_backward(*rows, by_sums.numpy(), by_weight.numpy(), by_k)
    if far is not None:
        by_far, by_far_weight = np.zeros_like(far.sums), np.zeros_like(far.weight)
        far_rows = far.sums, *factors, far.weight, EDGE, far.stretches, g[far.rows].astype(np.float64)
        lower_backward(*far_rows, by_far, by_far_weight, by_k)
        by_sums.numpy()[far.rows], by_weight.numpy()[far.rows] = 0, by_far_weight
    by_lifts = multiply(matrices[1], by_sums)
    lift_backward(x, *factors, lifts.numpy(), by_lifts.numpy(), by_v.numpy(), by_k)
    if far is not None:
        _sum_rows_backward(x, *factors, lifts.numpy(), *_arrays(matrices[0]), far.rows, by_far, by_v.numpy(), by_k)
        return by_v.to(dtype), by_k, by_sums, by_weight, by_far
    return by_v.to(dtype), by_k, by_sums, by_weight, None


@loop
def _entry_products(by_sums: Array, by_weight: Array, lifted: Array, rows: Array, cols: Array, out: Array) -> None:
    """⟨∂/∂S_i, lift(v_j)⟩ + ∂/∂w_i of the entries of a matrix."""
    for e in range(out.shape[0]):
        i, j, total = rows[e], cols[e], np.float64(by_weight[rows[e]])
        for c in range(lifted.shape[1]):
            total += by_sums[i, c] * lifted[j, c]
        out[e] = total


class _Midpoints(torch.autograd.Function):
    """Midpoints as a function of V, κ and the entries of A, ∂/∂A_ij = ⟨∂/∂S_i, lift(v_j)⟩ + ∂/∂w_i."""

    @staticmethod
    def forward(
        ctx: Any,
        v: Tensor,
        k: Tensor,
        values: Tensor,
        rows: Tensor,
        cols: Tensor,
        dims: Sequence[int],
        matrices: tuple[Tensor, Tensor, Tensor],
        twin: Callable[..., Tensor],
    ) -> Tensor:
        *ctx.matrices, weight = matrices
        out, kept = forward(v, Factors.of(k, dims), ctx.matrices[0], weight)
        ctx.factors, ctx.far = kept.factors, kept.far
        ctx.inputs, ctx.twin = 3 if ctx.needs_input_grad[2] else 2, twin
        # Entries are saved so that torch notices if they change before the backward pass.
        entries = [part for part in (values, rows, cols) if not part.is_inference()]
        ctx.save_for_backward(v, k, *entries, weight, kept.lifts, kept.sums, kept.stretches)
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, *entries, weight, lifts, sums, stretches = ctx.saved_tensors
        kept = Kept(ctx.factors, lifts, sums, stretches, ctx.far)
        by_v, by_kappa, by_sums, by_weight, by_far = backward(grad, v, ctx.matrices, weight, kept)
        by_k = k.new_tensor(by_kappa)
        if not ctx.needs_input_grad[2]:
            return by_v, by_k, *[None] * 6
        values, rows, cols = entries
        if by_far is not None:
            by_sums = by_sums.double()
            by_sums.numpy()[ctx.far.rows] = by_far
        lifted, *_ = lift_all(v.to(by_sums.dtype), ctx.factors, FARTHEST)
        by_values = torch.empty_like(values)
        _entry_products(*map(as_array, (by_sums, by_weight, lifted, rows, cols, by_values)))
        return by_v, by_k, by_values, *[None] * 5


def midpoint_rows(
    v: Tensor,
    k: Tensor,
    dims: Sequence[int],
    entries: tuple[Tensor, Tensor, Tensor],
    matrices: tuple[Tensor, Tensor, Tensor],
    twin: Callable[..., Tensor],
) -> Tensor:
    """Midpoints that are differentiable with respect to V, κ and the entries of A, by compiled loops.

    Args:
        v: V, (N, D).
        k: Curvatures of the factors, (F,).
        dims: Dimensions of the factors.
        entries: Values, rows and columns of A's entries.
        matrices: A and its transpose as CSR tensors, see `forward`, and the row sums of A, (M,).
        twin: The same as a function of V, κ and the values in torch, for second derivatives.
    """
    return cast(Tensor, _Midpoints.apply(v, k, *entries, dims, matrices, twin))
