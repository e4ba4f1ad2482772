"""Steps from a point: along a geodesic, at unit speed, or by a retraction."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry.checks import Scalar, as_curvature, read_vectors
from kappagcn.geometry.stereographic import expmap, logmap, norm, project


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
