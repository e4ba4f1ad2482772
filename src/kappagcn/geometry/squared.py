r"""Squared distances, smooth where the points coincide.

With δ = y − x and p_x = 1 + κ|x|²,

    d² = 4q·arsinc²(κq),    q = sin_κ²(d/2) = |δ|²/(p_x p_y),

an analytic function of q: where x = y its gradient is 0 and its Hessian the metric's, 2λ_x². The square of `dist`
has the same values and gradients, but no second derivative there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.geometry.checks import Scalar, as_curvature, conformal_at, read_vectors
from kappagcn.geometry.numerics import ARC_SINE_BELOW, arsinc
from kappagcn.geometry.stereographic import dist
from kappagcn.geometry.vectors import dot

__all__ = ["dist2"]


def dist2(x: Tensor, y: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    """Squared geodesic distance d(x, y)²: (..., D), (..., D) → (...). κ → 0: 4|x−y|².

    Twice differentiable where x = y, unlike the square of `dist`: the gradient is 0, the Hessian in x or y is 2λ_x²
    times the identity. At antipodes, where no derivative exists, the gradient is finite.

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
