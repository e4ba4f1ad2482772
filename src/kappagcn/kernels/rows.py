r"""Ambient rows: tangent vectors at the origin are lifted, and sums of lifted rows lowered, with derivatives.

With q = |v|² and z = 4κq, for each factor of a product of spaces (geometry.md, Ambient coordinates),

    lift(v) = (n, h) = (2 sinc(z) v, cosc(z)),    lower(n, h) = ½u n,    u = ρ/|n|,    tan_κ(ρ) = |n|/h.

With p = |n|² and Q = h² + κp the derivatives are

    ∂n = 2 sinc ∂v + 2v ∂sinc,     ∂h = −½ sinc ∂z,     ∂sinc = (cosc − sinc)/2z ∂z,     ∂z = 8κ⟨v, ∂v⟩ + 4q ∂κ,
    ∂u = 2κG ⟨n, ∂n⟩ − ∂h/Q + pG ∂κ,    G = (h/Q − u)/(2κp),

with two terms of a power series where z, or κp/h², is small. For κ < 0 a row that does not point into the space,
√−κ|n| ≥ h up to rounding, counts as the farthest point in the direction of n that its dtype resolves, at distance
artanh(1 − 4ε)/√−κ, and has that point's derivatives; so no row is infinite or NaN.

Loops are compiled by numba and run in one thread: they read rows in order, in less time than it takes to wake a second
thread that other work keeps busy. Functions of a block of rows are computed together, in vector registers: a tenth of
the time of one by one. Twins in torch, `lift_by_torch` and `lower_by_torch`, serve other devices, transforms of
``torch.func`` and second derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
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
from kappagcn.kernels.blocks import Array, as_array, loop
from kappagcn.kernels.dispatch import runs_loops, second_order
from kappagcn.kernels.vector_math import LARGEST_TURN, exponential, inlined, logarithm, polar_angle, sine_and_cosine

__all__ = [
    "Factors",
    "lift_all",
    "lift_backward",
    "lift_by_torch",
    "lift_rows",
    "lower",
    "lower_backward",
    "lower_by_torch",
    "within",
]

# Globals of a module are constants of its compiled functions.
BLOCK = 256  # rows whose functions are computed together, in vector registers
FAR_TANGENT, FAR_HEIGHT = ROW_FAR_TANGENT, (1 - ROW_FAR_TANGENT) ** -0.5  # tanh² of a radius, and its cosh
LEAST, SERIES_BELOW = ROW_LEAST, ROW_SERIES_BELOW
EDGE = 1 - ROUNDING * float(np.finfo(np.float64).eps)  # tanh of the farthest radius that float64 resolves
SINC, ARTANC = (tuple(SERIES[name][: ROW_VALUE_TERMS[name]][::-1]) for name in ("sinc", "artanc"))
SINC_BELOW, ARTANC_BELOW = ROW_VALUE_SERIES_BELOW["sinc"], ROW_VALUE_SERIES_BELOW["artanc"]


@inlined
def _polynomial(terms: tuple[float, ...], z: float) -> float:
    """A power series, highest power first."""
    total = 0.0
    for term in terms:
        total = total * z + term
    return total


@inlined
def dot(x: Array, i: int, first: int, y: Array, j: int, start: int, dim: int) -> float:
    """⟨x_i, y_j⟩ of dim columns from `first` and from `start` on, in float64."""
    total = 0.0
    for c in range(dim):
        total += np.float64(x[i, first + c]) * np.float64(y[j, start + c])
    return total


@inlined
def _sinc_and_cosc(z: Array, count: int, limit: float, sinc: Array, cosc: Array) -> None:
    """sinc and cosc of numbers of one sign; √−z beyond the limit counts as the limit."""
    largest = 0.0
    for i in range(count):
        largest = max(largest, z[i])
    if largest > LARGEST_TURN**2:
        for i in range(count):
            s = math.sqrt(z[i])
            sinc[i], cosc[i] = (1.0 if s == 0 else math.sin(s) / s), math.cos(s)
    elif largest > 0:
        for i in range(count):
            s = math.sqrt(z[i])
            sine, cosc[i] = sine_and_cosine(s)
            sinc[i] = _polynomial(SINC, z[i]) if z[i] < SINC_BELOW else sine / s
    else:
        for i in range(count):
            s = math.sqrt(-z[i])
            grown = exponential(limit if s > limit else s)
            sinc[i] = _polynomial(SINC, z[i]) if -z[i] < SINC_BELOW else 0.5 * (grown - 1 / grown) / s
            cosc[i] = grown - s * sinc[i]  # not a number where s is not one


@loop
def _lift(v: Array, kappas: Array, ends: Array, limit: float, out: Array, lifts: Array) -> bool:
    """Lifted rows; sinc and cosc of each factor go to `lifts`, (F, 2, N). Returns whether some row is far."""
    z, far = np.empty(BLOCK), False
    for f in range(kappas.shape[0]):
        first, dim = ends[f], ends[f + 1] - ends[f]
        top = first + np.uint64(f)
        for start in range(0, v.shape[0], BLOCK):
            count = min(BLOCK, v.shape[0] - start)
            sinc, cosc = lifts[f, 0, start:], lifts[f, 1, start:]
            for i in range(count):
                z[i] = 4 * kappas[f] * dot(v, start + i, first, v, start + i, first, dim)
            _sinc_and_cosc(z, count, limit, sinc, cosc)
            for i in range(count):
                far |= kappas[f] < 0 and not cosc[i] < FAR_HEIGHT
                for c in range(dim):
                    out[start + i, top + c] = 2 * sinc[i] * v[start + i, first + c]
                out[start + i, top + dim] = cosc[i]
    return far


@inlined
def slope_by_z(q: float, kappa: float, sinc: float, cosc: float, along: float, by_h: float) -> float:
    """The derivative by z of a lifted row, from ⟨v, ∂n⟩ and ∂h."""
    z = 4 * kappa * q
    slope = -1 / 6 + z / 60 if abs(z) < SERIES_BELOW else (cosc - sinc) / (2 * z)
    return 2 * slope * along - 0.5 * sinc * by_h


@loop
def lift_backward(
    v: Array, kappas: Array, ends: Array, lifts: Array, grad: Array, by_v: Array, by_kappa: Array
) -> None:
    """Gradients with respect to the rows from those with respect to lifted ones; that with respect to κ is added."""
    for f in range(kappas.shape[0]):
        first, dim, kappa, total = ends[f], ends[f + 1] - ends[f], kappas[f], 0.0
        top = first + np.uint64(f)
        for i in range(v.shape[0]):
            q, sinc = dot(v, i, first, v, i, first, dim), lifts[f, 0, i]
            along, by_h = dot(v, i, first, grad, i, top, dim), grad[i, top + dim]
            by_z = slope_by_z(q, kappa, sinc, lifts[f, 1, i], along, by_h)
            total += 4 * q * by_z
            for c in range(dim):
                by_v[i, first + c] = 2 * sinc * grad[i, top + c] + 8 * kappa * by_z * v[i, first + c]
        by_kappa[f] += total


@inlined
def _stretch(p: Array, h: Array, count: int, kappa: float, edge: float, u: Array) -> None:
    """u of heights h and p = |n|²; a row without a direction, of weight 0 or at the origin's antipode, has 0."""
    for i in range(count):
        size = math.sqrt(abs(kappa) * p[i])
        if kappa > 0:
            curved = polar_angle(size, h[i]) / size
        else:
            t = edge if size >= edge * h[i] else size / h[i]
            curved = 0.5 * logarithm((1 + t) / (1 - t)) / size
        z = kappa * p[i] / (h[i] * h[i])
        near = h[i] > 0 and abs(z) < ARTANC_BELOW
        u[i] = _polynomial(ARTANC, z) / h[i] if near else (0.0 if size == 0 else curved)


