"""Stereographic: one space of constant curvature, as a module that owns its κ."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError
from kappagcn.geometry import (
    aggregation,
    ambient,
    frechet,
    gyro,
    hyperplane,
    pairwise,
    parallel_transport,
    points,
    random,
    squared,
    steps,
    stereographic,
)
from kappagcn.geometry.checks import Scalar
from kappagcn.geometry.curvature import Curvature
from kappagcn.geometry.points import Check

__all__ = ["Stereographic"]


class Stereographic(nn.Module):
    """The κ-stereographic model with its curvature: hyperbolic, Euclidean or spherical as κ is negative, 0 or positive.

    Methods are the functions of `kappagcn.geometry` with ``k`` filled in; see there. Share one instance between
    the layers that are to share a curvature.

    Args:
        curvature: κ as a number (fixed), or a `Curvature`.
        dim: dimension of the space, where it is known; only sampling needs it.

    >>> space = Stereographic(-1.0, dim=2)
    >>> float(space.dist(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 0.0])))
    1.0986...
    """

    def __init__(self, curvature: Curvature | float = 0.0, dim: int | None = None) -> None:
        super().__init__()
        if dim is not None and dim < 1:
            raise GeometryError(f"dim: expected a positive dimension, found {dim}.")
        self.curvature = curvature if isinstance(curvature, Curvature) else Curvature(curvature)
        self.dim = dim

    @property
    def k(self) -> Tensor:
        """κ as a tensor without axes, with its gradient."""
        kappa: Tensor = self.curvature()
        return kappa

    def extra_repr(self) -> str:
        """Dimension."""
        return "" if self.dim is None else f"dim={self.dim}"

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊕ y."""
        return stereographic.add(x, y, k=self.k)

    def sub(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊕ (−y)."""
        return stereographic.sub(x, y, k=self.k)

    def coadd(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊞ y."""
        return gyro.coadd(x, y, k=self.k)

    def cosub(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊞ (−y)."""
        return gyro.cosub(x, y, k=self.k)

    def pointwise_mul(self, w: Tensor, x: Tensor) -> Tensor:
        """diag(w) ⊗ x = exp_0(w·log_0(x))."""
        return gyro.pointwise_mul(w, x, k=self.k)

    def fn_apply(self, x: Tensor, *functions: Callable[[Tensor], Tensor]) -> Tensor:
        """Functions applied one after the other in the tangent space at the origin."""
        return gyro.fn_apply(x, *functions, k=self.k)

    def scale(self, r: Scalar, x: Tensor) -> Tensor:
        """r ⊗ x."""
        return stereographic.scale(r, x, k=self.k)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Geodesic distance: (..., D), (..., D) → (...)."""
        return stereographic.dist(x, y, k=self.k)

    def dist2(self, x: Tensor, y: Tensor) -> Tensor:
        """Squared distance, twice differentiable where x = y: (..., D), (..., D) → (...)."""
        return squared.dist2(x, y, k=self.k)

    def dist0(self, x: Tensor) -> Tensor:
        """Distance from the origin: (..., D) → (...)."""
        return stereographic.dist0(x, k=self.k)

    def cdist(self, x: Tensor, y: Tensor) -> Tensor:
        """All distances: (..., N, D), (..., M, D) → (..., N, M)."""
        return pairwise.cdist(x, y, k=self.k)

    def cdist2(self, x: Tensor, y: Tensor) -> Tensor:
        """All squared distances, smooth where points coincide: (..., N, D), (..., M, D) → (..., N, M)."""
        return pairwise.cdist2(x, y, k=self.k)

    def tangent_dist(self, u: Tensor, v: Tensor) -> Tensor:
        """Distance of exp_0(u) and exp_0(v), for points too far out for the ball."""
        return ambient.tangent_dist(u, v, k=self.k)

    def lambda_x(self, x: Tensor) -> Tensor:
        """Conformal factor: (..., D) → (...)."""
        return stereographic.lambda_x(x, k=self.k)

    def expmap(self, x: Tensor, v: Tensor) -> Tensor:
        """exp_x(v)."""
        return stereographic.expmap(x, v, k=self.k)

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        """log_x(y)."""
        return stereographic.logmap(x, y, k=self.k)

    def expmap0(self, v: Tensor) -> Tensor:
        """exp_0(v): tangent vectors at the origin to points."""
        return stereographic.expmap0(v, k=self.k)

    def logmap0(self, x: Tensor) -> Tensor:
        """log_0(x): points to tangent vectors at the origin."""
        return stereographic.logmap0(x, k=self.k)

    def geodesic(self, t: Scalar, x: Tensor, y: Tensor) -> Tensor:
        """The point a fraction t of the way from x to y."""
        return stereographic.geodesic(t, x, y, k=self.k)

    def geodesic_unit(self, t: Scalar, x: Tensor, v: Tensor) -> Tensor:
        """The point at distance t from x in the direction of v."""
        return steps.geodesic_unit(t, x, v, k=self.k)

    def retract(self, x: Tensor, v: Tensor) -> Tensor:
        """x + v, brought back into the space: `expmap` to first order."""
        return steps.retract(x, v, k=self.k)

    def gyration(self, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        """gyr[u, v]w."""
        return parallel_transport.gyration(u, v, w, k=self.k)

    def transport(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y."""
        return parallel_transport.transport(x, y, v, k=self.k)

    def transport0(self, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from the origin to y."""
        return steps.transport0(y, v, k=self.k)

    def transport0back(self, x: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to the origin."""
        return steps.transport0back(x, v, k=self.k)

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Riemannian inner product of u and v at x."""
        return stereographic.inner(x, u, v, k=self.k)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Riemannian inner product of u and v at x, its axis kept: (..., D) each → (..., 1)."""
        return stereographic.inner(x, u, v, k=self.k, keepdim=True)

    def norm(self, x: Tensor, v: Tensor) -> Tensor:
        """Riemannian length of v at x."""
        return stereographic.norm(x, v, k=self.k)

    def egrad2rgrad(self, x: Tensor, grad: Tensor) -> Tensor:
        """Riemannian gradient from the Euclidean one."""
        return stereographic.egrad2rgrad(x, grad, k=self.k)

    def project(self, x: Tensor) -> Tensor:
        """The nearest point that the dtype tells apart from the boundary."""
        return stereographic.project(x, k=self.k)

    def antipode(self, x: Tensor) -> Tensor:
        """The farthest point of the sphere; NaN where κ ≤ 0."""
        return stereographic.antipode(x, k=self.k)

    def lift(self, v: Tensor) -> Tensor:
        """Tangent vectors at the origin to ambient coordinates."""
        return ambient.lift(v, k=self.k)

    def lower(self, e: Tensor) -> Tensor:
        """Ambient coordinates to tangent vectors at the origin."""
        return ambient.lower(e, k=self.k)

    def to_ambient(self, x: Tensor) -> Tensor:
        """Points to ambient coordinates."""
        return ambient.to_ambient(x, k=self.k)

    def from_ambient(self, e: Tensor) -> Tensor:
        """Ambient coordinates to points."""
        return ambient.from_ambient(e, k=self.k)

    def midpoint(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Weighted gyromidpoint: (..., N, D) → (..., D)."""
        return aggregation.midpoint(x, weights, k=self.k)

    def frechet_mean(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Weighted Fréchet mean: (..., N, D) → (..., D)."""
        return frechet.frechet_mean(x, weights, k=self.k)

    def matmul_left(self, a: Tensor, x: Tensor) -> Tensor:
        """A ⊠ X, for A dense or sparse."""
        return aggregation.matmul_left(a, x, k=self.k)

    def matmul_right(self, x: Tensor, w: Tensor) -> Tensor:
        """X ⊗ W."""
        return aggregation.matmul_right(x, w, k=self.k)

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """Signed distance to the hyperplane through p with normal a."""
        return hyperplane.dist2plane(x, p, a, k=self.k)

    def logits(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """κ-logits: (..., N, D), (C, D), (C, D) → (..., N, C)."""
        return hyperplane.logits(x, p, a, k=self.k)

    def neg(self, x: Tensor) -> Tensor:
        """−x, the inverse of x under ⊕."""
        return stereographic.neg(x)

    def tangential_mean(self, x: Tensor, weights: Tensor | None = None, *, base: Tensor | None = None) -> Tensor:
        """Tangential aggregation at ``base``: (..., N, D) → (..., D)."""
        return aggregation.tangential_mean(x, weights, k=self.k, base=base)

    def origin(self, *size: int) -> Tensor:
        """The origin: (*size, dim)."""
        k = self.k
        return points.origin(*size, self._known_dim(), dtype=k.dtype, device=k.device)

    def check_point(self, x: Tensor) -> Check:
        """Whether all points of x lie in the space, and if not, why."""
        return points.check_point(x, k=self.k)

    def check_vector(self, x: Tensor, v: Tensor) -> Check:
        """Whether all rows of v are tangent vectors at x, and if not, why."""
        return points.check_vector(x, v, k=self.k)

    def random_uniform(self, *size: int, radius: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """Points uniform in the ball of geodesic ``radius``: (*size, dim)."""
        k = self.k
        return random.random_uniform(
            *size, self._known_dim(), radius=radius, k=k, dtype=k.dtype, device=k.device, generator=generator
        )

    def random_wrapped_normal(
        self, mean: Tensor, *, std: Scalar = 1.0, generator: torch.Generator | None = None
    ) -> Tensor:
        """One wrapped normal sample about each point of ``mean``."""
        return random.random_wrapped_normal(mean, std=std, k=self.k, generator=generator)

    def _known_dim(self) -> int:
        if self.dim is None:
            raise GeometryError(
                "dim: expected a space of known dimension, found none; build it with Stereographic(κ, dim=D)."
            )
        return self.dim
