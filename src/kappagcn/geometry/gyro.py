r"""Operations beyond ⊕ and ⊗: coaddition, functions at the origin, gyration, parallel transport, steps on geodesics.

Coaddition is the commutative companion of κ-addition. With p_x = 1 + κ|x|² and σ = x + y,

    x ⊞ y = x ⊕ gyr[x, −y]y = (p_y x + p_x y) / (1 − κ²|x|²|y|²) = (p_y σ + κ⟨x − y, σ⟩ y) / (1 − κ²|x|²|y|²),

the last of which loses no digits if y is near −x.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kappagcn.geometry import vectors
from kappagcn.geometry.checks import Scalar, as_curvature, conformal_at, demand_finite, read_vectors
from kappagcn.geometry.difference import Difference, difference
from kappagcn.geometry.numerics import ARC_SINE_BELOW, ROUNDING, eps, positive_root
from kappagcn.geometry.stereographic import expmap, expmap0, logmap, logmap0, norm, project
from kappagcn.geometry.vectors import dot, unit


def coadd(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """κ-coaddition x ⊞ y = 2 ⊗ midpoint(x, y). κ → 0: x + y.

    Laws: x ⊞ y = y ⊞ x, x ⊞ 0 = x, x ⊞ x = 2 ⊗ x, and right cancellation, (x ⊞ y) ⊕ (−y) = x.

    For κ > 0 and |x||y| = 1/κ the result is the antipode of the origin, returned as a point of norm 1/(ε√κ). Two
    antipodes have no midpoint; they give (x + y)/2, which satisfies the laws.

    >>> coadd(torch.tensor([0.5, 0.0]), torch.tensor([0.0, 0.5]), k=-1.0)
    tensor([0.4000, 0.4000])
    """
    k = as_curvature(k, x, read_vectors(x=x, y=y))
    x, y = torch.broadcast_tensors(x, y)
    p_x, p_y = conformal_at(x, k), conformal_at(y, k, "y")
    total = x + y
    change = k * dot(x - y, total) / p_x  # (p_x − p_y)/p_x
    # Numerator and denominator over p_x p_y: half the sum of the lifts of x and y, which does not overflow.
    n = total / p_x + change / p_y * y
    a, b = k * dot(x, x), k * dot(y, y)
    # Two equal forms. Near the boundary the first has the numerator's rounding error, which cancels in the quotient.
    h = torch.where(k < 0, (1 - b) / p_x - b * change / p_y, (1 - a * b) / (p_x * p_y))
    size = positive_root(k) * vectors.norm(n)
    at_infinity = (k > 0) & (h.abs() < eps(x) * size)
    antipodes = (k > 0) & (torch.maximum(size, h.abs()) < ROUNDING * eps(x))
    quotient = n / torch.where(antipodes, 1, torch.where(at_infinity, eps(x) * size, h))
    return torch.where(antipodes, total / 2, project(quotient, k=k.squeeze(-1)))


def cosub(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """κ-cosubtraction x ⊞ (−y), which undoes an addition from the right: (x ⊕ y) ⊞ (−y) = x. κ → 0: x − y.

    >>> cosub(torch.tensor([0.8, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.5000, 0.0000])
    """
    return coadd(x, -y, k=k)


def fn_apply(x: Tensor, *functions: Callable[[Tensor], Tensor], k: Scalar) -> Tensor:
    """Functions applied one after the other in the tangent space at the origin: exp_0(f(log_0(x))). κ → 0: f(x).

    Args:
        x: Points, (..., D).
        *functions: Functions; each maps tangent vectors (..., D) to tangent vectors (..., E), as ``torch.relu`` or an
            ``nn.Linear`` does; the first is applied first.
        k: Curvature.

    >>> fn_apply(torch.tensor([0.5, -0.5]), torch.relu, k=-1.0)
    tensor([0.5534, 0.0000])
    """
    v = logmap0(x, k=k)
    for function in functions:
        v = function(v)
    return expmap0(v, k=k)


def pointwise_mul(w: Tensor, x: Tensor, *, k: Scalar) -> Tensor:
    """Coordinates of log_0(x) times those of w: exp_0(w·log_0(x)), also written diag(w) ⊗ x. κ → 0: w·x.

    Args:
        w: Factors, (..., D).
        x: Points, (..., D).
        k: Curvature.

    >>> pointwise_mul(torch.tensor([2.0, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.8000, 0.0000])
    """
    read_vectors(w=w, x=x)
    return expmap0(w * logmap0(x, k=k), k=k)


def gyration(u: Tensor, v: Tensor, w: Tensor, *, k: Scalar) -> Tensor:
    """gyr[u, v]w = −(u⊕v) ⊕ (u ⊕ (v ⊕ w)), by its closed form: the rotation by which ⊕ fails to be associative.

    Linear in w, norm-preserving; u ⊕ v = gyr[u, v] (v ⊕ u). κ → 0: w.

    >>> from kappagcn.geometry import add
    >>> u, v, w = torch.tensor([[0.3, 0.0], [0.0, 0.4], [0.1, 0.2]])
    >>> torch.allclose(add(u, v, k=-1.0), gyration(u, v, add(v, u, k=-1.0), k=-1.0))
    True
    >>> bool(torch.isclose(gyration(u, v, w, k=-1.0).norm(), w.norm()))
    True
    """
    k = as_curvature(k, u, read_vectors(u=u, v=v, w=w))
    demand_finite(dot(w, w), "w")
    return _rotate(difference(-v, u, k), -v, u, w, k)


def _rotate(d: Difference, x: Tensor, y: Tensor, w: Tensor, k: Tensor) -> Tensor:
    r"""gyr[y, −x]w from the difference of x and y.

    In terms that do not cancel for close points, with δ = y − x, it is w + 2(a x + b δ)/(P cos_κ²(d/2)),

        a = −κp_x⟨δ, w⟩ − κ²|δ|²⟨x, w⟩,    b = κp_x⟨x, w⟩ + κ²(2⟨x, δ⟩⟨x, w⟩ − |x|²⟨δ, w⟩).

    Where these cancel, for points a quarter of a great circle apart or beyond the equator, it is the product of two
    reflections, which keeps lengths right up to antipodes.
    """
    along_x, along_delta = dot(x, w), dot(d.delta, w)
    xx, xy, yy, square, _ = d.products
    over = 2 * k / (d.denominator / d.p)
    a = -over * (along_delta + k * square / d.p * along_x)
    b = over * (along_x + k / d.p * (2 * (xy - xx) * along_x - xx * along_delta))
    close = w + a * x + b * d.delta
    cancels = (d.z >= ARC_SINE_BELOW) | (k * torch.maximum(xx, yy) > 1)
    return torch.where(cancels, _reflect_twice(d, x, y, w, k), close)


def _reflect_twice(d: Difference, x: Tensor, y: Tensor, w: Tensor, k: Tensor) -> Tensor:
    """gyr[y, −x]w for κ > 0 as two reflections.

    They are along x̂, then along x̂ + κ|x|y where x is the longer one, else along ŷ + κ|y|x, then along ŷ. To the
    antipode, along the geodesic that `logmap` takes, vectors keep their coordinates.
    """
    x_longer = d.products.xx >= d.products.yy
    longer, other = torch.where(x_longer, x, y), torch.where(x_longer, y, x)
    axis = unit(longer)
    mirror = unit(axis + k * vectors.norm(longer) * other)
    for normal in (torch.where(x_longer, axis, mirror), torch.where(x_longer, mirror, axis)):
        w = w - 2 * torch.where(d.antipodal, 0, dot(normal, w)) * normal
    return w


def transport(x: Tensor, y: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """Parallel transport of the tangent vector v from x to y along their geodesic: (λ_x/λ_y)·gyr[y, −x]v.

    Keeps lengths and angles: inner(y, Pu, Pv) = inner(x, u, v). κ → 0: v.

    >>> from kappagcn.geometry import norm
    >>> x, y, v = torch.tensor([[0.3, 0.0], [0.0, 0.4], [0.1, 0.2]])
    >>> moved = transport(x, y, v, k=1.0)
    >>> bool(torch.isclose(norm(y, moved, k=1.0), norm(x, v, k=1.0)))
    True
    """
    k = as_curvature(k, x, read_vectors(x=x, y=y, v=v))
    demand_finite(dot(v, v), "v")
    d = difference(x, y, k)
    return d.P / (d.p * d.p) * _rotate(d, x, y, v, k)


def transport0(y: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """Parallel transport of v from the origin to y: 2v/λ_y = (1 + κ|y|²)v. κ → 0: v.

    >>> transport0(torch.tensor([0.5, 0.0]), torch.tensor([1.0, 2.0]), k=-1.0)
    tensor([0.7500, 1.5000])
    """
    lead = read_vectors(y=y, v=v)
    demand_finite(dot(v, v), "v")
    return conformal_at(y, as_curvature(k, y, lead), "y") * v


def transport0back(x: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """Parallel transport of v from x to the origin: ½λ_x v = v/(1 + κ|x|²). κ → 0: v.

    >>> transport0back(torch.tensor([0.5, 0.0]), torch.tensor([0.3, 1.5]), k=-1.0)
    tensor([0.4000, 2.0000])
    """
    lead = read_vectors(x=x, v=v)
    demand_finite(dot(v, v), "v")
    return v / conformal_at(x, as_curvature(k, x, lead))


def geodesic(t: Scalar, x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """x ⊕ (t ⊗ (−x ⊕ y)) (eq. 5): the point a fraction t of the way from x to y, also beyond [0, 1].

    κ → 0: (1−t)x + ty.

    >>> geodesic(0.5, torch.tensor([0.0, 0.0]), torch.tensor([0.8, 0.0]), k=-1.0)
    tensor([0.5000, 0.0000])
    """
    v = logmap(x, y, k=k)
    return expmap(x, as_curvature(t, v, name="t") * v, k=k)


def geodesic_unit(t: Scalar, x: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """The point at distance t from x along the geodesic that starts in the direction of v. κ → 0: x + ½tv/|v|.

    Unlike `expmap` the length of v does not matter; v = 0 has no direction, and stays at x.

    Args:
        t: Distance: a number, or a tensor that broadcasts against x's leading shape.
        x: Points, (..., D).
        v: Directions, tangent vectors at x, (..., D).
        k: Curvature.

    >>> from kappagcn.geometry import dist
    >>> x = torch.tensor([0.3, 0.1])
    >>> y = geodesic_unit(2.0, x, torch.tensor([5.0, 1.0]), k=-1.0)
    >>> print(f"{float(dist(x, y, k=-1.0)):.4f}")
    2.0000
    """
    return expmap(x, at_speed(t, v, norm(x, v, k=k)), k=k)


def at_speed(t: Scalar, v: Tensor, length: Tensor) -> Tensor:
    """Vectors v (..., D) of Riemannian length ``length`` (...), rescaled to length t; 0 stays 0."""
    t = as_curvature(t, v, length.shape, trailing=0, name="t")
    return (t / torch.where(length == 0, 1, length)).unsqueeze(-1) * v


def retract(x: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """x + v, brought back into the space by `project`: a step that agrees with `expmap` to first order in v.

    Cheaper and less accurate than the exponential map: for κ < 0 a long step ends at the boundary of the ball.

    >>> retract(torch.tensor([0.3, 0.0]), torch.tensor([0.1, 0.2]), k=-1.0)
    tensor([0.4000, 0.2000])
    """
    read_vectors(x=x, v=v)
    return project(x + v, k=k)
