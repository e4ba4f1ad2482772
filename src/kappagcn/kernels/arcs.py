"""arsin_κ of many numbers, and its derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import ROW_LEAST_COSINE, ROW_SERIES_BELOW, ROW_VALUE_SERIES_BELOW
from kappagcn.kernels.blocks import Array, as_array, block_sums, compiled, horner, in_blocks, slope_terms, value_terms
from kappagcn.kernels.dispatch import first_order

LEAST_COSINE, SERIES_BELOW = ROW_LEAST_COSINE, ROW_SERIES_BELOW
ARSINC, ARSINC_BELOW = value_terms("arsinc"), ROW_VALUE_SERIES_BELOW["arsinc"]
ARSINC_FIRST, ARSINC_SECOND = slope_terms("arsinc")


@compiled
def _arsin(sines: Array, kappa: float, arcs: Array) -> None:
    root = math.sqrt(abs(kappa))
    for i in range(sines.shape[0]):
        for c in range(sines.shape[1]):
            s = np.float64(sines[i, c])
            z, t = kappa * s * s, root * abs(s)
            if abs(z) < ARSINC_BELOW:
                arcs[i, c] = s * horner(ARSINC, z)
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
                by_kappa[0] += g * s * s * s * (ARSINC_FIRST + ARSINC_SECOND * z)
            else:
                by_kappa[0] += g * (s * slope - arcs[i, c]) / (2 * kappa)


class _Arsin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sines: Tensor, k: Tensor) -> Tensor:
        arcs = torch.empty(sines.shape, dtype=torch.float64)
        x, out, kappa = as_array(sines), arcs.numpy(), float(k)
        in_blocks(len(x), lambda b, _: _arsin(x[b], kappa, out[b]))
        ctx.save_for_backward(sines, k, arcs)
        return arcs.to(sines.dtype)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        sines, k, arcs = ctx.saved_tensors
        by_sine, by_k = torch.empty_like(sines, memory_format=torch.contiguous_format), block_sums(len(sines), 1)
        x, own, g, out, kappa = as_array(sines), arcs.numpy(), as_array(grad), by_sine.numpy(), float(k)
        in_blocks(len(x), lambda b, n: _arsin_backward(x[b], kappa, own[b], g[b], out[b], by_k[n]))
        return by_sine, k.new_tensor(by_k.sum())


def arsin_rows(sines: Tensor, k: Tensor) -> Tensor:
    """arsin_κ of signed sines, (N, C) → (N, C); for κ > 0 a sine beyond ±1/√κ counts as that."""
    arcs: Tensor = _Arsin.apply(sines, k)
    return arcs
