"""Lift, sum and lower of many rows compiled by numba, where it is installed: two passes in each direction.

All factors of a product go in the same pass: a row (v_1, …, v_F) is lifted to (n_1, …, n_F, h_1, …, h_F). The
mathematics, and the same in torch, are in :mod:`kappagcn.nn.rows`; :mod:`kappagcn.nn.midpoints` chooses between them.
Rows go in blocks whose bounds do not depend on the number of threads; neither do sums over rows, then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.geometry.numerics import (
    ROW_EXPONENT,
    ROW_FAR,
    ROW_FAR_TANGENT,
    ROW_LEAST,
    ROW_LEAST_COSINE,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    ROW_VALUE_TERMS,
    SERIES,
    ball_gap,
    row_series_terms,
)
from kappagcn.kernels.threads import spread
from kappagcn.sparse import multiply

__all__ = ["distances", "distances_backward", "lift", "lift_backward", "lower_backward", "sum_and_lower"]

Array = NDArray[Any]
BLOCK = 2048
ALONE = 65536  # rows that one thread finishes before another has woken up and found its block
FAR, FAR_TANGENT, LEAST, LEAST_COSINE = ROW_FAR, ROW_FAR_TANGENT, ROW_LEAST, ROW_LEAST_COSINE
SERIES_BELOW = ROW_SERIES_BELOW
SINC_FIRST, SINC_SECOND = row_series_terms("sinc")
ARTANC_FIRST, ARTANC_SECOND = row_series_terms("artanc")
# Where the series of the functions themselves, which are faster than the library's, are exact to rounding.
SINC_BELOW, ARTANC_BELOW = ROW_VALUE_SERIES_BELOW["sinc"], ROW_VALUE_SERIES_BELOW["artanc"]
ARSINC_BELOW = ROW_VALUE_SERIES_BELOW["arsinc"]
ARSINC_FIRST, ARSINC_SECOND = row_series_terms("arsinc")
SINC, COSC, ARTANC, ARSINC = (
    np.array(SERIES[name][: ROW_VALUE_TERMS[name]][::-1]) for name in ("sinc", "cosc", "artanc", "arsinc")
)

# Sums may be reordered to use vector registers; nothing else is relaxed.
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})


@compiled
def _horner(coefficients: Array, z: float) -> float:
    total = 0.0
    for n in range(coefficients.shape[0]):
        total = total * z + coefficients[n]
    return total


@compiled
def _lift(v: Array, ends: Array, kappas: Array, limit: float, lifted: Array, kept: Array) -> None:
    rows, dim = v.shape
    for i in range(rows):
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            q = 0.0
            for j in range(start, end):
                q += np.float64(v[i, np.uintp(j)]) * np.float64(v[i, np.uintp(j)])
            z = 4 * kappa * q
            s = math.sqrt(abs(z))
            if abs(z) < SINC_BELOW:
                sinc, cosc = _horner(SINC, z), _horner(COSC, z)
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
def _lift_backward(
    v: Array, ends: Array, kappas: Array, kept: Array, grad: Array, by_v: Array, by_kappa: Array
) -> None:
    rows, dim = v.shape
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


@compiled
def _exact_sum(
    i: int, starts: Array, columns: Array, values: Array, lifted: Array, start: int, end: int, height: int, out: Array
) -> float:
    """Row i of A · lifted, summed in float64: the coordinates of one factor, and its height."""
    h = 0.0
    for j in range(start, end):
        out[np.uintp(j)] = 0
    for entry in range(starts[i], starts[i + 1]):
        row, a = np.uintp(columns[entry]), np.float64(values[entry])
        h += a * lifted[row, np.uintp(height)]
        for j in range(start, end):
            out[np.uintp(j)] += a * lifted[row, np.uintp(j)]
    return h


@compiled
def _lower(
    first: int,
    last: int,
    e: Array,
    starts: Array,
    columns: Array,
    values: Array,
    lifted: Array,
    ends: Array,
    kappas: Array,
    gap: float,
    weight: Array,
    out: Array,
    kept: Array,
) -> None:
    """Rows first to last of e = A · lifted, lowered."""
    dim = out.shape[1]
    exact = np.empty(dim)
    for i in range(first, last):
        # A row of negative weight is that of the opposite weights, turned back by the weight itself.
        sign = -1.0 if weight[i] < 0 else 1.0
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            p, h = 0.0, sign * e[i, dim + f]
            for j in range(start, end):
                p += np.float64(e[i, np.uintp(j)]) * np.float64(e[i, np.uintp(j)])
            far = kappa < 0 and -kappa * p > FAR_TANGENT * h * h
            if far:
                # Far out the digits that the sum has lost count; there are few such rows.
                h = sign * _exact_sum(i, starts, columns, values, lifted, start, end, dim + f, exact)
                p = 0.0
                for j in range(start, end):
                    p += exact[np.uintp(j)] * exact[np.uintp(j)]
            size, ahead = math.sqrt(abs(kappa * p)), max(h, LEAST)
            z = kappa * p / (ahead * ahead)
            if kappa == 0:
                u = 1 / h if h != 0 else 0.0
            elif abs(z) < ARTANC_BELOW and h > 0:
                u = _horner(ARTANC, z) / ahead
            elif size == 0:
                u = 0.0  # no weight at all, or the origin's antipode: no direction
            elif kappa > 0:
                u = math.atan2(size, h) / size
            else:
                t = min(size / ahead, 1 - gap)
                u = math.log((1 + t) / (1 - t)) / (2 * size)
            kept[i, f, 0], kept[i, f, 1], kept[i, f, 2] = p, u, h
            # At κ = 0 the weight is the height, and may be 0.
            scale = 0.5 if kappa == 0 else 0.5 * weight[i] * sign * u
            if far:
                for j in range(start, end):
                    out[i, np.uintp(j)] = scale * exact[np.uintp(j)]
            else:
                for j in range(start, end):
                    out[i, np.uintp(j)] = scale * e[i, np.uintp(j)]


@compiled
def _lower_backward(
    e: Array,
    ends: Array,
    kappas: Array,
    gap: float,
    weight: Array,
    kept: Array,
    grad: Array,
    by_e: Array,
    by_kappa: Array,
) -> None:
    rows, dim = grad.shape
    for i in range(rows):
        for f in range(kappas.shape[0]):
            start, end, kappa = ends[f], ends[f + 1], kappas[f]
            sign = -1.0 if weight[i] < 0 else 1.0
            p, u, h = kept[i, f, 0], kept[i, f, 1], kept[i, f, 2]
            along = 0.0
            for j in range(start, end):
                along += np.float64(grad[i, np.uintp(j)]) * np.float64(e[i, np.uintp(j)])
            pull = 0.5 * abs(weight[i]) * along
            square, bent, ahead = h * h, kappa * p, max(h, LEAST)
            inverse = 1 / max(square + bent, max(gap * square, LEAST))
            z = bent / (ahead * ahead)
            if abs(z) < SERIES_BELOW:
                slope = (ARTANC_FIRST + ARTANC_SECOND * z) / (ahead * ahead * ahead)
            else:
                slope = 0.0 if bent == 0 else (h * inverse - u) / (2 * bent)
            by_kappa[f] += pull * slope * p
            scale = 0.5 if kappa == 0 else 0.5 * abs(weight[i]) * u
            turn = 2 * kappa * slope * pull
            for j in range(start, end):
                by_e[i, np.uintp(j)] = scale * grad[i, np.uintp(j)] + turn * e[i, np.uintp(j)]
            by_e[i, dim + f] = -sign * pull * inverse


@compiled
def _distances(products: Array, lengths: Array, weights: Array, kappa: float, arcs: Array, scores: Array) -> None:
    root = math.sqrt(abs(kappa))
    for i in range(products.shape[0]):
        for c in range(products.shape[1]):
            s = np.float64(products[i, c]) / lengths[c]
            z, t = kappa * s * s, root * abs(s)
            if abs(z) < ARSINC_BELOW:
                arc = s * _horner(ARSINC, z)
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


def _in_blocks(rows: int, work: Callable[[slice, int], None]) -> None:
    """Work on all rows, block by block."""
    spread(-(-rows // BLOCK) or 1, lambda n: work(slice(n * BLOCK, (n + 1) * BLOCK), n), alone=rows <= ALONE)


def _array(x: Tensor) -> Array:
    found: Array = x.contiguous().numpy()
    return found


@cache
def _ends(dims: tuple[int, ...]) -> Array:
    return np.cumsum([0, *dims])


class Factors:
    """Dimensions and curvatures of the factors, as the compiled functions take them."""

    def __init__(self, dims: list[int], kappas: list[float]) -> None:
        self.ends, self.kappas = _ends(tuple(dims)), np.array(kappas)

    def empty_sums(self, rows: int) -> Array:
        """A place for each block's gradients by the curvatures."""
        return np.zeros((-(-rows // BLOCK) or 1, len(self.kappas)))


def lift(v: Tensor, factors: Factors, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Lifted rows in `dtype`, (N, D) → (N, D+F), and what the backward needs."""
    (n, dim), count = v.shape, len(factors.kappas)
    lifted, kept = v.new_empty(n, dim + count, dtype=dtype), v.new_empty(n, count, 3, dtype=torch.float64)
    x, out, own, limit = _array(v), lifted.numpy(), kept.numpy(), ROW_EXPONENT[dtype]
    _in_blocks(n, lambda b, _: _lift(x[b], factors.ends, factors.kappas, limit, out[b], own[b]))
    return lifted, kept


def lift_backward(v: Tensor, factors: Factors, kept: Tensor, grad: Tensor) -> tuple[Tensor, Array]:
    """Gradients by v, (N, D), and by the curvatures, block by block, (B, F)."""
    by_v = torch.empty_like(v, memory_format=torch.contiguous_format)
    x, own, g, out, sums = _array(v), kept.numpy(), _array(grad), by_v.numpy(), factors.empty_sums(len(v))
    _in_blocks(
        len(x), lambda b, number: _lift_backward(x[b], factors.ends, factors.kappas, own[b], g[b], out[b], sums[number])
    )
    return by_v, sums


def sum_and_lower(
    lifted: Tensor, matrix: Tensor, factors: Factors, weight: Tensor, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Lowered rows of A · lifted in `dtype`, (N, D+F) → (M, D), the sums, and what else the backward needs."""
    sums = multiply(matrix, lifted)
    m, count = matrix.shape[0], len(factors.kappas)
    lowered = lifted.new_empty(m, lifted.shape[1] - count, dtype=dtype)
    kept = lifted.new_empty(m, count, 3, dtype=torch.float64)
    entries = matrix.crow_indices().numpy(), matrix.col_indices().numpy(), matrix.values().numpy()
    e, x, w, out, own, gap = (
        _array(sums),
        lifted.numpy(),
        _array(weight),
        lowered.numpy(),
        kept.numpy(),
        ball_gap(lifted),
    )
    _in_blocks(
        m,
        lambda b, _: _lower(b.start, min(b.stop, m), e, *entries, x, factors.ends, factors.kappas, gap, w, out, own),
    )
    return lowered, sums, kept


def lower_backward(e: Tensor, factors: Factors, weight: Tensor, kept: Tensor, grad: Tensor) -> tuple[Tensor, Array]:
    """Gradients by e, (N, D+F), and by the curvatures, block by block, (B, F)."""
    by_e = torch.empty_like(e)
    x, w, own, g, out, gap = _array(e), _array(weight), kept.numpy(), _array(grad), by_e.numpy(), ball_gap(by_e)
    sums = factors.empty_sums(len(x))
    _in_blocks(
        len(x),
        lambda b, number: _lower_backward(
            x[b], factors.ends, factors.kappas, gap, w[b], own[b], g[b], out[b], sums[number]
        ),
    )
    return by_e, sums


def distances(products: Tensor, lengths: Array, weights: Array, kappa: float, scores: Tensor) -> Tensor:
    """Add weights · arsin_κ(products/lengths), (N, C), to the scores; the arcs, for the backward."""
    arcs = products.new_empty(products.shape, dtype=torch.float64)
    x, own, out = products.numpy(), arcs.numpy(), scores.numpy()
    _in_blocks(len(x), lambda b, _: _distances(x[b], lengths, weights, kappa, own[b], out[b]))
    return arcs


def distances_backward(
    products: Tensor, lengths: Array, weights: Array, kappa: float, arcs: Tensor, grad: Tensor
) -> tuple[Tensor, Array]:
    """Gradients by the products, (N, C), and, (3, C), by the weights, the lengths and, per class, κ."""
    by_product = torch.empty_like(products)
    x, own, g, out = products.numpy(), arcs.numpy(), _array(grad), by_product.numpy()
    sums = np.zeros((-(-len(x) // BLOCK) or 1, 3, products.shape[1]))
    _in_blocks(len(x), lambda b, n: _distances_backward(x[b], lengths, weights, kappa, own[b], g[b], out[b], sums[n]))
    return by_product, sums.sum(0)