@inlined
def _height(e: Array, i: int, column: int, weight: float) -> float:
    """h of a row; a row of negative weight is that of the opposite weights, with the sign of the weight."""
    return np.float64(e[i, column]) if weight >= 0 else -np.float64(e[i, column])


@loop
def lower(
    e: Array, kappas: Array, ends: Array, weight: Array, edge: float, out: Array, stretches: Array, far: Array
) -> None:
    """Lowered rows, times their weights; u of each factor goes to `stretches`, (F, M), and what is far is marked."""
    p, h = np.empty(BLOCK), np.empty(BLOCK)
    for f in range(kappas.shape[0]):
        first, dim, kappa = ends[f], ends[f + 1] - ends[f], kappas[f]
        top = first + np.uint64(f)
        for start in range(0, e.shape[0], BLOCK):
            count = min(BLOCK, e.shape[0] - start)
            u, w = stretches[f, start:], weight[start:]
            for i in range(count):
                p[i] = dot(e, start + i, top, e, start + i, top, dim)
                h[i] = _height(e, start + i, top + dim, w[i])
                if kappa < 0:
                    far[start + i] |= not (p[i] == 0 or (h[i] > 0 and -kappa * p[i] < FAR_TANGENT * h[i] * h[i]))
            _stretch(p, h, count, kappa, edge, u)
            for i in range(count):
                # At κ = 0 the weight is the height, and may be 0.
                scale = 0.5 if kappa == 0 else 0.5 * abs(w[i]) * u[i]
                for c in range(dim):
                    out[start + i, first + c] = scale * e[start + i, top + c]


