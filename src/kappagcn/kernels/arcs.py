"""arsin_κ of many numbers under one κ, the distances to hyperplanes of a layer of logits."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import (
    ROW_LEAST_COSINE,
    ROW_SERIES_BELOW,
    arsin_k,
    derivative_series,
)
from kappagcn.kernels.blocks import Array, as_array, for_row_blocks, loop
from kappagcn.kernels.dispatch import runs_loops, second_order

__all__ = ["arsin_by_torch", "arsin_rows"]

LEAST_COSINE, SERIES_BELOW = ROW_LEAST_COSINE, ROW_SERIES_BELOW
SLOPE = tuple(derivative_series("arsinc")[:2])


@loop
def _arsin(sines: Array, kappa: float, start: int, stop: int, arcs: Array) -> None:
    root = math.sqrt(abs(kappa))
    for i in range(start, stop):
        for c in range(sines.shape[1]):
            s = np.float64(sines[i, c])
            if kappa == 0:
                arcs[i, c] = s
            elif kappa > 0:
                arcs[i, c] = math.asin(max(-1.0, min(root * s, 1.0))) / root
            else:
                arcs[i, c] = math.asinh(root * s) / root


@loop
def _arsin_backward(
    sines: Array, kappa: float, arcs: Array, grad: Array, start: int, stop: int, by_sine: Array, by_kappa: Array
) -> None:
    """∂arsin = (1 − z)^(−1/2) ∂s + s³ arsinc'(z) ∂κ with z = κs²."""
    total = 0.0
    for i in range(start, stop):
        for c in range(sines.shape[1]):
            s, g = np.float64(sines[i, c]), np.float64(grad[i, c])
            z = kappa * s * s
            slope = 1 / math.sqrt(max(1 - z, LEAST_COSINE * LEAST_COSINE))
            by_sine[i, c] = g * slope
            if abs(z) < SERIES_BELOW:
                total += g * s * s * s * (SLOPE[0] + SLOPE[1] * z)
            else:
                total += g * (s * slope - arcs[i, c]) / (2 * kappa)
    by_kappa[0] += total


class _Arsin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sines: Tensor, k: Tensor) -> Tensor:
        arcs, kappa = torch.empty(sines.shape, dtype=torch.float64), float(k)
        x, out = as_array(sines), arcs.numpy()
        for_row_blocks(len(x), lambda start, stop, _: _arsin(x, kappa, start, stop, out))
        ctx.save_for_backward(sines, k, arcs)
        ctx.inputs, ctx.twin = 2, arsin_by_torch
        return arcs.to(sines.dtype, copy=True)

    @staticmethod
    @second_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        sines, k, arcs = ctx.saved_tensors
        by_sine, kappa = sines.new_empty(sines.shape), float(k)
        x, y, g, out = map(as_array, (sines, arcs, grad, by_sine))
        by_k = for_row_blocks(
            len(x), lambda start, stop, sums: _arsin_backward(x, kappa, y, g, start, stop, out, sums), sums=1
        )
        return by_sine, k.new_tensor(by_k[0])


def arsin_rows(sines: Tensor, k: Tensor) -> Tensor:
    """arsin_κ of signed sines for one κ, (N, C) → (N, C); for κ > 0 a sine beyond ±1/√κ counts as that.

    >>> arsin_rows(torch.tensor([[0.5, -2.0]]), torch.tensor(1.0))
    tensor([[ 0.5236, -1.5708]])
    """
    if runs_loops(sines, k):
        return cast(Tensor, _Arsin.apply(sines, k))
    return arsin_by_torch(sines, k)


def arsin_by_torch(sines: Tensor, k: Tensor) -> Tensor:
    """`arsin_rows` in torch."""
    return arsin_k(sines.double(), k=k.double()).to(sines.dtype)
