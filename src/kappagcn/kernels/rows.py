r"""Lift, lower and arsin of many rows under one κ: one pass over the rows each way, numbers per row in float64.

With q = |v|², z = 4κq,

    lift(v) = (2 sinc(z) v, cosc(z)),    lower(n, h) = ½u n,    u = ρ/|n|,    tan_κ(ρ) = |n|/h,

and with Q = h² + κ|n|² and G = (h/Q − u)/(2κ|n|²), a power series where κ|n|²/h² is small,

    ∂u = 2κG n·∂n − ∂h/Q + |n|²G ∂κ.

For κ < 0 a row that does not point into the space, √−κ|n| ≥ h up to rounding, counts as the farthest point in the
direction of n that float64 resolves, at distance artanh(1 − 4ε)/√−κ, and has that point's derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import (
    ROUNDING,
    ROW_FAR,
    ROW_LEAST,
    ROW_LEAST_COSINE,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    ROW_VALUE_TERMS,
    SERIES,
    derivative_series,
)
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, in_blocks
from kappagcn.kernels.dispatch import second_order

# Globals of a module are constants of its compiled functions.
FAR, LEAST, LEAST_COSINE, SERIES_BELOW = ROW_FAR, ROW_LEAST, ROW_LEAST_COSINE, ROW_SERIES_BELOW
EDGE = 1 - ROUNDING * float(np.finfo(np.float64).eps)  # tanh of the farthest radius that float64 resolves
# Series of the functions, highest power first: faster than the library's, and exact to rounding below these |z|.
SINC, COSC, ARTANC, ARSINC = (
    np.array(SERIES[name][: ROW_VALUE_TERMS[name]][::-1]) for name in ("sinc", "cosc", "artanc", "arsinc")
)
SINC_BELOW, ARTANC_BELOW, ARSINC_BELOW = (ROW_VALUE_SERIES_BELOW[name] for name in ("sinc", "artanc", "arsinc"))
SINC_SLOPE, ARTANC_SLOPE, ARSINC_SLOPE = (tuple(derivative_series(name)[:2]) for name in ("sinc", "artanc", "arsinc"))


@compiled
def _horner(terms: Array, z: float) -> float:
    total = 0.0
    for n in range(terms.shape[0]):
        total = total * z + terms[n]
    return total


@compiled
def lift_factors(z: float, kappa: float, limit: float) -> tuple[float, float]:
    """sinc(z) and cosc(z) of z = 4κ|v|²; rows beyond √−κ·r = limit count as lying there."""
    s = math.sqrt(abs(z))
    if abs(z) < SINC_BELOW:
        return _horner(SINC, z), _horner(COSC, z)
    if kappa > 0:
        return math.sin(s) / s, math.cos(s)
    grown = math.exp(min(s, limit))
    return (grown - 1 / grown) / (2 * s), (grown + 1 / grown) / 2


@compiled
def lift_slope(z: float, sinc: float, cosc: float) -> float:
    """sinc′(z)."""
    return SINC_SLOPE[0] + SINC_SLOPE[1] * z if abs(z) < SERIES_BELOW else (cosc - sinc) / (2 * z)


@compiled
def _lift(v: Array, kappa: float, limit: float, lifted: Array, kept: Array) -> None:
    rows, dim = v.shape
    for i in range(rows):
        q = 0.0
        for j in range(dim):
            q += np.float64(v[i, j]) * np.float64(v[i, j])
        sinc, cosc = lift_factors(4 * kappa * q, kappa, limit)
        kept[i, 0], kept[i, 1], kept[i, 2] = q, sinc, cosc
        for j in range(dim):
            lifted[i, j] = 2 * sinc * v[i, j]
        if kappa < 0 and cosc > FAR:
            # The height of the point as rounded: far out, lowering needs them to agree.
            p = 0.0
            for j in range(dim):
                p += np.float64(lifted[i, j]) * np.float64(lifted[i, j])
            cosc = math.sqrt(1 - kappa * p)
        lifted[i, dim] = cosc


@compiled
def _lift_backward(v: Array, kappa: float, kept: Array, grad: Array, by_v: Array, by_kappa: Array) -> None:
    rows, dim = v.shape
    for i in range(rows):
        q, sinc, cosc = kept[i, 0], kept[i, 1], kept[i, 2]
        slope = lift_slope(4 * kappa * q, sinc, cosc)
        along = 0.0
        for j in range(dim):
            along += np.float64(grad[i, j]) * np.float64(v[i, j])
        t = 2 * slope * along - 0.5 * sinc * grad[i, dim]
        by_kappa[0] += 4 * t * q
        for j in range(dim):
            by_v[i, j] = 2 * sinc * grad[i, j] + 8 * kappa * t * v[i, j]


@compiled
def stretch(kappa: float, p: float, h: float) -> float:
    """u from |n|² = p and h; a row that points out of the space (κ < 0) is at its edge."""
    size, z = math.sqrt(abs(kappa * p)), kappa * p / max(h, LEAST) ** 2
    if kappa == 0:
        return 1 / h if h != 0 else 0.0
    if abs(z) < ARTANC_BELOW and h > 0:
        return _horner(ARTANC, z) / h
    if size == 0:
        return 0.0  # no weight at all, or the origin's antipode: no direction
    if kappa > 0:
        return math.atan2(size, h) / size
    t = EDGE if size >= EDGE * h else size / h
    return math.log((1 + t) / (1 - t)) / (2 * size)


@compiled
def lower_slopes(kappa: float, p: float, h: float, u: float, pull: float) -> tuple[float, float, float]:
    """Pull times 1/Q, 2κG and |n|²G."""
    bent, ahead = kappa * p, max(h, LEAST)
    capped = bent <= 0 and (h <= 0 or -bent >= EDGE * EDGE * h * h)
    inverse = 0.0 if capped else 1 / max(h * h + bent, LEAST)
    z = bent / (ahead * ahead)
    if abs(z) < SERIES_BELOW and not capped:
        bend = pull * (ARTANC_SLOPE[0] + ARTANC_SLOPE[1] * z) / (ahead * ahead * ahead)
        return pull * inverse, 2 * kappa * bend, p * bend
    if bent == 0:
        return pull * inverse, 0.0, 0.0
    change = h * inverse - u
    return pull * inverse, change * (pull / p), change * (pull / (2 * kappa))


@compiled
def _lower(e: Array, kappa: float, weight: Array, out: Array, kept: Array) -> None:
    rows, dim = out.shape
    for i in range(rows):
        # A row of negative weight is that of the opposite weights, turned back by the weight itself.
        p, h = 0.0, e[i, dim] if weight[i] >= 0 else -e[i, dim]
        for j in range(dim):
            p += np.float64(e[i, j]) * np.float64(e[i, j])
        u = stretch(kappa, p, h)
        kept[i, 0], kept[i, 1], kept[i, 2] = p, u, h
        # At κ = 0 the weight is the height, and may be 0.
        scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
        for j in range(dim):
            out[i, j] = scale * e[i, j]


@compiled
def _lower_backward(
    e: Array, kappa: float, weight: Array, kept: Array, grad: Array, by_e: Array, by_kappa: Array
) -> None:
    rows, dim = grad.shape
    for i in range(rows):
        p, u, h = kept[i, 0], kept[i, 1], kept[i, 2]
        along = 0.0
        for j in range(dim):
            along += np.float64(grad[i, j]) * np.float64(e[i, j])
        rise, turn, bend = lower_slopes(kappa, p, h, u, 0.5 * abs(weight[i]) * along)
        by_kappa[0] += bend
        scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
        for j in range(dim):
            by_e[i, j] = scale * grad[i, j] + turn * e[i, j]
        by_e[i, dim] = -rise if weight[i] >= 0 else rise


@compiled
def _arsin(sines: Array, kappa: float, arcs: Array) -> None:
    root = math.sqrt(abs(kappa))
    for i in range(sines.shape[0]):
        for c in range(sines.shape[1]):
            s = np.float64(sines[i, c])
            z, t = kappa * s * s, root * abs(s)
            if abs(z) < ARSINC_BELOW:
                arcs[i, c] = s * _horner(ARSINC, z)
            elif kappa > 0:
                arcs[i, c] = math.copysign(math.asin(min(t, 1.0)) / root, s)
            else:
                arcs[i, c] = math.copysign(math.log(t + math.sqrt(t * t + 1)) / root, s)


@compiled
def _arsin_backward(sines: Array, kappa: float, arcs: Array, grad: Array, by_sine: Array, by_kappa: Array) -> None:
    for i in range(sines.shape[0]):
        for c in range(sines.shape[1]):
            s, g = np.float64(sines[i, c]), np.float64(grad[i, c])
            z = kappa * s * s
            slope = 1 / math.sqrt(max(1 - z, LEAST_COSINE * LEAST_COSINE))
            by_sine[i, c] = g * slope
            if abs(z) < SERIES_BELOW:
                by_kappa[0] += g * s * s * s * (ARSINC_SLOPE[0] + ARSINC_SLOPE[1] * z)
            else:
                by_kappa[0] += g * (s * slope - arcs[i, c]) / (2 * kappa)


Twin = Callable[..., Tensor]  # the same function in torch, for second derivatives


class _Lift(torch.autograd.Function):
    """Lifted rows, (N, D) → (N, D+1), those beyond √−κ·r = limit as lying there."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, limit: float, twin: Twin) -> Tensor:
        lifted, kept = v.new_empty(len(v), v.shape[1] + 1), v.new_empty(len(v), 3, dtype=torch.float64)
        x, out, own, kappa = as_array(v), lifted.numpy(), kept.numpy(), float(k)
        in_blocks(len(x), lambda b, _: _lift(x[b], kappa, limit, out[b], own[b]))
        ctx.save_for_backward(v, k, kept)
        ctx.inputs, ctx.twin = 2, twin
        return lifted

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        v, k, kept = ctx.saved_tensors
        by_v, by_k = torch.empty_like(v, memory_format=torch.contiguous_format), block_sums(len(v))
        x, own, g, out, kappa = as_array(v), kept.numpy(), as_array(grad), by_v.numpy(), float(k)
        in_blocks(len(x), lambda b, n: _lift_backward(x[b], kappa, own[b], g[b], out[b], by_k[n]))
        return by_v, k.new_tensor(by_k.sum()), None, None


