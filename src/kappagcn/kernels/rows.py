"""Lift, lower and arsin of many rows under one κ: one pass over the rows each way, numbers per row in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import (
    ROW_LEAST_COSINE,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    ROW_VALUE_TERMS,
    SERIES,
    derivative_series,
)
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, in_blocks
from kappagcn.kernels.dispatch import second_order
from kappagcn.kernels.lifts import lift, lift_backward, lift_numbers, lower, lower_backward

# Globals of a module are constants of its compiled functions.
LEAST_COSINE, SERIES_BELOW, ARSINC_BELOW = ROW_LEAST_COSINE, ROW_SERIES_BELOW, ROW_VALUE_SERIES_BELOW["arsinc"]
# The series of arsinc, highest power first: faster than the library's, and exact to rounding below this |z|.
ARSINC = np.array(SERIES["arsinc"][: ROW_VALUE_TERMS["arsinc"]][::-1])
ARSINC_SLOPE = tuple(derivative_series("arsinc")[:2])


@compiled
def _horner(terms: Array, z: float) -> float:
    total = 0.0
    for n in range(terms.shape[0]):
        total = total * z + terms[n]
    return total


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
        lifted, factors = v.new_empty(len(v), v.shape[1] + 1), v.new_empty(1, 3, len(v), dtype=torch.float64)
        x, out, own = as_array(v), lifted.numpy(), factors.numpy()
        kappas, ends = _one_factor(k, v.shape[1])

        def lift_block(b: slice, _: int) -> None:
            lift_numbers(x, kappas, ends, limit, b.start, b.stop, own)
            lift(x, kappas, ends, own, b.start, b.stop, out)

        in_blocks(len(x), lift_block)
        ctx.save_for_backward(v, k, factors)
        ctx.inputs, ctx.twin = 2, twin
        return lifted

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        v, k, factors = ctx.saved_tensors
        by_v, by_k = torch.empty_like(v, memory_format=torch.contiguous_format), block_sums(len(v))
        x, own, g, out = as_array(v), factors.numpy(), as_array(grad), by_v.numpy()
        kappas, ends = _one_factor(k, v.shape[1])
        in_blocks(len(x), lambda b, n: lift_backward(x, kappas, ends, own, g, 0, b.start, b.stop, out, by_k[n]))
        return by_v, k.new_tensor(by_k.sum()), None, None


class _Lower(torch.autograd.Function):
    """weight · lower(e), (N, D+1), (N,) → (N, D); not differentiable by the weight."""

    @staticmethod
    def forward(ctx: Any, e: Tensor, k: Tensor, weight: Tensor, twin: Twin) -> Tensor:
        lowered, kept = e.new_empty(len(e), e.shape[1] - 1), e.new_empty(1, 3, len(e), dtype=torch.float64)
        x, w, out, own = as_array(e), as_array(weight), lowered.numpy(), kept.numpy()
        kappas, ends = _one_factor(k, e.shape[1] - 1)
        bias = np.zeros(e.shape[1] - 1)
        in_blocks(len(x), lambda b, _: lower(x, kappas, ends, w, bias, b.start, b.stop, out, own))
        ctx.save_for_backward(e, k, weight, kept)
        ctx.inputs, ctx.twin = 3, twin
        return lowered

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        e, k, weight, kept = ctx.saved_tensors
        by_e, by_k = torch.empty_like(e, memory_format=torch.contiguous_format), block_sums(len(e))
        x, w, own, g, out = as_array(e), as_array(weight), kept.numpy(), as_array(grad), by_e.numpy()
        kappas, ends = _one_factor(k, e.shape[1] - 1)
        in_blocks(
            len(x),
            lambda b, n: lower_backward((x, w, own), kappas, ends, g, b.start, b.stop, out, by_k[n]),
        )
        return by_e, k.new_tensor(by_k.sum()), None, None


def _one_factor(k: Tensor, dim: int) -> tuple[Array, Array]:
    """Curvatures and bounds of the columns of one factor."""
    return np.array([float(k)]), np.array([0, dim])


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
