"""Distances of many rows to hyperplanes compiled by numba, where it is installed, with their derivatives."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from kappagcn.geometry.numerics import (
    ROW_LEAST_COSINE,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    row_series_terms,
)
from kappagcn.kernels.blocks import BLOCK, Array, as_array, coefficients, compiled, horner, in_blocks

__all__ = ["distances", "distances_backward"]

LEAST_COSINE, SERIES_BELOW = ROW_LEAST_COSINE, ROW_SERIES_BELOW
ARSINC, ARSINC_BELOW = coefficients("arsinc"), ROW_VALUE_SERIES_BELOW["arsinc"]
ARSINC_FIRST, ARSINC_SECOND = row_series_terms("arsinc")


@compiled
def _distances(products: Array, lengths: Array, weights: Array, kappa: float, arcs: Array, scores: Array) -> None:
    root = math.sqrt(abs(kappa))
    for i in range(products.shape[0]):
        for c in range(products.shape[1]):
            s = np.float64(products[i, c]) / lengths[c]
            z, t = kappa * s * s, root * abs(s)
            if abs(z) < ARSINC_BELOW:
                arc = s * horner(ARSINC, z)
            elif kappa > 0:
                arc = math.copysign(math.asin(min(t, 1.0)) / root, s)
            else:
                arc = math.copysign(math.log(t + math.sqrt(t * t + 1)) / root, s)
            arcs[i, c] = arc
            scores[i, c] += weights[c] * arc


@compiled
def _distances_backward(
    products: Array,
    lengths: Array,
    weights: Array,
    kappa: float,
    arcs: Array,
    grad: Array,
    by_product: Array,
    sums: Array,
) -> None:
    for i in range(products.shape[0]):
        for c in range(products.shape[1]):
            s, arc, g = np.float64(products[i, c]) / lengths[c], arcs[i, c], np.float64(grad[i, c])
            z = kappa * s * s
            slope = 1 / math.sqrt(max(1 - z, LEAST_COSINE * LEAST_COSINE))
            if abs(z) < SERIES_BELOW:
                by_kappa = s * s * s * (ARSINC_FIRST + ARSINC_SECOND * z)
            else:
                by_kappa = (s * slope - arc) / (2 * kappa)
            by_sine = g * weights[c] * slope
            by_product[i, c] = by_sine / lengths[c]
            sums[0, c] += g * arc
            sums[1, c] -= by_sine * s / lengths[c]
            sums[2, c] += g * weights[c] * by_kappa


def distances(products: Tensor, lengths: Array, weights: Array, kappa: float, scores: Tensor) -> Tensor:
    """Add weights · arsin_κ(products/lengths), (N, C), to the scores; the arcs, for the backward."""
    arcs = products.new_empty(products.shape, dtype=torch.float64)
    x, own, out = products.numpy(), arcs.numpy(), scores.numpy()
    in_blocks(len(x), lambda b, _: _distances(x[b], lengths, weights, kappa, own[b], out[b]))
    return arcs


def distances_backward(
    products: Tensor, lengths: Array, weights: Array, kappa: float, arcs: Tensor, grad: Tensor
) -> tuple[Tensor, Array]:
    """Gradients by the products, (N, C), and, (3, C), by the weights, the lengths and, per class, κ."""
    by_product = torch.empty_like(products)
    x, own, g, out = products.numpy(), arcs.numpy(), as_array(grad), by_product.numpy()
    sums = np.zeros((-(-len(x) // BLOCK) or 1, 3, products.shape[1]))
    in_blocks(len(x), lambda b, n: _distances_backward(x[b], lengths, weights, kappa, own[b], g[b], out[b], sums[n]))
    return by_product, sums.sum(0)
