r"""A layer of midpoints and its derivatives: rows are lifted, summed over a sparse matrix, and lowered.

With q = |v|² and z = 4κq, for each factor of a product of spaces (geometry.md, Ambient coordinates),

    lift(v) = (n, h) = (2 sinc(z) v, cosc(z)),    lower(n, h) = ½u n,    u = ρ/|n|,    tan_κ(ρ) = |n|/h.

A layer is weight · lower(A · lift(V)), where weight has the row sums of A: the sum of lifted rows points to the
midpoint, whatever its length. With p = |n|² and Q = h² + κp the derivatives are

    ∂n = 2 sinc ∂v + 2v ∂sinc,     ∂h = −½ sinc ∂z,     ∂sinc = (cosc − sinc)/2z ∂z,     ∂z = 8κ⟨v, ∂v⟩ + 4q ∂κ,
    ∂u = 2κG ⟨n, ∂n⟩ − ∂h/Q + pG ∂κ,    G = (h/Q − u)/(2κp),

with two terms of a power series where z, or κp/h², is small. For κ < 0 a row that does not point into the space,
√−κ|n| ≥ h up to rounding, counts as the farthest point in the direction of n that its dtype resolves, at distance
artanh(1 − 4ε)/√−κ, and has that point's derivatives; so no row is infinite or NaN.

`forward` and `backward` lift and lower by loops over rows compiled by numba; the sums are torch's sparse product.
Lifted rows, their sums and the gradients of both are stored in the dtype of V. If for κ < 0 some row lies farther than
2.2/√−κ from the origin, where a rounding error of a lifted row grows more than twentyfold, all is computed again with
float64 in their place: so midpoints have the digits of their dtype at any distance that float64 resolves. Twins in
torch, `lift_by_torch` and `lower_by_torch`, serve other devices, transforms of ``torch.func`` and second derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.ambient import join, lifted, lowered
from kappagcn.geometry.numerics import (
    ROUNDING,
    ROW_EXPONENT,
    ROW_FAR_TANGENT,
    ROW_LEAST,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    ROW_VALUE_TERMS,
    SERIES,
    ball_gap,
    positive_root,
)
from kappagcn.geometry.vectors import norm
from kappagcn.kernels.blocks import Array, as_array, for_row_blocks, loop
from kappagcn.kernels.dispatch import runs_loops, second_order
from kappagcn.sparse.compressed import multiply

__all__ = [
    "Kept",
    "backward",
    "forward",
    "lift_by_torch",
    "lift_rows",
    "lower_by_torch",
    "midpoint_rows",
    "within",
]

# Globals of a module are constants of its compiled functions.
FAR_TANGENT, FAR_HEIGHT = ROW_FAR_TANGENT, (1 - ROW_FAR_TANGENT) ** -0.5  # tanh² of a radius, and its cosh
LEAST, SERIES_BELOW = ROW_LEAST, ROW_SERIES_BELOW
FARTHEST = ROW_EXPONENT[torch.float64]  # √−κ·r beyond which lifted rows count as lying there
EDGE = 1 - ROUNDING * float(np.finfo(np.float64).eps)  # tanh of the farthest radius that float64 resolves
SINC, ARTANC = (tuple(SERIES[name][: ROW_VALUE_TERMS[name]][::-1]) for name in ("sinc", "artanc"))
SINC_BELOW, ARTANC_BELOW = ROW_VALUE_SERIES_BELOW["sinc"], ROW_VALUE_SERIES_BELOW["artanc"]


@loop
def _polynomial(terms: tuple[float, ...], z: float) -> float:
    """A power series, highest power first."""
    total = 0.0
    for term in terms:
        total = total * z + term
    return total


@loop
def _dot(x: Array, i: int, first: int, y: Array, j: int, start: int, dim: int) -> float:
    """⟨x_i, y_j⟩ of dim columns from `first` and from `start` on, in float64."""
    total = 0.0
    for c in range(dim):
        total += np.float64(x[i, first + c]) * np.float64(y[j, start + c])
    return total


@loop
def _sinc_and_cosc(z: float, limit: float) -> tuple[float, float]:
    """sinc(z) and cosc(z); √−z beyond the limit counts as the limit."""
    if abs(z) < SINC_BELOW:
        sinc = _polynomial(SINC, z)
        return sinc, math.sqrt(1 - z * sinc * sinc)
    s = math.sqrt(abs(z))
    if z > 0:
        return math.sin(s) / s, math.cos(s)
    grown = math.exp(min(s, limit))
    return 0.5 * (grown - 1 / grown) / s, 0.5 * (grown + 1 / grown)


@loop
def _lift(v: Array, kappas: Array, ends: Array, limit: float, start: int, stop: int, out: Array, kept: Array) -> bool:
    """Lifted rows; sinc and cosc of each factor are kept, (N, 2F). Returns whether some row is far."""
    far = False
    for f in range(kappas.shape[0]):
        first, dim = ends[f], ends[f + 1] - ends[f]
        top = first + np.uint64(f)
        for i in range(start, stop):
            sinc, cosc = _sinc_and_cosc(4 * kappas[f] * _dot(v, i, first, v, i, first, dim), limit)
            kept[i, 2 * f], kept[i, 2 * f + 1] = sinc, cosc
            far |= kappas[f] < 0 and not cosc < FAR_HEIGHT
            for c in range(dim):
                out[i, top + c] = 2 * sinc * v[i, first + c]
            out[i, top + dim] = cosc
    return far


@loop
def _lift_backward(
    v: Array,
    kappas: Array,
    ends: Array,
    kept: Array,
    grad: Array,
    start: int,
    stop: int,
    by_v: Array,
    by_kappa: Array,
) -> None:
    """Gradients with respect to the rows from those with respect to lifted ones; that by κ is added."""
    for f in range(kappas.shape[0]):
        first, dim, kappa, total = ends[f], ends[f + 1] - ends[f], kappas[f], 0.0
        top = first + np.uint64(f)
        for i in range(start, stop):
            q, sinc, cosc = _dot(v, i, first, v, i, first, dim), kept[i, 2 * f], kept[i, 2 * f + 1]
            z = 4 * kappa * q
            slope = -1 / 6 + z / 60 if abs(z) < SERIES_BELOW else (cosc - sinc) / (2 * z)
            by_z = 2 * slope * _dot(v, i, first, grad, i, top, dim) - 0.5 * sinc * grad[i, top + dim]
            total += 4 * q * by_z
            for c in range(dim):
                by_v[i, first + c] = 2 * sinc * grad[i, top + c] + 8 * kappa * by_z * v[i, first + c]
        by_kappa[f] += total


@loop
def _stretch(p: float, h: float, kappa: float, edge: float) -> float:
    """u of the height h and p = |n|²; a row without a direction, of weight 0 or at the origin's antipode, has 0."""
    size = math.sqrt(abs(kappa) * p)
    if size == 0:
        return 1 / h if h > 0 else 0.0
    if h > 0 and size * size < ARTANC_BELOW * h * h:
        return _polynomial(ARTANC, kappa * p / (h * h)) / h
    if kappa > 0:
        return math.atan2(size, h) / size
    t = edge if size >= edge * h else size / h
    return 0.5 * math.log((1 + t) / (1 - t)) / size


