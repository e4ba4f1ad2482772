"""Gradients of a sum over pairs by both points and by κ, from its derivatives by the squared distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kappagcn.kernels.pair_distances import (
    A1,
    A2,
    A3,
    A4,
    A5,
    A6,
    A7,
    A8,
    B1,
    B2,
    B3,
    B4,
    B5,
    CHUNKS,
    NEAR,
    TURN,
    Points,
    Rows,
    compiled,
)

__all__ = ["Sums", "add_gradients", "added", "no_sums"]

Array = NDArray[Any]


class Sums(NamedTuple):
    """What pairs add up to."""

    by_u: Array  # gradients; this one short of a factor P, which is 0 at the origin
    by_r: Array
    by_sine: Array
    by_kappa: Array
    totals: Array  # the objective, and the smallest and largest d²w


@compiled
def slope_near(z: float) -> float:
    """arsinc′(z) for small z."""
    terms = 5 * A5 + z * (6 * A6 + z * (7 * A7 + z * 8 * A8))
    return A1 + z * (2 * A2 + z * (3 * A3 + z * (4 * A4 + z * terms)))


@compiled
def add_gradients(
    i: int, start: int, stop: int, once: bool, points: Points, sums: Sums, parts: Array, flat: Array
) -> None:
    """Add what the pulls of point i and those of a block, in ``flat[3]``, do to both points and to κ.

    Gradients are by both points, or without `once` by the other one alone.
    """
    m = stop - start
    u, r, sine, p, q, ends, kappas = points.u, points.r, points.sine, points.p, points.q, points.ends, points.kappas
    by_u, by_r, by_sine = sums.by_u, sums.by_r, sums.by_sine
    x, other, pull, one = flat[1], flat[2], flat[3], flat[4]
    for f in range(kappas.shape[0]):
        gap, s, turn, arc, root = parts[0, f, :m], parts[1, f, :m], parts[2, f, :m], parts[3, f, :m], parts[4, f, :m]
        kappa, p_i, q_i, sine_i, r_i = kappas[f], p[f, i], q[f, i], sine[f, i], r[f, i]
        p_j, q_j, sine_j, r_j = p[f, start:stop], q[f, start:stop], sine[f, start:stop], r[f, start:stop]
        crossed, straight, squared = points.turns[f, 0], points.turns[f, 1], points.turns[f, 2]
        half = 0.5 / kappa if kappa != 0 else 0.0
        curving = 0.0
        for j in range(m):
            z = kappa * s[j]
            y = min(max(z, -NEAR), NEAR)
            bent = s[j] * slope_near(y) if y == z else half * (root[j] - arc[j])  # s arsinc′(κs)
            curving += 8 * pull[j] * s[j] * arc[j] * bent
        for j in range(m):
            x[j] = 4 * pull[j] * arc[j] * root[j]  # ∂/∂S
        for j in range(m):
            one[j] = crossed * (p_i * q_j[j] + q_i * p_j[j]) + straight * q_i * q_j[j] + squared * p_i * p_j[j]
        for j in range(m):
            h = 0.5 * (r_i - r_j[j])
            z = kappa * h * h
            y = min(max(z, -TURN), TURN)
            near = h * h * h * (B1 + y * (B2 + y * (B3 + y * (B4 + y * B5))))
            curving += 2 * x[j] * turn[j] * (near if y == z else (h * one[j] - turn[j]) * half)
        outward, column = 0.0, by_r[f, start:stop]
        for j in range(m):
            other[j] = x[j] * turn[j] * one[j]
            outward += other[j]
        for j in range(m):
            column[j] -= other[j]
        wide, column = 0.0, by_sine[f, start:stop]
        for j in range(m):
            other[j] = 0.25 * x[j] * gap[j]
            wide += other[j] * sine_j[j]
        for j in range(m):
            column[j] += other[j] * sine_i
        if once:
            by_r[f, i] += outward
            by_sine[f, i] += wide
        else:  # point i stays, but κ bends its sine too
            curving += wide * points.bends[f, i]
        sums.by_kappa[f] += curving
        for j in range(m):
            one[j] = 0.5 * x[j] * sine_j[j] if once else 0.0
        for j in range(m):
            other[j] = 0.5 * x[j] * sine_i
        for d in range(ends[f], ends[f + 1]):
            own, column, pulls, along = u[d, i], u[d, start:stop], by_u[d, start:stop], 0.0
            for j in range(m):
                along += one[j] * (own - column[j])
                pulls[j] -= other[j] * (own - column[j])
            by_u[d, i] += along


def no_sums(rows: Rows, kept: int) -> list[Sums]:
    """Zeros for each chunk of rows, with gradients of that many points."""
    d, f = len(rows.u), len(rows.kappas)
    return [
        Sums(np.zeros((d, kept)), np.zeros((f, kept)), np.zeros((f, kept)), np.zeros(f), np.array([0.0, np.inf, 0.0]))
        for _ in range(CHUNKS)
    ]


def added(rows: Rows, sums: list[Sums], *, slopes: bool) -> tuple[Array, Array, Array]:
    """Sums of all chunks, in order: totals, gradients by v and by κ."""
    totals = np.array([each.totals for each in sums])
    whole = np.array([totals[:, 0].sum(), totals[:, 1].min(), totals[:, 2].max()])
    if not slopes:
        return whole, np.empty((0, 0)), np.empty(0)
    by_u, by_r, by_sine, by_kappa = (np.sum([each[k] for each in sums], axis=0) for k in range(4))
    return whole, *rows.gradients(by_u, by_r, by_sine, by_kappa)
