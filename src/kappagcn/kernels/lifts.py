"""Lift and lower of a range of rows in the spaces of all factors, and their derivatives.

Lifted rows have the vector and the height of each factor in turn. Numbers per row are kept for the derivatives, in
float64 and as (F, 3, N): |v|², sinc and cosc of lifts; |n|², u and h of lowered rows. See `row_functions`.
"""

from __future__ import annotations

import math

import numpy as np

from kappagcn.geometry.numerics import ROW_FAR, ROW_FAR_TANGENT
from kappagcn.kernels.blocks import Array, compiled
from kappagcn.kernels.row_functions import lift_factors, lift_slopes, lower_slopes, stretches
from kappagcn.kernels.row_vectors import combine, dot
from kappagcn.kernels.vector_math import inlined

FAR, FAR_TANGENT = ROW_FAR, ROW_FAR_TANGENT
FAR_HEIGHT = 1 / math.sqrt(1 - ROW_FAR_TANGENT)  # height of a point whose tanh² is ROW_FAR_TANGENT
TILE = 512  # rows whose numbers stay in the first cache
Lowered = tuple[Array, Array, Array]  # rows that were lowered, their weights, and their numbers


@compiled
def columns(f: int, ends: Array) -> tuple[int, int, int]:
    """First column of a factor, the same among lifted columns, and its dimension."""
    return ends[f], ends[f] + f, ends[f + 1] - ends[f]


@inlined
def _tile(numbers: Array, first: int, last: int) -> tuple[Array, Array, Array]:
    """The three numbers of a range of rows of one factor."""
    return numbers[0, first:last], numbers[1, first:last], numbers[2, first:last]


@inlined
def _measured_tile(
    numbers: Array, first: int, stop: int, rows: Array, begin: int, dim: int
) -> tuple[Array, Array, Array]:
    """The three numbers of a tile of rows of one factor, after writing the first ones, the squared lengths."""
    squares, second, third = _tile(numbers, first, min(first + TILE, stop))
    for i in range(squares.shape[0]):
        at = (first + i) * rows.shape[1] + begin
        squares[i] = dot(rows, at, rows, at, dim)
    return squares, second, third


@compiled
def lift_numbers(v: Array, kappas: Array, ends: Array, limit: float, start: int, stop: int, factors: Array) -> bool:
    """The numbers of rows, beyond √−κ·r = limit as lying there; returns whether some are far, as in `lower`."""
    far = False
    for f in range(kappas.shape[0]):
        (begin, _, dim), kappa = columns(f, ends), kappas[f]
        for first in range(start, stop, TILE):
            q, sinc, cosc = _measured_tile(factors[f], first, stop, v, begin, dim)
            lift_factors(q, kappa, limit, sinc, cosc)
            if kappa < 0:
                for i in range(q.shape[0]):
                    far |= not cosc[i] < FAR_HEIGHT
    return far


@compiled
def lift(v: Array, kappas: Array, ends: Array, factors: Array, start: int, stop: int, lifted: Array) -> None:
    """Lifted rows, from their numbers."""
    for f in range(kappas.shape[0]):
        (begin, top, dim), kappa, sinc, cosc = columns(f, ends), kappas[f], factors[f, 1], factors[f, 2]
        for i in range(start, stop):
            at, place, height = i * v.shape[1] + begin, i * lifted.shape[1] + top, cosc[i]
            combine(lifted, place, 2 * sinc[i], v, at, 0.0, v, at, dim)
            if kappa < 0 and height > FAR:
                # The height of the point as rounded: far out, lowering needs them to agree.
                height = math.sqrt(1 - kappa * dot(lifted, place, lifted, place, dim))
            lifted[i, top + dim] = height


@compiled
def pack(
    v: Array, kappas: Array, ends: Array, factors: Array, start: int, stop: int, rows: Array, numbers: Array
) -> None:
    """Rows as they are, behind the scale and the height of their lifts in float64; the two arrays share memory.

    A row lifted in float64 takes twice as many bytes, and sums over neighbours wait for memory.
    """
    count, vector = kappas.shape[0], np.empty(v.shape[1])
    for i in range(start, stop):
        rows[i, 4 * count + v.shape[1]] = 0.0
        combine(rows, i * rows.shape[1] + 4 * count, 1.0, v, i * v.shape[1], 0.0, v, i * v.shape[1], v.shape[1])
        for f in range(count):
            (begin, _, dim), scale, height = columns(f, ends), 2 * factors[f, 1, i], factors[f, 2, i]
            if kappas[f] < 0 and height > FAR:
                # As in `lift`: the height of the point as rounded.
                combine(vector, 0, scale, v, i * v.shape[1] + begin, 0.0, v, i * v.shape[1] + begin, dim)
                height = math.sqrt(1 - kappas[f] * dot(vector, 0, vector, 0, dim))
            numbers[i, 2 * f], numbers[i, 2 * f + 1] = scale, height


