"""Manifold: the operations of a space of constant curvature, or of a product of them; Stereographic: one space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GeometryError
from kappagcn.geometry import ambient, checks, gyro, hyperplane, means, pairwise, random, stereographic
from kappagcn.geometry.checks import Check, Scalar
from kappagcn.geometry.curvature import Curvature

Function = Callable[..., Tensor]


class Manifold(nn.Module):
    """Base of `Stereographic` and `ProductManifold`, which define how a function of one space acts on coordinates.

    Methods are the functions of `kappagcn.geometry` with ``k`` of the space; see there. In a product they act on each
    factor, unless they say otherwise.
    """

    dim: int | None

    @property
    def k(self) -> Tensor:
        """Curvature, in a product those of its factors, (F,)."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Set all curvatures to their initial values."""
        for module in self.modules():
            if isinstance(module, Curvature):
                module.reset_parameters()

    def _known_dim(self) -> int:
        raise NotImplementedError

    # Application of a function of one space. A product overrides these methods.

    def _vectors(self, f: Function, *tensors: Tensor, extra: int = 0, numbers: Sequence[Any] = ()) -> Tensor:
        """Vectors f(*numbers, *tensors); the tensors have ``extra`` coordinates per factor beyond its dimension."""
        return f(*numbers, *tensors, k=self.k)

    def _each(self, f: Function, *tensors: Tensor, **options: Any) -> Tensor:
        """Vectors from f, called for one factor at a time."""
        return f(*tensors, k=self.k, **options)

    def _numbers(self, f: Function, *tensors: Tensor) -> Tensor:
        """A number per vector and factor."""
        return f(*tensors, k=self.k)

    def _tables(self, f: Function, *tensors: Tensor) -> Tensor:
        """A table of numbers per factor, along the last axis."""
        return f(*tensors, k=self.k)

    def _sum(self, numbers: Tensor) -> Tensor:
        """Sum over factors."""
        return numbers

    def _length(self, numbers: Tensor) -> Tensor:
        """Root of the sum of squares over factors."""
        return numbers

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊕ y."""
        return self._vectors(stereographic.add, x, y)

    def sub(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊕ (−y)."""
        return self._vectors(stereographic.sub, x, y)

    def neg(self, x: Tensor) -> Tensor:
        """−x, the inverse of x under ⊕."""
        return stereographic.neg(x)

    def coadd(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊞ y."""
        return self._vectors(gyro.coadd, x, y)

    def cosub(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊞ (−y)."""
        return self._vectors(gyro.cosub, x, y)

    def scale(self, r: Scalar, x: Tensor) -> Tensor:
        """r ⊗ x."""
        return self._vectors(stereographic.scale, x, numbers=[r])

    def pointwise_mul(self, w: Tensor, x: Tensor) -> Tensor:
        """diag(w) ⊗ x = exp_0(w·log_0(x))."""
        return self._vectors(gyro.pointwise_mul, w, x)

    def fn_apply(self, x: Tensor, *functions: Callable[[Tensor], Tensor]) -> Tensor:
        """Functions applied one after the other to all coordinates of log_0(x)."""
        v = self.logmap0(x)
        for function in functions:
            v = function(v)
        return self.expmap0(v)

    def expmap0(self, v: Tensor) -> Tensor:
        """exp_0(v): tangent vectors at the origin to checks."""
        return self._vectors(stereographic.expmap0, v)

    def logmap0(self, x: Tensor) -> Tensor:
        """log_0(x): points to tangent vectors at the origin."""
        return self._vectors(stereographic.logmap0, x)

    def expmap(self, x: Tensor, v: Tensor) -> Tensor:
        """exp_x(v)."""
        return self._vectors(stereographic.expmap, x, v)

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        """log_x(y)."""
        return self._vectors(stereographic.logmap, x, y)

    def geodesic(self, t: Scalar, x: Tensor, y: Tensor) -> Tensor:
        """The point a fraction t of the way from x to y."""
        return self._vectors(gyro.geodesic, x, y, numbers=[t])

    def geodesic_unit(self, t: Scalar, x: Tensor, v: Tensor) -> Tensor:
        """The point at distance t from x, measured in the whole space, in the direction of v."""
        return self.expmap(x, gyro.at_speed(t, v, self.norm(x, v)))

    def retract(self, x: Tensor, v: Tensor) -> Tensor:
        """x + v, brought back into the space: `expmap` to first order."""
        return self._vectors(gyro.retract, x, v)

    def gyration(self, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        """gyr[u, v]w."""
        return self._vectors(gyro.gyration, u, v, w)

    def transport(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y."""
        return self._vectors(gyro.transport, x, y, v)

    def transport0(self, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from the origin to y."""
        return self._vectors(gyro.transport0, y, v)

    def transport0back(self, x: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to the origin."""
        return self._vectors(gyro.transport0back, x, v)

    def egrad2rgrad(self, x: Tensor, grad: Tensor) -> Tensor:
        """Riemannian gradient from the Euclidean one."""
        return self._vectors(stereographic.egrad2rgrad, x, grad)

    def project(self, x: Tensor) -> Tensor:
        """The nearest point that the dtype distinguishes from the boundary."""
        return self._vectors(stereographic.project, x)

    def antipode(self, x: Tensor) -> Tensor:
        """The farthest point of the sphere; NaN where κ ≤ 0."""
        return self._vectors(stereographic.antipode, x)

    def lift(self, v: Tensor) -> Tensor:
        """Tangent vectors at the origin to ambient coordinates: (..., D) → (..., D+F) for F factors."""
        return self._vectors(ambient.lift, v)

    def to_ambient(self, x: Tensor) -> Tensor:
        """Points to ambient coordinates: (..., D) → (..., D+F)."""
        return self._vectors(ambient.to_ambient, x)

    def lower(self, e: Tensor) -> Tensor:
        """Ambient coordinates to tangent vectors at the origin: (..., D+F) → (..., D)."""
        return self._vectors(ambient.lower, e, extra=1)

    def from_ambient(self, e: Tensor) -> Tensor:
        """Ambient coordinates to points: (..., D+F) → (..., D)."""
        return self._vectors(ambient.from_ambient, e, extra=1)

    def lambda_x(self, x: Tensor) -> Tensor:
        """Conformal factor: (..., D) → (...), in a product (..., F)."""
        return self._numbers(stereographic.lambda_x, x)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Geodesic distance, in a product √Σ d_f²: (..., D), (..., D) → (...)."""
        return self._length(self._numbers(stereographic.dist, x, y))

    def dist2(self, x: Tensor, y: Tensor) -> Tensor:
        """Squared distance, twice differentiable where x = y: (..., D), (..., D) → (...)."""
        return self._sum(self._numbers(stereographic.dist2, x, y))

    def dist0(self, x: Tensor) -> Tensor:
        """Distance from the origin: (..., D) → (...)."""
        return self._length(self._numbers(stereographic.dist0, x))

    def tangent_dist(self, u: Tensor, v: Tensor) -> Tensor:
        """Distance of exp_0(u) and exp_0(v), for points too far out for the ball."""
        return self._length(self._numbers(ambient.tangent_dist, u, v))

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Riemannian inner product of u and v at x."""
        return self._sum(self._numbers(stereographic.inner, x, u, v))

    def norm(self, x: Tensor, v: Tensor) -> Tensor:
        """Riemannian length of v at x."""
        return self._length(self._numbers(stereographic.norm, x, v))

    def cdist(self, x: Tensor, y: Tensor) -> Tensor:
        """All distances: (..., N, D), (..., M, D) → (..., N, M)."""
        return self._length(self._tables(pairwise.cdist, x, y))

    def cdist2(self, x: Tensor, y: Tensor) -> Tensor:
        """All squared distances, smooth where points coincide: (..., N, D), (..., M, D) → (..., N, M)."""
        return self._sum(self._tables(pairwise.cdist2, x, y))

    def midpoint(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Weighted gyromidpoint: (..., N, D) → (..., D)."""
        return self._each(means.midpoint, x, weights=weights)

    def frechet_mean(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Weighted Fréchet mean: (..., N, D) → (..., D)."""
        return self._each(means.frechet_mean, x, weights=weights)

    def tangential_mean(self, x: Tensor, weights: Tensor | None = None, *, base: Tensor | None = None) -> Tensor:
        """Tangential aggregation at ``base``: (..., N, D) → (..., D)."""
        tensors = (x,) if base is None else (x, base)
        return self._each(lambda part, at=None, *, k: means.tangential_mean(part, weights, k=k, base=at), *tensors)

    def matmul_left(self, a: Tensor, x: Tensor) -> Tensor:
        """A ⊠ X, for A dense or sparse."""
        return self._each(lambda part, k: means.matmul_left(a, part, k=k), x)

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """Signed distance to the hyperplane through p with normal a; in a product √Σ d_f², not signed.

        In a product that is the distance to a hyperplane only if the normal is 0 in all factors except one; `logits` is
        the function for classes.
        """
        return self._length(self._numbers(hyperplane.dist2plane, x, p, a))

    def logits(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """κ-logits, summed over factors: (..., N, D), (C, D), (C, D) → (..., N, C)."""
        return self._sum(self._tables(hyperplane.logits, x, p, a))

    def origin(self, *size: int) -> Tensor:
        """The origin: (*size, D)."""
        k = self.k
        return checks.origin(*size, self._known_dim(), dtype=k.dtype, device=k.device)

    def random_wrapped_normal(
        self, mean: Tensor, *, std: Scalar = 1.0, generator: torch.Generator | None = None
    ) -> Tensor:
        """One wrapped normal sample about each point of ``mean``."""
        return self._each(random.random_wrapped_normal, mean, std=std, generator=generator)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Riemannian inner product of u and v at x, its axis kept: (..., D) each → (..., 1)."""
        return stereographic.inner(x, u, v, k=self.k, keepdim=True)

    def matmul_right(self, x: Tensor, w: Tensor) -> Tensor:
        """X ⊗ W."""
        return means.matmul_right(x, w, k=self.k)

    def check_point(self, x: Tensor) -> Check:
        """Whether all points of x lie in the space, and if not, why."""
        return checks.check_point(x, k=self.k)

    def check_vector(self, x: Tensor, v: Tensor) -> Check:
        """Whether all rows of v are tangent vectors at x, and if not, why."""
        return checks.check_vector(x, v, k=self.k)

    def random_uniform(self, *size: int, radius: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """Points uniform in the ball of geodesic ``radius``: (*size, dim)."""
        k = self.k
        return random.random_uniform(
            *size, self._known_dim(), radius=radius, k=k, dtype=k.dtype, device=k.device, generator=generator
        )


class Stereographic(Manifold):
    """The κ-stereographic model with its curvature: hyperbolic, Euclidean or spherical as κ is negative, 0 or positive.

    Layers that use one instance share its curvature.

    Args:
        curvature: κ as a number (fixed), or a `Curvature`.
        dim: Dimension of the space, if known; only sampling needs it.

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

    def _known_dim(self) -> int:
        if self.dim is None:
            raise GeometryError(
                "dim: expected a space of known dimension, found none; build it with Stereographic(κ, dim=D)."
            )
        return self.dim
