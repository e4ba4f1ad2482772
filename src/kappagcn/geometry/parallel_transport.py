"""Gyration and parallel transport (arXiv:1911.05076, section 2): vectors carried from one point to another."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry import vectors
from kappagcn.geometry.checks import Scalar, as_curvature, conformal_at, demand_finite, read_vectors
from kappagcn.geometry.difference import Difference, difference
from kappagcn.geometry.numerics import ARC_SINE_BELOW
from kappagcn.geometry.vectors import dot, unit


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
