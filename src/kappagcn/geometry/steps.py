"""Steps from a point at unit speed or by a retraction, and vectors carried to and from the origin."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry.checks import Scalar, as_curvature, conformal_at, demand_finite, read_vectors
from kappagcn.geometry.stereographic import expmap, norm, project
from kappagcn.geometry.vectors import dot

__all__ = ["geodesic_unit", "retract", "transport0", "transport0back"]


def geodesic_unit(t: Scalar, x: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """The point at distance t from x along the geodesic that starts in the direction of v. κ → 0: x + ½tv/|v|.

    Unlike `expmap` the length of v does not matter; v = 0 has no direction, and stays at x.

    Args:
        t: distance travelled, a number, or a tensor that broadcasts against x's leading shape.
        x: points (..., D).
        v: directions, tangent vectors at x (..., D).
        k: curvature.

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

    Cheaper than the exponential map and less faithful: for κ < 0 a long step ends at the boundary of the ball.

    >>> retract(torch.tensor([0.3, 0.0]), torch.tensor([0.1, 0.2]), k=-1.0)
    tensor([0.4000, 0.2000])
    """
    read_vectors(x=x, v=v)
    return project(x + v, k=k)


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
