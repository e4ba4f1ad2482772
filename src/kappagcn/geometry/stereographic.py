r"""The κ-stereographic model: points, distances, maps (arXiv:1911.05076, section 2).

Throughout, ``k`` is the signed sectional curvature κ: a number, or a tensor that broadcasts against the leading
shape of the points, so that points of different spaces may share a call. Vectors lie along the last axis, D. The
space is {x : κ|x|² > −1}: a ball of radius 1/√−κ for κ < 0, all of R^D otherwise, with the metric
λ_x²⟨·,·⟩, λ_x = 2/(1+κ|x|²). As κ → 0 every function becomes its Euclidean counterpart with lengths doubled:
λ = 2, d = 2|x−y|.

Functions of two points are computed from the gyrovector −u ⊕ y of :mod:`kappagcn.geometry.difference`.

Stereographic points resolve distances from the origin up to about 15/√−κ in float32 and 35/√−κ in float64; for
more, stay with tangent vectors (`kappagcn.geometry.tangent_dist`).

Points are float32 or float64; half precision is refused, since it resolves distances up to 5/√−κ only. Under
``torch.autocast`` every function computes in the dtype of its points.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry import vectors
from kappagcn.geometry.checks import (
    Scalar,
    all_hold,
    as_curvature,
    conformal,
    conformal_at,
    demand_finite,
    inside,
    read_vectors,
    within_reach,
)
from kappagcn.geometry.difference import difference
from kappagcn.geometry.numerics import (
    ARC_SINE_BELOW,
    LARGEST_EXPONENT,
    LARGEST_NORM,
    arc,
    arc_over_sine,
    arsinc,
    artanc,
    ball_gap,
    cosc,
    eps,
    far_norm,
    positive_root,
    tanc,
)
from kappagcn.geometry.vectors import dot


def lambda_x(x: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    """Conformal factor λ_x = 2/(1+κ|x|²): (..., D) → (...).

    >>> float(lambda_x(torch.tensor([0.0, 0.5]), k=-1.0))
    2.6666...
    """
    read_vectors(x=x)
    factor = 2 / conformal_at(x, as_curvature(k, x))
    return factor if keepdim else factor.squeeze(-1)


def add(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """κ-addition x ⊕ y (eq. 2): the translation of y by x. κ → 0: x + y.

    Where κ > 0 and x = y/(κ|y|²) the sum is the point at infinity, the antipode of the origin; it is
    returned as a point of norm 1/(ε√κ), which is the same to rounding.

    Laws: 0 ⊕ x = x ⊕ 0 = x, −x ⊕ x = 0, −x ⊕ (x ⊕ y) = y; neither commutative nor associative.

    >>> add(torch.tensor([0.5, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.8000, 0.0000])
    """
    k = as_curvature(k, x, read_vectors(x=x, y=y))
    return _add(x, y, k)


def _add(x: Tensor, y: Tensor, k: Tensor, p_y: Tensor | None = None) -> Tensor:
    d = difference(-x, y, k, p_y)
    # 1 where x or y is the origin, which rounding would miss: 0 ⊕ y is y to the last digit.
    at_origin = ((d.products.xx == 0) | (d.products.yy == 0)) & ~d.antipodal
    denominator = d.denominator + torch.where(at_origin, 1 - d.denominator, 0).detach()
    # Near the boundary of the ball rounding could step over it.
    limit = (1 - ball_gap(x)) / positive_root(-k)
    outside = (k < 0) & (d.size > limit * denominator)
    shrink = torch.where(outside, limit * denominator / torch.where(outside, d.size, 1), 1).detach()
    length = d.products.length
    return d.along(shrink / denominator, far_norm(k) / torch.where(d.antipodal, length, 1))


def neg(x: Tensor) -> Tensor:
    """Inverse of x under κ-addition: −x, for any κ.

    >>> neg(torch.tensor([0.5, -0.2]))
    tensor([-0.5000,  0.2000])
    """
    return -x


def sub(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """x ⊕ (−y). Note that the gyrovector from x to y is ``add(-x, y)``. κ → 0: x − y.

    >>> sub(torch.tensor([0.8, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.5000, 0.0000])
    """
    return add(x, -y, k=k)


def scale(r: Scalar, x: Tensor, *, k: Scalar) -> Tensor:
    """κ-scaling r ⊗ x = tan_κ(r·artan_κ|x|)·x/|x| (eq. 3): r times as far from the origin. κ → 0: r·x.

    For κ > 0 scaling beyond π/√κ goes round the sphere.

    Args:
        r: Factor: a number, or a tensor that broadcasts against x's leading shape.
        x: Points, (..., D).
        k: Curvature.

    >>> scale(2, torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.8000, 0.0000])
    """
    read_vectors(x=x)
    k, r = as_curvature(k, x), as_curvature(r, x, name="r")
    square = inside(dot(x, x), k)
    stretch = r * artanc(k * square)
    return stretch * _tan_over(stretch * stretch * square, k) * x


def _tan_over(square: Tensor, k: Tensor) -> Tensor:
    """tan_κ(r)/r from r²; where κ > 0 and a quarter turn leads to infinity, tan_κ(r) still has a finite square."""
    factor, largest = tanc(k * square), LARGEST_NORM[k.dtype]
    if all_hold((k <= 0) | (k > (0.1 * eps(k) * largest) ** -2)):  # on no larger sphere can the tangent overflow
        return factor
    limit = torch.full_like(k, largest).where(k > 0, torch.inf) / square.detach().sqrt()
    return factor.clamp(-limit, limit)


def dist(x: Tensor, y: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    """Geodesic distance d(x, y) = 2·artan_κ|−x ⊕ y| (eq. 4): (..., D), (..., D) → (...). κ → 0: 2|x−y|.

    Antipodes are at π/√κ. At x = y the distance has no derivative, and the gradient is 0; `dist2` is smooth there.

    >>> float(dist(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0))
    1.0986...
    """
    k = as_curvature(k, x, read_vectors(x=x, y=y))
    d = difference(x, y, k)
    length = 2 * arc(d.sine, d.cosine, k)
    return length if keepdim else length.squeeze(-1)


def dist2(x: Tensor, y: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    r"""Squared geodesic distance d(x, y)²: (..., D), (..., D) → (...). κ → 0: 4|x−y|².

        d² = 4q·arsinc²(κq),    q = sin_κ²(d/2) = |y − x|²/(p_x p_y),    p_x = 1 + κ|x|²,

    an analytic function of q: twice differentiable where x = y, unlike the square of `dist`. There the gradient is 0,
    the Hessian in x or y 2λ_x² times the identity. At antipodes, where no derivative exists, the gradient is finite.

    >>> float(dist2(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0))
    1.2069...
    """
    kappa = as_curvature(k, x, read_vectors(x=x, y=y))
    delta = y - x
    q = dot(delta, delta) / (conformal_at(x, kappa) * conformal_at(y, kappa, "y"))
    z = kappa * q
    # Beyond a quarter turn, κ > 0, the arc sine loses digits that `dist` keeps; coincident points are far from there.
    near = z < ARC_SINE_BELOW
    square = torch.where(near, 4 * q * arsinc(torch.where(near, z, 0)).square(), dist(x, y, k=k, keepdim=True).square())
    return square if keepdim else square.squeeze(-1)


def dist0(x: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    """Distance from the origin, 2·artan_κ|x|: (..., D) → (...). κ → 0: 2|x|.

    >>> dist0(torch.tensor([[0.5, 0.0]]).expand(3, 2), k=torch.tensor([-1.0, 0.0, 1.0]))
    tensor([1.0986, 1.0000, 0.9273])
    """
    read_vectors(x=x)
    k = as_curvature(k, x)
    length = 2 * vectors.norm(x) * artanc(k * inside(dot(x, x), k))
    return length if keepdim else length.squeeze(-1)


def expmap(x: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """exp_x(v) = x ⊕ tan_κ(λ_x|v|/2)·v/|v| (eq. 6): follow the geodesic from x along v. κ → 0: x + v.

    >>> x, v = torch.tensor([0.5, 0.0]), torch.tensor([0.0, 0.3])
    >>> y = expmap(x, v, k=-1.0)
    >>> bool(torch.isclose(dist(x, y, k=-1.0), norm(x, v, k=-1.0)))  # as far as v is long
    True
    """
    k = as_curvature(k, x, read_vectors(x=x, v=v))
    p = conformal_at(x, k)
    square, cut = within_reach(dot(v, v) / (p * p), k, "v")
    y = _tan_over(square, k) * cut / p * v
    # For κ < 0 a long step ends so near the boundary that 1 + κ|y|² = 1/cosh² must come from the step's length.
    near_boundary = cosc((k * square).clamp(min=-((LARGEST_EXPONENT[x.dtype] / 4) ** 2), max=0)) ** -2
    return _add(x, y, k, torch.where(k < 0, near_boundary, conformal(dot(y, y), k)))


def logmap(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """log_x(y), the inverse of exp_x (eq. 7): the tangent vector at x that leads to y. κ → 0: y − x.

    Every direction leads to the antipode; that of y − x is returned, with the right length.

    >>> x, y = torch.tensor([0.5, 0.0]), torch.tensor([0.0, 0.5])
    >>> torch.allclose(expmap(x, logmap(x, y, k=1.0), k=1.0), y, atol=1e-6)
    True
    """
    k = as_curvature(k, x, read_vectors(x=x, y=y))
    d = difference(x, y, k)
    stretch = d.p * arc_over_sine(d.z, d.cosine)
    return d.along(stretch / (d.P * torch.where(d.antipodal, 1, d.cosine)), stretch / d.P.sqrt())


def expmap0(v: Tensor, *, k: Scalar) -> Tensor:
    """exp_0(v) = tan_κ(|v|)·v/|v|: the point at distance 2|v| from the origin along v. κ → 0: v.

    >>> expmap0(torch.tensor([3.0, 0.0]), k=-1.0)
    tensor([0.9951, 0.0000])
    >>> expmap0(torch.tensor([3.0, 0.0]), k=0.0)
    tensor([3., 0.])
    """
    read_vectors(v=v)
    k = as_curvature(k, v)
    square, cut = within_reach(dot(v, v), k, "v")
    return _tan_over(square, k) * cut * v


def logmap0(x: Tensor, *, k: Scalar) -> Tensor:
    """log_0(x) = artan_κ(|x|)·x/|x|, the inverse of exp_0. κ → 0: x.

    >>> logmap0(expmap0(torch.tensor([0.3, 0.4]), k=1.0), k=1.0)
    tensor([0.3000, 0.4000])
    """
    read_vectors(x=x)
    k = as_curvature(k, x)
    return artanc(k * inside(dot(x, x), k)) * x


def inner(x: Tensor, u: Tensor, v: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    """Riemannian inner product λ_x²⟨u, v⟩ of tangent vectors at x. κ → 0: 4⟨u, v⟩.

    >>> round(float(inner(torch.zeros(2), torch.tensor([1.0, 0.0]), torch.tensor([0.5, 2.0]), k=-1.0)), 4)
    2.0
    """
    lead = read_vectors(x=x, u=u, v=v)
    p = conformal_at(x, as_curvature(k, x, lead))
    product = 4 / (p * p) * dot(u, v)
    demand_finite(product, "u or v")
    return product if keepdim else product.squeeze(-1)


def norm(x: Tensor, v: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    """Riemannian length λ_x|v| of a tangent vector at x. κ → 0: 2|v|.

    >>> norm(torch.tensor([[0.0, 0.0], [0.5, 0.0]]), torch.tensor([0.0, 3.2]), k=-1.0)
    tensor([6.4000, 8.5333])
    """
    lead = read_vectors(x=x, v=v)
    length = 2 / conformal_at(x, as_curvature(k, x, lead)) * vectors.norm(v)
    demand_finite(length, "v")
    return length if keepdim else length.squeeze(-1)


def egrad2rgrad(x: Tensor, grad: Tensor, *, k: Scalar) -> Tensor:
    """Riemannian gradient from the Euclidean one: grad/λ_x². κ → 0: grad/4.

    >>> egrad2rgrad(torch.tensor([0.5, 0.0]), torch.tensor([16.0, 0.0]), k=-1.0)
    tensor([2.2500, 0.0000])
    """
    lead = read_vectors(x=x, grad=grad)
    half = conformal_at(x, as_curvature(k, x, lead)) / 2
    demand_finite(dot(grad, grad), "grad")
    return half * half * grad


def project(x: Tensor, *, k: Scalar) -> Tensor:
    """The nearest point that the dtype distinguishes from the boundary of the space.

    κ < 0: norms are cut at (1−4ε)/√−κ. κ > 0: norms are cut at 1/(ε√κ), which is the antipode of the origin to
    rounding. κ = 0: nothing is cut. Use it on points that a step of an optimiser, or of κ, has left outside.

    >>> float(project(torch.tensor([3.0, 0.0]), k=-1.0).norm()) < 1
    True
    >>> project(torch.tensor([3.0, 0.0]), k=1.0)
    tensor([3., 0.])
    """
    read_vectors(x=x)
    k = as_curvature(k, x)
    length = vectors.norm(x)
    demand_finite(length, "x")
    ball = (1 - ball_gap(x)) / positive_root(-k)
    limit = torch.where(k < 0, ball, torch.where(k > 0, far_norm(k), torch.inf))
    outside = length > limit
    return torch.where(outside, limit / torch.where(outside, length, 1), 1) * x


def antipode(x: Tensor, *, k: Scalar) -> Tensor:
    """The farthest point of the sphere, −x/(κ|x|²), at distance π/√κ; NaN where κ ≤ 0, which has none.

    The antipode of the origin is at infinity: a point of norm 1/(ε√κ) along the first axis stands for it.

    >>> x = torch.tensor([0.5, 0.3])
    >>> antipode(x, k=1.0)
    tensor([-1.4706, -0.8824])
    >>> float(dist(x, antipode(x, k=1.0), k=1.0))
    3.1415...
    """
    read_vectors(x=x)
    k = as_curvature(k, x)
    square = dot(x, x)
    demand_finite(square, "x")
    at_origin = k * square < eps(x) ** 2
    first_axis = torch.arange(x.shape[-1], device=x.device) == 0
    opposite = torch.where(at_origin, far_norm(k) * first_axis, -x / torch.where(at_origin, 1, k * square))
    return torch.where(k > 0, opposite, torch.nan)
