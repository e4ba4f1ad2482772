"""Reference implementation of the geometry in mpmath, by the paper's formulas: slow, simple, right to 50 digits.

Points are lists of ``mpf``. Nothing here is shared with `kappagcn.geometry`, which is checked against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpmath import mp, mpf

mp.dps = 50

Number = Any  # mpf; mpmath ships no types
Vector = Sequence[Number]


def _root(k: Number) -> Number:
    return mp.sqrt(abs(k))


def tan_k(r: Number, k: Number) -> Number:
    return r if k == 0 else (mp.tan if k > 0 else mp.tanh)(_root(k) * r) / _root(k)


def artan_k(r: Number, k: Number) -> Number:
    return r if k == 0 else (mp.atan if k > 0 else mp.atanh)(_root(k) * r) / _root(k)


def sin_k(r: Number, k: Number) -> Number:
    return r if k == 0 else (mp.sin if k > 0 else mp.sinh)(_root(k) * r) / _root(k)


def cos_k(r: Number, k: Number) -> Number:
    return mpf(1) if k == 0 else (mp.cos if k > 0 else mp.cosh)(_root(k) * r)


def arsin_k(r: Number, k: Number) -> Number:
    return r if k == 0 else (mp.asin if k > 0 else mp.asinh)(_root(k) * r) / _root(k)


def dot(x: Vector, y: Vector) -> Number:
    return mp.fdot(x, y)


def length(x: Vector) -> Number:
    return mp.sqrt(dot(x, x))


def times(c: Number, x: Vector) -> Vector:
    return [c * a for a in x]


def lambda_x(x: Vector, k: Number) -> Number:
    return 2 / (1 + k * dot(x, x))


def add(x: Vector, y: Vector, k: Number) -> Vector:
    """κ-addition (equation 2)."""
    xx, xy, yy = dot(x, x), dot(x, y), dot(y, y)
    a, b, d = 1 - 2 * k * xy - k * yy, 1 + k * xx, 1 - 2 * k * xy + k * k * xx * yy
    return [(a * s + b * t) / d for s, t in zip(x, y, strict=True)]


def gyration(u: Vector, v: Vector, w: Vector, k: Number) -> Vector:
    """The paper's closed form of −(u⊕v) ⊕ (u ⊕ (v ⊕ w)), which is linear in w."""
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    a = -k * k * uw * vv - k * vw + 2 * k * k * uv * vw
    b = -k * k * vw * uu + k * uw
    d = 1 - 2 * k * uv + k * k * uu * vv
    return [t + 2 * (a * r + b * s) / d for r, s, t in zip(u, v, w, strict=True)]


def coadd(x: Vector, y: Vector, k: Number) -> Vector:
    """Coaddition by its definition: x ⊕ gyr[x, −y]y."""
    return add(x, gyration(x, times(-1, y), y, k), k)


def scale(r: Number, x: Vector, k: Number) -> Vector:
    """κ-scaling (equation 3)."""
    n = length(x)
    return x if n == 0 else times(tan_k(r * artan_k(n, k), k) / n, x)


def dist(x: Vector, y: Vector, k: Number) -> Number:
    """Geodesic distance (equation 4)."""
    return 2 * artan_k(length(add(times(-1, x), y, k)), k)


def dist0(x: Vector, k: Number) -> Number:
    return 2 * artan_k(length(x), k)


def expmap(x: Vector, v: Vector, k: Number) -> Vector:
    """Exponential map (equation 6)."""
    n = length(v)
    return x if n == 0 else add(x, times(tan_k(lambda_x(x, k) * n / 2, k) / n, v), k)


def logmap(x: Vector, y: Vector, k: Number) -> Vector:
    """Logarithm (equation 7)."""
    w = add(times(-1, x), y, k)
    n = length(w)
    return w if n == 0 else times(2 / lambda_x(x, k) * artan_k(n, k) / n, w)


def expmap0(v: Vector, k: Number) -> Vector:
    n = length(v)
    return v if n == 0 else times(tan_k(n, k) / n, v)


def logmap0(x: Vector, k: Number) -> Vector:
    n = length(x)
    return x if n == 0 else times(artan_k(n, k) / n, x)


def geodesic(t: Number, x: Vector, y: Vector, k: Number) -> Vector:
    """Point on the geodesic (equation 5)."""
    return add(x, scale(t, add(times(-1, x), y, k), k), k)


def transport(x: Vector, y: Vector, v: Vector, k: Number) -> Vector:
    """(λ_x/λ_y)·gyr[y, −x]v."""
    return times(lambda_x(x, k) / lambda_x(y, k), gyration(y, times(-1, x), v, k))


def midpoint(points: Sequence[Vector], weights: Vector, k: Number) -> Vector:
    """Equation 9, continued beyond the equator: the point along the weighted sum of lifts."""
    factors = [lambda_x(x, k) for x in points]
    dims = range(len(points[0]))
    n = [mp.fsum(w * f * x[i] for w, f, x in zip(weights, factors, points, strict=True)) for i in dims]
    h = mp.fsum(w * (f - 1) for w, f in zip(weights, factors, strict=True))
    return times(1 / (h + mp.sqrt(h * h + k * dot(n, n))), n)


def dist2plane(x: Vector, p: Vector, a: Vector, k: Number) -> Number:
    """Equation 12 without the factor in front: the signed distance."""
    z = add(times(-1, p), x, k)
    return arsin_k(2 * dot(z, a) / ((1 + k * dot(z, z)) * length(a)), k)


def lift(v: Vector, k: Number) -> Vector:
    r = 2 * length(v)
    return [*times(2 * sin_k(r, k) / r, v), cos_k(r, k)]


def lower(e: Vector, k: Number) -> Vector:
    """ρ = atan2_κ(|N|, h), then ½ρN/|N|."""
    *n, h = e
    size = length(n)
    if k > 0:
        rho = mp.atan2(_root(k) * size, h) / _root(k)
    else:
        rho = size / h if k == 0 else mp.atanh(_root(k) * size / h) / _root(k)
    return times(rho / (2 * size), n)


def tangent_dist(u: Vector, v: Vector, k: Number) -> Number:
    """Distance from the lifts: cos_κ(d) = h_u h_v + κ⟨N_u, N_v⟩, with additional digits against cancellation."""
    with mp.extradps(150):
        if k == 0:
            return 2 * length([a - b for a, b in zip(u, v, strict=True)])
        *n, h = lift(u, k)
        *m, g = lift(v, k)
        c = h * g + k * dot(n, m)
        return (mp.acos if k > 0 else mp.acosh)(c) / _root(k)


def slope(f: Callable[[Number], Any], k: Number) -> Any:
    """df/dκ by a central difference, whose error of about 1e-32 is far below the errors that are measured."""
    h = mpf(10) ** -17
    up, down = f(k + h), f(k - h)
    if isinstance(up, list):
        return [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]
    return (up - down) / (2 * h)
