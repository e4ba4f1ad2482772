"""Random points: uniform in a geodesic ball, and the wrapped normal distribution."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kappagcn.errors import GeometryError
from kappagcn.geometry.checks import Scalar, as_curvature
from kappagcn.geometry.numerics import norm, sin_k
from kappagcn.geometry.stereographic import expmap, expmap0, lambda_x

__all__ = ["random_uniform", "random_wrapped_normal"]

QUANTILES = 4096


def random_uniform(
    *size: int,
    radius: float = 1.0,
    k: Scalar,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Points distributed uniformly (by volume) in the ball of geodesic ``radius`` about the origin.

    The distance from the origin has density proportional to sin_κ(r)^(D−1), which is inverted on a table.

    Args:
        *size: shape of the result; the last entry is the dimension D.
        radius: geodesic radius, for κ > 0 at most π/√κ (the whole sphere).
        k: curvature, a number or a tensor that broadcasts against ``size[:-1]``.
        dtype: of the result; torch's default dtype if not given.
        device: of the result.
        generator: source of randomness; torch's own if not given.

    >>> x = random_uniform(100, 3, radius=2.0, k=-1.0, generator=torch.Generator().manual_seed(0))
    >>> bool((dist0(x, k=-1.0) <= 2.0).all())
    True
    """
    if not size:
        raise GeometryError("size: expected at least the dimension D, found nothing.")
    if not radius > 0:
        raise GeometryError(f"radius: expected a positive geodesic radius, found {radius}.")
    direction = torch.randn(size, dtype=dtype, device=device, generator=generator)
    direction = direction / norm(direction)
    k = as_curvature(k, direction)
    share = torch.rand((*size[:-1], 1), dtype=direction.dtype, device=direction.device, generator=generator)
    kd = k.double().expand(*torch.broadcast_shapes(k.shape, share.shape)[:-1], 1)
    limit = torch.where(kd > 0, math.pi / torch.where(kd > 0, kd, 1).sqrt(), torch.inf).clamp(max=radius)
    grid = limit * torch.linspace(0, 1, QUANTILES, dtype=torch.float64, device=direction.device)
    # Relative to the density at the rim, so that high dimensions neither overflow nor vanish.
    log_density = (size[-1] - 1) * sin_k(grid, k=kd).clamp(min=1e-300).log()
    density = (log_density - log_density.amax(-1, keepdim=True)).exp()
    mass = torch.nn.functional.pad(torch.cumulative_trapezoid(density, dim=-1), (1, 0))
    mass = mass / mass[..., -1:]
    share = share.double()
    upper = torch.searchsorted(mass, share).clamp(1, QUANTILES - 1)
    low, high = mass.gather(-1, upper - 1), mass.gather(-1, upper)
    step = (share - low) / (high - low).clamp(min=1e-300)
    r = limit * (upper - 1 + step.clamp(0, 1)) / (QUANTILES - 1)
    return expmap0((r / 2).to(direction.dtype) * direction, k=k.squeeze(-1))


def random_wrapped_normal(
    mean: Tensor, *, std: Scalar = 1.0, k: Scalar, generator: torch.Generator | None = None
) -> Tensor:
    """Wrapped normal: exp_mean of a normal tangent vector with geodesic standard deviation ``std`` per direction.

    Differentiable in ``mean``, ``std`` and κ (reparametrised). κ → 0: a normal distribution of deviation std/2.

    Args:
        mean: points (..., D) to centre at, one sample each; expand for more.
        std: a number, or a tensor that broadcasts against ``mean``'s leading shape.
        k: curvature.
        generator: source of randomness; torch's own if not given.
    """
    noise = torch.randn(mean.shape, dtype=mean.dtype, device=mean.device, generator=generator)
    return expmap(mean, as_curvature(std, mean) * noise / lambda_x(mean, k=k, keepdim=True), k=k)