@loop
def _height(e: Array, i: int, column: int, weight: float) -> float:
    """h of a row; a row of negative weight is that of the opposite weights, with the sign of the weight."""
    return np.float64(e[i, column]) if weight >= 0 else -np.float64(e[i, column])


@loop
def _lower(
    e: Array, kappas: Array, ends: Array, weight: Array, edge: float, start: int, stop: int, out: Array, kept: Array
) -> bool:
    """Lowered rows, times their weights; u of each factor is kept, (M, F). Returns whether some row is far."""
    far = False
    for f in range(kappas.shape[0]):
        first, dim, kappa = ends[f], ends[f + 1] - ends[f], kappas[f]
        top = first + np.uint64(f)
        for i in range(start, stop):
            p, h = _dot(e, i, top, e, i, top, dim), _height(e, i, top + dim, weight[i])
            far |= kappa < 0 and not (p == 0 or (h > 0 and -kappa * p < FAR_TANGENT * h * h))
            kept[i, f] = u = _stretch(p, h, kappa, edge)
            # At κ = 0 the weight is the height, and may be 0.
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            for c in range(dim):
                out[i, first + c] = scale * e[i, top + c]
    return far


@loop
def _lower_backward(
    e: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    edge: float,
    kept: Array,
    grad: Array,
    start: int,
    stop: int,
    by_e: Array,
    by_weight: Array,
    by_kappa: Array,
) -> None:
    """Gradients with respect to the rows; those with respect to their weights, and to κ, are added."""
    for f in range(kappas.shape[0]):
        first, dim, kappa, total = ends[f], ends[f + 1] - ends[f], kappas[f], 0.0
        top = first + np.uint64(f)
        for i in range(start, stop):
            sign = 1.0 if weight[i] >= 0 else -1.0
            h, u, p = _height(e, i, top + dim, weight[i]), kept[i, f], _dot(e, i, top, e, i, top, dim)
            along = 0.5 * _dot(e, i, top, grad, i, first, dim)
            pull, bent, ahead = abs(weight[i]) * along, kappa * p, max(h, LEAST)
            capped = bent <= 0 and (h <= 0 or -bent >= edge * edge * h * h)  # there u = constant/√(−κp)
            inverse = 0.0 if capped else 1 / max(h * h + bent, LEAST)
            z, change = bent / (ahead * ahead), pull * (h * inverse - u)
            if abs(z) < SERIES_BELOW and not capped:
                series = pull * (-1 / 3 + 0.4 * z) / (ahead * ahead * ahead)
                turn, bend = 2 * kappa * series, p * series
            elif bent == 0:
                turn, bend = 0.0, 0.0
            else:
                turn, bend = change / p, change / (2 * kappa)
            total += bend
            by_weight[i] += sign * u * along
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            for c in range(dim):
                by_e[i, top + c] = scale * grad[i, first + c] + turn * e[i, top + c]
            by_e[i, top + dim] = -sign * pull * inverse
        by_kappa[f] += total