@inlined
def _row_places(i: int, tangents: Array, begin: int, lifted: Array, top: int, origin: int = 0) -> tuple[int, int]:
    """Places in memory where row i of one factor begins: among tangent vectors, and among lifted rows from `origin`."""
    return i * tangents.shape[1] + begin, (i - origin) * lifted.shape[1] + top


@compiled
def lift_backward(
    v: Array,
    kappas: Array,
    ends: Array,
    factors: Array,
    grad: Array,
    origin: int,
    start: int,
    stop: int,
    by_v: Array,
    by_k: Array,
) -> None:
    """Gradients by the rows from those by lifted rows, which `grad` has from row `origin` on; that by κ is added."""
    along, height, by_z = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for f in range(kappas.shape[0]):
        (begin, top, dim), kappa = columns(f, ends), kappas[f]
        for first in range(start, stop, TILE):
            numbers = _tile(factors[f], first, min(first + TILE, stop))
            n = numbers[0].shape[0]
            for i in range(n):
                at, place = _row_places(first + i, v, begin, grad, top, origin)
                along[i], height[i] = dot(v, at, grad, place, dim), grad[first + i - origin, top + dim]
            by_k[f] += lift_slopes(numbers, kappa, along[:n], height[:n], by_z[:n])
            for i in range(n):
                at, place = _row_places(first + i, v, begin, grad, top, origin)
                combine(by_v, at, 2 * numbers[1][i], grad, place, 8 * kappa * by_z[i], v, at, dim)


@compiled
def lower(
    sums: Array,
    kappas: Array,
    ends: Array,
    weight: Array,
    bias: Array,
    start: int,
    stop: int,
    out: Array,
    kept: Array,
) -> bool:
    """Rows times their weights, lowered, plus a bias, and their numbers; returns whether some are far.

    Far are rows that lie so far out for κ < 0 that a sum in float32 has lost digits.
    """
    far = False
    for f in range(kappas.shape[0]):
        (begin, top, dim), kappa = columns(f, ends), kappas[f]
        for first in range(start, stop, TILE):
            p, u, h = _measured_tile(kept[f], first, stop, sums, top, dim)
            for i in range(p.shape[0]):
                # A row of negative weight is that of the opposite weights, with the sign of the weight.
                h[i] = sums[first + i, top + dim] if weight[first + i] >= 0 else -sums[first + i, top + dim]
            if kappa < 0:
                for i in range(p.shape[0]):
                    ahead = max(h[i], 0.0)
                    far |= not (p[i] == 0 or -kappa * p[i] < FAR_TANGENT * ahead * ahead)
            stretches(p, h, kappa, u)
            for i in range(p.shape[0]):
                at, place = _row_places(first + i, out, begin, sums, top)
                # At κ = 0 the weight is the height, and may be 0.
                scale = 0.5 if kappa == 0 else 0.5 * abs(weight[first + i]) * u[i]
                combine(out, at, scale, sums, place, 1.0, bias, begin, dim)
    return far


@compiled
def lower_backward(
    lowered: Lowered, kappas: Array, ends: Array, grad: Array, start: int, stop: int, by_sums: Array, by_kappa: Array
) -> None:
    """Gradients by the rows that were lowered, which may take their place; that by κ is added."""
    sums, weight, kept = lowered
    pull, rise, turn = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for f in range(kappas.shape[0]):
        (begin, top, dim), kappa = columns(f, ends), kappas[f]
        for first in range(start, stop, TILE):
            n = min(TILE, stop - first)
            for i in range(n):
                at, place = _row_places(first + i, grad, begin, sums, top)
                pull[i] = 0.5 * abs(weight[first + i]) * dot(grad, at, sums, place, dim)
            numbers = _tile(kept[f], first, first + n)
            by_kappa[f] += lower_slopes(numbers, kappa, pull[:n], rise[:n], turn[:n])
            for i in range(n):
                at, place = _row_places(first + i, grad, begin, sums, top)
                scale = 0.5 if kappa == 0 else 0.5 * abs(weight[first + i]) * numbers[1][i]
                combine(by_sums, place, scale, grad, at, turn[i], sums, place, dim)
                by_sums[first + i, top + dim] = -rise[i] if weight[first + i] >= 0 else rise[i]


@compiled
def add_rows(rows: Array, start: int, stop: int, total: Array, place: int) -> None:
    """Add a range of rows to the numbers of `total` from `place` on."""
    for i in range(start, stop):
        combine(total, place, 1.0, total, place, 1.0, rows, i * rows.shape[1], rows.shape[1])
