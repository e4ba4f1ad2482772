"""Lifts of many rows, and their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_FAR, ROW_SERIES_BELOW, ROW_VALUE_SERIES_BELOW
from kappagcn.kernels.blocks import (
    Array,
    Factors,
    as_array,
    block_sums,
    compiled,
    horner,
    in_blocks,
    slope_terms,
    value_terms,
)
from kappagcn.kernels.dispatch import first_order

__all__ = ["lift", "lift_backward", "lift_rows"]

FAR, SERIES_BELOW = ROW_FAR, ROW_SERIES_BELOW
SINC_FIRST, SINC_SECOND = slope_terms("sinc")
# Where the series of the functions themselves, which are faster than the library's, are exact to rounding.
SINC_BELOW = ROW_VALUE_SERIES_BELOW["sinc"]
SINC, COSC = value_terms("sinc"), value_terms("cosc")


@compiled
def _lift(v: Array, factors: Factors, limit: float, lifted: Array, kept: Array) -> None:
    (rows, dim), ends, kappas = v.shape, factors.ends, factors.kappas
    for i in range(rows):
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            q = 0.0
            for j in range(start, end):
                q += np.float64(v[i, np.uintp(j)]) * np.float64(v[i, np.uintp(j)])
            z = 4 * kappa * q
            s = math.sqrt(abs(z))
            if abs(z) < SINC_BELOW:
                sinc, cosc = horner(SINC, z), horner(COSC, z)
            elif kappa > 0:
                sinc, cosc = math.sin(s) / s, math.cos(s)
            else:
                grown = math.exp(min(s, limit))
                sinc, cosc = (grown - 1 / grown) / (2 * s), (grown + 1 / grown) / 2
            kept[i, f, 0], kept[i, f, 1], kept[i, f, 2] = q, sinc, cosc
            for j in range(start, end):
                lifted[i, np.uintp(j)] = 2 * sinc * v[i, np.uintp(j)]
            if kappa < 0 and cosc > FAR:
                # The height of the point as rounded: far out, lowering needs them to agree.
                p = 0.0
                for j in range(start, end):
                    p += np.float64(lifted[i, np.uintp(j)]) * np.float64(lifted[i, np.uintp(j)])
                cosc = math.sqrt(1 - kappa * p)
            lifted[i, dim + f] = cosc


@compiled
def _lift_backward(v: Array, factors: Factors, kept: Array, grad: Array, by_v: Array, by_kappa: Array) -> None:
    (rows, dim), ends, kappas = v.shape, factors.ends, factors.kappas
    for i in range(rows):
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            q, sinc, cosc = kept[i, f, 0], kept[i, f, 1], kept[i, f, 2]
            z = 4 * kappa * q
            slope = SINC_FIRST + SINC_SECOND * z if abs(z) < SERIES_BELOW else (cosc - sinc) / (2 * z)
            along = 0.0
            for j in range(start, end):
                along += np.float64(grad[i, np.uintp(j)]) * np.float64(v[i, np.uintp(j)])
            t = 2 * slope * along - 0.5 * sinc * grad[i, dim + f]
            by_kappa[f] += 4 * t * q
            for j in range(start, end):
                by_v[i, np.uintp(j)] = 2 * sinc * grad[i, np.uintp(j)] + 8 * kappa * t * v[i, np.uintp(j)]


def lift(v: Tensor, factors: Factors, dtype: torch.dtype, limit: float) -> tuple[Tensor, Tensor]:
    """Lifted rows in `dtype`, (N, D) → (N, D+F), and what the backward needs, (N, F, 3).

    Args:
        v: Tangent vectors at the origin.
        factors: Dimensions and curvatures of the factors.
        dtype: Of the lifted rows.
        limit: √−κ·r beyond which a row counts as lying there.
    """
    (n, dim), count = v.shape, len(factors.kappas)
    lifted, kept = v.new_empty(n, dim + count, dtype=dtype), v.new_empty(n, count, 3, dtype=torch.float64)
    x, out, own = as_array(v), lifted.numpy(), kept.numpy()
    in_blocks(n, lambda b, _: _lift(x[b], factors, limit, out[b], own[b]))
    return lifted, kept


def lift_backward(v: Tensor, factors: Factors, kept: Tensor, grad: Tensor) -> tuple[Tensor, Array]:
    """Gradients by v, (N, D), and by the curvatures, (F,)."""
    by_v = torch.empty_like(v, memory_format=torch.contiguous_format)
    x, own, g, out = as_array(v), kept.numpy(), as_array(grad), by_v.numpy()
    by_k = block_sums(len(v), len(factors.kappas))
    in_blocks(len(x), lambda b, n: _lift_backward(x[b], factors, own[b], g[b], out[b], by_k[n]))
    return by_v, by_k.sum(0)


class _Lift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor, limit: float) -> Tensor:
        ctx.factors = Factors.of([v.shape[1]], k.reshape(1))
        lifted, kept = lift(v, ctx.factors, v.dtype, limit)
        ctx.save_for_backward(v, k, kept)
        return lifted

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        v, k, kept = ctx.saved_tensors
        by_v, by_k = lift_backward(v, ctx.factors, kept, grad)
        return by_v, k.new_tensor(by_k[0]), None


def lift_rows(v: Tensor, k: Tensor, limit: float) -> Tensor:
    """Lifted rows under one κ, (N, D) → (N, D+1), those beyond √−κ·r = limit as lying there."""
    lifted: Tensor = _Lift.apply(v, k, limit)
    return lifted