@loop
def lower_backward(
    e: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    edge: float,
    stretches: Array,
    grad: Array,
    by_e: Array,
    by_weight: Array,
    by_kappa: Array,
) -> None:
    """Gradients with respect to the rows; those with respect to their weights, and to κ, are added."""
    for f in range(kappas.shape[0]):
        first, dim, kappa, total = ends[f], ends[f + 1] - ends[f], kappas[f], 0.0
        top = first + np.uint64(f)
        for i in range(e.shape[0]):
            sign = 1.0 if weight[i] >= 0 else -1.0
            h, u, p = _height(e, i, top + dim, weight[i]), stretches[f, i], dot(e, i, top, e, i, top, dim)
            along = 0.5 * dot(e, i, top, grad, i, first, dim)
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


class Factors(NamedTuple):
    """Factors of a product of spaces.

    Attributes:
        kappas: Their curvatures, (F,); a copy: torch cannot free a parameter's memory (FSDP) that NumPy has seen.
        ends: Bounds of their columns, (F + 1,); unsigned, so that numba checks no index for being negative.
    """

    kappas: Array
    ends: Array

    @classmethod
    def of(cls, k: Tensor, dims: Sequence[int]) -> Factors:
        """Those of these curvatures, (F,), and dimensions."""
        return cls(np.array(k.tolist(), np.float64), np.array(list(accumulate(dims, initial=0)), np.uint64))


def lift_all(v: Tensor, factors: Factors, limit: float) -> tuple[Tensor, Tensor, bool]:
    """Lifted rows, (N, D + F), their sinc and cosc, (F, 2, N), and whether some row is far."""
    (kappas, ends), n, count = factors, len(v), len(factors.kappas)
    out, lifts = v.new_empty(n, v.shape[1] + count), v.new_empty(count, 2, n, dtype=torch.float64)
    return out, lifts, _lift(as_array(v), kappas, ends, limit, out.numpy(), lifts.numpy())


class _Lift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, dims: Sequence[int], limit: float) -> Tensor:
        factors = Factors.of(k, dims)
        out, lifts, _ = lift_all(v, factors, limit)
        ctx.save_for_backward(v, k, lifts)
        ctx.factors, ctx.inputs, ctx.twin = factors, 2, partial(lift_by_torch, dims=dims, limit=limit)
        return out

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        v, k, lifts = ctx.saved_tensors
        by_v, by_k = v.new_empty(v.shape), np.zeros(len(k))
        lift_backward(as_array(v), *ctx.factors, lifts.numpy(), as_array(grad), by_v.numpy(), by_k)
        return by_v, k.new_tensor(by_k), None, None


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