def _factors(k: Tensor, dims: Sequence[int]) -> tuple[Array, Array]:
    """κ of the factors and bounds of their columns; unsigned, so that numba checks no index for being negative.

    κ is a copy: torch cannot free a parameter's memory (FSDP) that NumPy has seen.
    """
    return np.array(k.tolist(), np.float64), np.cumsum([0, *dims], dtype=np.uint64)


def _lift_all(
    v: Tensor, k: Tensor, dims: Sequence[int], limit: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor, bool]:
    """Lifted rows, (N, D + F), what their derivatives need, (N, 2F), and whether some row is far."""
    n, count, far = len(v), len(dims), []
    out, kept = v.new_empty(n, v.shape[1] + count, dtype=dtype), v.new_empty(n, 2 * count, dtype=torch.float64)
    (kappas, ends), x, rows, numbers = _factors(k, dims), as_array(v), out.numpy(), kept.numpy()
    for_row_blocks(n, lambda start, stop, _: far.append(_lift(x, kappas, ends, limit, start, stop, rows, numbers)))
    return out, kept, any(far)


class _Lift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, dims: Sequence[int], limit: float) -> Tensor:
        out, kept, _ = _lift_all(v, k, dims, limit, v.dtype)
        ctx.save_for_backward(v, k, kept)
        ctx.dims, ctx.inputs, ctx.twin = dims, 2, partial(lift_by_torch, dims=dims, limit=limit)
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, kept = ctx.saved_tensors
        by_v = v.new_empty(v.shape)
        (kappas, ends), x, numbers, g, out = _factors(k, ctx.dims), *map(as_array, (v, kept, grad, by_v))

        def differentiate(start: int, stop: int, by_kappa: Array) -> None:
            _lift_backward(x, kappas, ends, numbers, g, start, stop, out, by_kappa)

        return by_v, k.new_tensor(for_row_blocks(len(v), differentiate, sums=len(kappas))), None, None


MatrixOf = Callable[[torch.dtype], Tensor]  # a matrix as a CSR tensor of that dtype


class Kept(NamedTuple):
    """What the derivatives of midpoints need.

    Attributes:
        lifts: sinc and cosc of each row and factor, (N, 2F).
        sums: Sums of lifted rows, (M, D + F), in the dtype in which they were computed.
        stretches: u of each row and factor, (M, F).
    """

    lifts: Tensor
    sums: Tensor
    stretches: Tensor