class _Lower(torch.autograd.Function):
    """weight · lower(e), (N, D+1), (N,) → (N, D); not differentiable by the weight."""

    @staticmethod
    def forward(ctx: Any, e: Tensor, k: Tensor, weight: Tensor, twin: Twin) -> Tensor:
        lowered, kept = e.new_empty(len(e), e.shape[1] - 1), e.new_empty(len(e), 3, dtype=torch.float64)
        x, w, out, own, kappa = as_array(e), as_array(weight), lowered.numpy(), kept.numpy(), float(k)
        in_blocks(len(x), lambda b, _: _lower(x[b], kappa, w[b], out[b], own[b]))
        ctx.save_for_backward(e, k, weight, kept)
        ctx.inputs, ctx.twin = 3, twin
        return lowered

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        e, k, weight, kept = ctx.saved_tensors
        by_e, by_k, kappa = torch.empty_like(e, memory_format=torch.contiguous_format), block_sums(len(e)), float(k)
        x, w, own, g, out = as_array(e), as_array(weight), kept.numpy(), as_array(grad), by_e.numpy()
        in_blocks(len(x), lambda b, n: _lower_backward(x[b], kappa, w[b], own[b], g[b], out[b], by_k[n]))
        return by_e, k.new_tensor(by_k.sum()), None, None


