"""Random points: uniform in a geodesic ball, and the wrapped normal distribution."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kappagcn.errors import GeometryError
from kappagcn.geometry.checks import Scalar, as_curvature, check_size, read_vectors
from kappagcn.geometry.numerics import positive_root, sin_k, tiny
from kappagcn.geometry.stereographic import expmap, expmap0, lambda_x
from kappagcn.geometry.vectors import norm

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
        *size: Shape of the result; the last entry is the dimension D.
        radius: Geodesic radius; for κ > 0 more than π/√κ is the whole sphere.
        k: Curvature, a number or a tensor that broadcasts against ``size[:-1]``.
        dtype: Dtype of the result; torch's default dtype by default.
        device: Device of the result.
        generator: Random generator; torch's own by default.

    >>> random_uniform(100, 3, radius=2.0, k=-1.0).shape
    torch.Size([100, 3])
    """
    check_size(size, dtype)
    if not 0 < radius < math.inf:
        raise GeometryError(f"radius: expected a positive, finite geodesic radius, found {radius}.")
    direction = torch.randn(size, dtype=dtype, device=device, generator=generator)
    direction = direction / norm(direction)
    k = as_curvature(k, direction)
    share = torch.rand((*size[:-1], 1), dtype=direction.dtype, device=direction.device, generator=generator)
    r = _radius_quantile(share.double(), k.detach().double(), radius, size[-1])
    return expmap0((r / 2).to(direction.dtype) * direction, k=k.squeeze(-1))


def _radius_quantile(share: Tensor, k: Tensor, radius: float, dim: int) -> Tensor:
    """Radius of the ball that holds this share of the volume of the ball of the given radius."""
    kappas = k.reshape(-1, 1)
    limit = torch.where(kappas > 0, math.pi / positive_root(kappas), torch.inf).clamp(max=radius)
    grid = limit * torch.linspace(0, 1, QUANTILES, dtype=k.dtype, device=k.device)
    # Relative to the largest density, so that high dimensions neither overflow nor vanish.
    log_density = (dim - 1) * sin_k(grid, k=kappas).clamp(min=tiny(k)).log()
    density = (log_density - log_density.amax(-1, keepdim=True)).exp()
    mass = torch.nn.functional.pad(torch.cumulative_trapezoid(density, dim=-1), (1, 0))
    mass = mass / mass[:, -1:]
    # One search for all curvatures: the table of the i-th is shifted by 2i.
    numbers = torch.arange(k.numel(), device=k.device)
    place = numbers.reshape(k.shape).expand(torch.broadcast_shapes(k.shape, share.shape))
    table = (mass + 2 * numbers.unsqueeze(-1)).flatten()
    upper = torch.searchsorted(table, share + 2 * place) - QUANTILES * place
    upper = upper.clamp(1, QUANTILES - 1) + QUANTILES * place
    mass = mass.flatten()
    low, high = mass[upper - 1], mass[upper]
    step = ((share - low) / (high - low).clamp(min=tiny(k))).clamp(0, 1)
    return limit.flatten()[place] * (upper - QUANTILES * place - 1 + step) / (QUANTILES - 1)


def random_wrapped_normal(
    mean: Tensor, *, std: Scalar = 1.0, k: Scalar, generator: torch.Generator | None = None
) -> Tensor:
    """Wrapped normal: exp_mean of a normal tangent vector with geodesic standard deviation ``std`` per direction.

    Differentiable in ``mean``, ``std`` and κ (reparametrised). κ → 0: a normal distribution of deviation std/2.

    Args:
        mean: Centres, (..., D), one sample each; expand it for more samples.
        std: Standard deviation: a number, or a tensor that broadcasts against ``mean``'s leading shape.
        k: Curvature.
        generator: Random generator; torch's own by default.

    >>> random_wrapped_normal(torch.zeros(100, 3), std=0.5, k=-1.0).shape
    torch.Size([100, 3])
    """
    read_vectors(mean=mean)
    noise = torch.randn(mean.shape, dtype=mean.dtype, device=mean.device, generator=generator)
    return expmap(mean, as_curvature(std, mean, name="std") * noise / lambda_x(mean, k=k, keepdim=True), k=k)