def forward(
    v: Tensor, k: Tensor, dims: Sequence[int], matrix: MatrixOf, weight: Tensor, dtype: torch.dtype | None = None
) -> tuple[Tensor, Kept]:
    """Midpoints weight · lower(A · lift(V)), (N, D) → (M, D), and what their derivatives need.

    Args:
        v: V, of float32 or float64.
        k: Curvatures of the factors, (F,).
        dims: Dimensions of the factors.
        matrix: A, a CSR tensor, in a dtype.
        weight: Row sums of A, (M,).
        dtype: Type of lifted rows and their sums; by default that of V, and float64 if some row is far.
    """
    rows_as, m, count = dtype or v.dtype, len(weight), len(dims)
    lifted, lifts, far = _lift_all(v, k, dims, FARTHEST, rows_as)
    if far and rows_as != torch.float64:
        return forward(v, k, dims, matrix, weight, torch.float64)
    sums, out, stretches = multiply(matrix(rows_as), lifted), v.new_empty(m, v.shape[1]), lifts.new_empty(m, count)
    (kappas, ends), e, w = _factors(k, dims), sums.numpy(), as_array(weight)
    rows, numbers, far_sums = out.numpy(), stretches.numpy(), []
    for_row_blocks(
        m, lambda start, stop, _: far_sums.append(_lower(e, kappas, ends, w, EDGE, start, stop, rows, numbers))
    )
    if any(far_sums) and rows_as != torch.float64:  # with negative weights, sums lie farther out than all rows
        return forward(v, k, dims, matrix, weight, torch.float64)
    return out, Kept(lifts, sums, stretches)


