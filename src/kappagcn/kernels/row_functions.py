r"""Numbers of a row that lift and lower need, in float64: many rows at once in vector registers.

With q = |v|², z = 4κq,

    lift(v) = (2 sinc(z) v, cosc(z)),    lower(n, h) = ½u n,    u = ρ/|n|,    tan_κ(ρ) = |n|/h,

and with Q = h² + κ|n|² and G = (h/Q − u)/(2κ|n|²), a power series where κ|n|²/h² is small,

    ∂u = 2κG n·∂n − ∂h/Q + |n|²G ∂κ.

For κ < 0 a row that does not point into the space, √−κ|n| ≥ h up to rounding, counts as the farthest point in the
direction of n that float64 resolves, at distance artanh(1 − 4ε)/√−κ, and has that point's derivatives.
"""

from __future__ import annotations

import math

import numpy as np

from kappagcn.geometry.numerics import (
    ROUNDING,
    ROW_LEAST,
    ROW_SERIES_BELOW,
    ROW_VALUE_SERIES_BELOW,
    ROW_VALUE_TERMS,
    SERIES,
    derivative_series,
)
from kappagcn.kernels.blocks import Array
from kappagcn.kernels.vector_math import (
    LARGEST_TURN,
    exponential,
    inlined,
    logarithm,
    polar_angle,
    sine_and_cosine,
)

# Globals of a module are constants of its compiled functions.
LEAST, SERIES_BELOW = ROW_LEAST, ROW_SERIES_BELOW
EDGE = 1 - ROUNDING * float(np.finfo(np.float64).eps)  # tanh of the farthest radius that float64 resolves
# Series of the functions, exact to rounding below these |z|.
S0, S1, S2, S3, S4, S5, S6 = SERIES["sinc"][: ROW_VALUE_TERMS["sinc"]]
C0, C1, C2, C3, C4, C5, C6, C7 = SERIES["cosc"][: ROW_VALUE_TERMS["cosc"]]
T0, T1, T2, T3, T4, T5, T6, T7, T8, T9 = SERIES["artanc"][: ROW_VALUE_TERMS["artanc"]]
SINC_BELOW, ARTANC_BELOW = ROW_VALUE_SERIES_BELOW["sinc"], ROW_VALUE_SERIES_BELOW["artanc"]
SINC_SLOPE, ARTANC_SLOPE = tuple(derivative_series("sinc")[:2]), tuple(derivative_series("artanc")[:2])


@inlined
def _near_lift(z: float) -> tuple[float, float]:
    """sinc(z) and cosc(z) by their series."""
    sinc = S0 + z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    return sinc, C0 + z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * (C6 + z * C7))))))


@inlined
def _near_artanc(z: float) -> float:
    """artanc(z) by its series."""
    total = T5 + z * (T6 + z * (T7 + z * (T8 + z * T9)))
    return T0 + z * (T1 + z * (T2 + z * (T3 + z * (T4 + z * total))))


@inlined
def lift_factors(q: Array, kappa: float, limit: float, sinc: Array, cosc: Array) -> None:
    """sinc(z) and cosc(z) of z = 4κ|v|²; rows beyond √−κ·r = limit count as lying there."""
    if kappa > 0:
        _spherical_factors(q, kappa, sinc, cosc)
        return
    for i in range(q.shape[0]):
        z = 4 * kappa * q[i]
        s = math.sqrt(-z)
        grown = exponential(s if s < limit else limit)
        shrunk = 1 / grown
        near, (near_sinc, near_cosc) = -z < SINC_BELOW, _near_lift(z)
        sinc[i] = near_sinc if near else (grown - shrunk) / (2 * s)
        cosc[i] = near_cosc if near else 0.5 * (grown + shrunk)