class _Arsin(torch.autograd.Function):
    """arsin_κ of signed sines, (N, C) → (N, C); for κ > 0 a sine beyond ±1/√κ counts as that."""

    @staticmethod
    def forward(ctx: Any, sines: Tensor, k: Tensor, twin: Twin) -> Tensor:
        arcs = torch.empty(sines.shape, dtype=torch.float64)
        x, out, kappa = as_array(sines), arcs.numpy(), float(k)
        in_blocks(len(x), lambda b, _: _arsin(x[b], kappa, out[b]))
        ctx.save_for_backward(sines, k, arcs)
        ctx.inputs, ctx.twin = 2, twin
        return arcs.to(sines.dtype)

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        sines, k, arcs = ctx.saved_tensors
        by_sine, by_k = torch.empty_like(sines, memory_format=torch.contiguous_format), block_sums(len(sines))
        x, own, g, out, kappa = as_array(sines), arcs.numpy(), as_array(grad), by_sine.numpy(), float(k)
        in_blocks(len(x), lambda b, n: _arsin_backward(x[b], kappa, own[b], g[b], out[b], by_k[n]))
        return by_sine, k.new_tensor(by_k.sum()), None


lift_rows, lower_rows, arsin_rows = _Lift.apply, _Lower.apply, _Arsin.apply