def backward(
    grad: Tensor, v: Tensor, k: Tensor, dims: Sequence[int], transpose: MatrixOf, weight: Tensor, kept: Kept
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients with respect to V, (N, D), κ, (F,), the sums of lifted rows, (M, D + F), and the weights, (M,).

    Args:
        grad: Gradient with respect to the midpoints, (M, D).
        v: As in `forward`, with k, dims and weight.
        k: Curvatures.
        dims: Dimensions.
        transpose: The transpose of A, a CSR tensor, in a dtype.
        weight: Row sums of A.
        kept: Result of `forward`.
    """
    by_v, by_sums, by_weight = v.new_empty(v.shape), torch.empty_like(kept.sums), torch.zeros_like(weight)
    (kappas, ends), g, x, w = _factors(k, dims), *map(as_array, (grad, v, weight))
    lifts, e, stretches = map(as_array, kept)
    out, by_e, by_w = by_v.numpy(), by_sums.numpy(), by_weight.numpy()

    def lower_backward(start: int, stop: int, by_kappa: Array) -> None:
        _lower_backward(e, kappas, ends, w, EDGE, stretches, g, start, stop, by_e, by_w, by_kappa)

    by_k = for_row_blocks(len(weight), lower_backward, sums=len(kappas))
    by_lifts = multiply(transpose(by_sums.dtype), by_sums).numpy()

    def lift_backward(start: int, stop: int, by_kappa: Array) -> None:
        _lift_backward(x, kappas, ends, lifts, by_lifts, start, stop, out, by_kappa)

    by_k += for_row_blocks(len(v), lift_backward, sums=len(kappas))
    return by_v, k.new_tensor(by_k), by_sums, by_weight


@loop
def _entry_products(
    by_sums: Array, by_weight: Array, lifted: Array, rows: Array, cols: Array, start: int, stop: int, out: Array
) -> None:
    for e in range(start, stop):
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
        matrices: tuple[MatrixOf, MatrixOf, Tensor],
        twin: Callable[..., Tensor],
    ) -> Tensor:
        matrix, ctx.transpose, weight = matrices
        out, kept = forward(v, k, dims, matrix, weight)
        ctx.dims, ctx.inputs, ctx.twin = dims, 3 if ctx.needs_input_grad[2] else 2, twin
        # Entries are saved so that torch notices if they change before the backward pass.
        entries = [part for part in (values, rows, cols) if not part.is_inference()]
        ctx.save_for_backward(v, k, *entries, weight, *kept)
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, *entries, weight, lifts, sums, stretches = ctx.saved_tensors
        kept = Kept(lifts, sums, stretches)
        by_v, by_k, *by_rows = backward(grad, v, k, ctx.dims, ctx.transpose, weight, kept)
        if not ctx.needs_input_grad[2]:
            return by_v, by_k, *[None] * 6
        values, rows, cols = entries
        lifted, *_ = _lift_all(v, k, ctx.dims, FARTHEST, sums.dtype)
        by_values = torch.empty_like(values)
        by_sums, by_weight, x, i, j, out = map(as_array, (*by_rows, lifted, rows, cols, by_values))
        for_row_blocks(
            len(values), lambda start, stop, _: _entry_products(by_sums, by_weight, x, i, j, start, stop, out)
        )
        return by_v, by_k, by_values, *[None] * 5


def midpoint_rows(
    v: Tensor,
    k: Tensor,
    dims: Sequence[int],
    entries: tuple[Tensor, Tensor, Tensor],
    matrices: tuple[MatrixOf, MatrixOf, Tensor],
    twin: Callable[..., Tensor],
) -> Tensor:
    """Midpoints that are differentiable with respect to V, κ and the entries of A, by compiled loops.

    Args:
        v: V, (N, D).
        k: Curvatures of the factors, (F,).
        dims: Dimensions of the factors.
        entries: Values, rows and columns of A's entries.
        matrices: A and its transpose as CSR tensors in a dtype, and the row sums of A, (M,).
        twin: The same as a function of V, κ and the values in torch, for second derivatives.
    """
    return cast(Tensor, _Midpoints.apply(v, k, *entries, dims, matrices, twin))


def lift_rows(v: Tensor, k: Tensor, dims: Sequence[int] | None = None, limit: float | None = None) -> Tensor:
    """Ambient coordinates of exp_0(v), the columns of one factor after another: (N, D), (F,) → (N, D + F).

    Args:
        v: Tangent vectors at the origin, (N, D).
        k: Curvatures of the factors, (F,), or of a single one, ().
        dims: Dimensions of the factors; None for a single one.
        limit: √−κ·r beyond which rows count as lying there; by default so that squares of lifts fit the dtype.

    >>> lift_rows(torch.tensor([[0.3, 0.0, 1.0]]), torch.zeros(2), [2, 1])
    tensor([[0.6000, 0.0000, 1.0000, 2.0000, 1.0000]])
    """
    k, dims = k.reshape(-1), [v.shape[1]] if dims is None else dims
    limit = ROW_EXPONENT[v.dtype] if limit is None else limit
    if runs_loops(v, k):
        return cast(Tensor, _Lift.apply(v, k, dims, limit))
    return lift_by_torch(v, k, dims, limit)


def within(v: Tensor, k: Tensor, limit: float) -> Tensor:
    """Tangent vectors at the origin whose points for κ < 0 are at most limit/√−κ from it, longer ones cut to that."""
    radius = 2 * positive_root(-k) * norm(v)
    return torch.where((k < 0) & (radius > limit), limit / radius.clamp(min=limit), 1) * v


def lift_by_torch(v: Tensor, k: Tensor, dims: Sequence[int], limit: float) -> Tensor:
    """`lift_rows` in torch."""
    parts = zip(v.double().split(list(dims), -1), k.double().unbind(), strict=True)
    lifts = [join(*lifted(within(part, kappa, limit), kappa)) for part, kappa in parts]
    return torch.cat(lifts, -1).to(v.dtype)


def lower_by_torch(e: Tensor, k: Tensor, weight: Tensor, dims: Sequence[int]) -> Tensor:
    """weight · lower(e), the last step of midpoints, in torch: (M, D + F), (F,), (M,) → (M, D).

    Args:
        e: Sums of lifted rows, in the order of `lift_rows`, (M, D + F).
        k: Curvatures of the factors, (F,).
        weight: Sums of the weights of each row, (M,).
        dims: Dimensions of the factors.

    >>> lower_by_torch(torch.tensor([[0.6, 0.0, 1.0, 4.0, 2.0]]), torch.zeros(2), torch.ones(1), [2, 1])
    tensor([[0.3000, 0.0000, 2.0000]])
    """
    weight, gap = weight.double().unsqueeze(-1), ball_gap(e)
    parts = zip(e.double().split([dim + 1 for dim in dims], -1), k.double().unbind(), strict=True)
    rows = []
    for part, kappa in parts:
        n, h = part.split([part.shape[-1] - 1, 1], -1)
        scale = weight.abs() * lowered(n, torch.where(weight < 0, -h, h), kappa, gap)
        # At κ = 0 the height is the weight, and may be 0.
        rows.append(n * torch.where(kappa == 0, scale + (0.5 - scale).detach(), scale))
    return torch.cat(rows, -1).to(e.dtype)