@inlined
def _spherical_factors(q: Array, kappa: float, sinc: Array, cosc: Array) -> None:
    largest = 0.0
    for i in range(q.shape[0]):
        largest = q[i] if q[i] > largest else largest
    if 4 * kappa * largest > LARGEST_TURN * LARGEST_TURN:
        for i in range(q.shape[0]):
            s = math.sqrt(4 * kappa * q[i])
            sinc[i], cosc[i] = (math.sin(s) / s if s > 0 else 1.0), math.cos(s)
        return
    for i in range(q.shape[0]):
        z = 4 * kappa * q[i]
        s = math.sqrt(z)
        sine, cosine = sine_and_cosine(s)
        near_sinc, _ = _near_lift(z)
        sinc[i], cosc[i] = (near_sinc if z < SINC_BELOW else sine / s), cosine


@inlined
def lift_slope(z: float, sinc: float, cosc: float, along: float, height: float) -> float:
    """The gradient by z of a lift, from those along v and by the height."""
    slope = SINC_SLOPE[0] + SINC_SLOPE[1] * z if abs(z) < SERIES_BELOW else (cosc - sinc) / (2 * z)
    return 2 * slope * along - 0.5 * sinc * height


@inlined
def lift_slopes(factors: tuple[Array, Array, Array], kappa: float, along: Array, height: Array, by_z: Array) -> float:
    """Gradients by z = 4κq of lifts, from those along v and by the height; returns the one by κ."""
    (q, sinc, cosc), by_kappa = factors, 0.0
    for i in range(q.shape[0]):
        by_z[i] = lift_slope(4 * kappa * q[i], sinc[i], cosc[i], along[i], height[i])
        by_kappa += 4 * q[i] * by_z[i]
    return by_kappa


@inlined
def stretches(p: Array, h: Array, kappa: float, u: Array) -> None:
    """u from |n|² = p and h; a row that points out of the space (κ < 0) is at its edge.

    A row without weight, and the origin's antipode, have no direction: u is 0.
    """
    if kappa == 0:
        for i in range(p.shape[0]):
            u[i] = 1 / h[i] if h[i] != 0 else 0.0
    elif kappa < 0:
        for i in range(p.shape[0]):
            size, ahead = math.sqrt(-kappa * p[i]), h[i] if h[i] > LEAST else LEAST
            z = kappa * p[i] / (ahead * ahead)
            t = EDGE if size >= EDGE * h[i] else size / ahead
            arc = logarithm((1 + t) / (1 - t)) / (2 * size)
            arc = arc if size > 0 else 0.0
            u[i] = _near_artanc(z) / ahead if -z < ARTANC_BELOW and h[i] > 0 else arc
    else:
        for i in range(p.shape[0]):
            size, ahead = math.sqrt(kappa * p[i]), h[i] if h[i] > LEAST else LEAST
            z = kappa * p[i] / (ahead * ahead)
            arc = polar_angle(size, h[i]) / size
            arc = arc if size > 0 else 0.0
            u[i] = _near_artanc(z) / ahead if z < ARTANC_BELOW and h[i] > 0 else arc


@inlined
def lower_slopes(kept: tuple[Array, Array, Array], kappa: float, pull: Array, rise: Array, turn: Array) -> float:
    """Pull times 1/Q and times 2κG; returns the sum of pull times |n|²G, the gradient by κ."""
    (p, u, h), by_kappa = kept, 0.0
    for i in range(p.shape[0]):
        bent, ahead = kappa * p[i], h[i] if h[i] > LEAST else LEAST
        capped = (bent <= 0) & ((h[i] <= 0) | (-bent >= EDGE * EDGE * h[i] * h[i]))
        gap = h[i] * h[i] + bent
        inverse = 0.0 if capped else 1 / (gap if gap > LEAST else LEAST)
        z, change = bent / (ahead * ahead), (h[i] * inverse - u[i]) * pull[i]
        bend = pull[i] * (ARTANC_SLOPE[0] + ARTANC_SLOPE[1] * z) / (ahead * ahead * ahead)
        near, flat = (abs(z) < SERIES_BELOW) & (not capped), bent == 0
        rise[i] = pull[i] * inverse
        turn[i] = 2 * kappa * bend if near else (0.0 if flat else change / p[i])
        by_kappa += p[i] * bend if near else (0.0 if flat else change / (2 * kappa))
    return by_kappa
