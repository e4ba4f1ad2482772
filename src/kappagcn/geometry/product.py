"""ProductManifold: several spaces side by side, each with its own dimension and curvature."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kappagcn.errors import GeometryError
from kappagcn.geometry import (
    ambient,
    gyro,
    hyperplane,
    parallel_transport,
    points,
    random,
    squared,
    steps,
    stereographic,
    vectors,
)
from kappagcn.geometry.checks import Scalar
from kappagcn.geometry.curvature import Curvature
from kappagcn.geometry.factors import Factors
from kappagcn.geometry.manifold import Stereographic
from kappagcn.geometry.points import Check
from kappagcn.geometry.signature import parse_signature

__all__ = ["ProductManifold"]


class ProductManifold(Factors):
    """A product of constant-curvature spaces: d² = Σ d_f², coordinates one factor after the other.

    Methods are those of `Stereographic`, on vectors (..., D) with D the sum of the factors' dimensions; ambient
    vectors have one coordinate more for each factor. Neighbouring factors of equal dimension are worked on in one call,
    whatever their signs.

    Args:
        factors: spaces of known dimension.

    >>> space = ProductManifold.from_signature("H2xS3")
    >>> space.dim, space.num_factors, space.signature
    (5, 2, 'H2xS3')
    >>> x = space.expmap0(torch.ones(4, 5))
    >>> space.dist(x, -x).shape
    torch.Size([4])
    """

    @classmethod
    def from_signature(
        cls, signature: str, *, trainable: bool = False, dtype: torch.dtype | None = None
    ) -> ProductManifold:
        """The product that a signature such as ``"H8xS8"``, ``"H2^4"`` or ``"U8"`` describes.

        With ``trainable`` the curvatures of H, S and U factors are parameters, free to change sign; E stays flat.
        """
        return cls(
            Stereographic(Curvature(f.kappa, trainable=trainable and f.letter != "E", dtype=dtype), dim=f.dim)
            for f in parse_signature(signature)
        )

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊕ y in each factor."""
        return self._vectors(stereographic.add, x, y)

    def sub(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊕ (−y) in each factor."""
        return self._vectors(stereographic.sub, x, y)

    def coadd(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊞ y in each factor."""
        return self._vectors(gyro.coadd, x, y)

    def cosub(self, x: Tensor, y: Tensor) -> Tensor:
        """x ⊞ (−y) in each factor."""
        return self._vectors(gyro.cosub, x, y)

    def pointwise_mul(self, w: Tensor, x: Tensor) -> Tensor:
        """diag(w) ⊗ x = exp_0(w·log_0(x))."""
        return self._vectors(gyro.pointwise_mul, w, x)

    def fn_apply(self, x: Tensor, *functions: Callable[[Tensor], Tensor]) -> Tensor:
        """Functions applied one after the other to all coordinates of log_0(x)."""
        v = self.logmap0(x)
        for function in functions:
            v = function(v)
        return self.expmap0(v)

    def expmap(self, x: Tensor, v: Tensor) -> Tensor:
        """exp_x(v)."""
        return self._vectors(stereographic.expmap, x, v)

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        """log_x(y)."""
        return self._vectors(stereographic.logmap, x, y)

    def expmap0(self, v: Tensor) -> Tensor:
        """exp_0(v): tangent vectors at the origin to points."""
        return self._vectors(stereographic.expmap0, v)

    def logmap0(self, x: Tensor) -> Tensor:
        """log_0(x): points to tangent vectors at the origin."""
        return self._vectors(stereographic.logmap0, x)

    def gyration(self, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        """gyr[u, v]w in each factor."""
        return self._vectors(parallel_transport.gyration, u, v, w)

    def transport(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y."""
        return self._vectors(parallel_transport.transport, x, y, v)

    def transport0(self, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from the origin to y."""
        return self._vectors(steps.transport0, y, v)

    def transport0back(self, x: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to the origin."""
        return self._vectors(steps.transport0back, x, v)

    def retract(self, x: Tensor, v: Tensor) -> Tensor:
        """x + v, brought back into each factor: `expmap` to first order."""
        return self._vectors(steps.retract, x, v)

    def egrad2rgrad(self, x: Tensor, grad: Tensor) -> Tensor:
        """Riemannian gradient from the Euclidean one."""
        return self._vectors(stereographic.egrad2rgrad, x, grad)

    def project(self, x: Tensor) -> Tensor:
        """The nearest point that the dtype tells apart from the boundary, in each factor."""
        return self._vectors(stereographic.project, x)

    def antipode(self, x: Tensor) -> Tensor:
        """The farthest point of each factor; NaN in factors with κ ≤ 0."""
        return self._vectors(stereographic.antipode, x)

    def lift(self, v: Tensor) -> Tensor:
        """Tangent vectors at the origin to ambient coordinates: (..., D) → (..., D+F)."""
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

    def neg(self, x: Tensor) -> Tensor:
        """−x, the inverse of x under ⊕."""
        return stereographic.neg(x)

    def scale(self, r: Scalar, x: Tensor) -> Tensor:
        """r ⊗ x in each factor."""
        return self._vectors(stereographic.scale, x, numbers=[r])

    def geodesic(self, t: Scalar, x: Tensor, y: Tensor) -> Tensor:
        """The point a fraction t of the way from x to y."""
        return self._vectors(stereographic.geodesic, x, y, numbers=[t])

    def geodesic_unit(self, t: Scalar, x: Tensor, v: Tensor) -> Tensor:
        """The point at distance t from x, measured in the product, in the direction of v."""
        return self.expmap(x, steps.at_speed(t, v, self.norm(x, v)))

    def lambda_x(self, x: Tensor) -> Tensor:
        """Conformal factor of each space: (..., D) → (..., F)."""
        return self._numbers(stereographic.lambda_x, x)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Geodesic distance √Σ d_f²: (..., D), (..., D) → (...)."""
        return vectors.norm(self._numbers(stereographic.dist, x, y)).squeeze(-1)

    def dist2(self, x: Tensor, y: Tensor) -> Tensor:
        """Squared distance Σ d_f², twice differentiable where x = y: (..., D), (..., D) → (...)."""
        return self._numbers(squared.dist2, x, y).sum(-1)

    def dist0(self, x: Tensor) -> Tensor:
        """Distance from the origin: (..., D) → (...)."""
        return vectors.norm(self._numbers(stereographic.dist0, x)).squeeze(-1)

    def tangent_dist(self, u: Tensor, v: Tensor) -> Tensor:
        """Distance of exp_0(u) and exp_0(v), for points too far out for the ball."""
        return vectors.norm(self._numbers(ambient.tangent_dist, u, v)).squeeze(-1)

    def factor_dists(self, x: Tensor, y: Tensor) -> Tensor:
        """The distance in each factor: (..., D), (..., D) → (..., F)."""
        return self._numbers(stereographic.dist, x, y)

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Riemannian inner product: the sum over factors."""
        return self._numbers(stereographic.inner, x, u, v).sum(-1)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """The inner product in each factor, repeated for each of its coordinates: (..., D) each → (..., D)."""
        products = self._numbers(stereographic.inner, x, u, v).split(1, -1)
        return torch.cat([p.expand(*p.shape[:-1], dim) for p, dim in zip(products, self.dims, strict=True)], -1)

    def norm(self, x: Tensor, v: Tensor) -> Tensor:
        """Riemannian length of v at x."""
        return vectors.norm(self._numbers(stereographic.norm, x, v)).squeeze(-1)

    def cdist(self, x: Tensor, y: Tensor) -> Tensor:
        """All distances: (..., N, D), (..., M, D) → (..., N, M)."""
        return vectors.norm(torch.stack(self._each(Stereographic.cdist, x, y), -1)).squeeze(-1)

    def cdist2(self, x: Tensor, y: Tensor) -> Tensor:
        """All squared distances, smooth where points coincide: (..., N, D), (..., M, D) → (..., N, M)."""
        return torch.stack(self._each(Stereographic.cdist2, x, y)).sum(0)

    def midpoint(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Weighted gyromidpoint in each factor: (..., N, D) → (..., D)."""
        return torch.cat(self._each(lambda space, part: space.midpoint(part, weights), x), -1)

    def frechet_mean(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Weighted Fréchet mean, which is the factors' own: (..., N, D) → (..., D)."""
        return torch.cat(self._each(lambda space, part: space.frechet_mean(part, weights), x), -1)

    def tangential_mean(self, x: Tensor, weights: Tensor | None = None, *, base: Tensor | None = None) -> Tensor:
        """Tangential aggregation at ``base``: (..., N, D) → (..., D)."""
        bases = [None] * self.num_factors if base is None else self.split(base)
        parts = zip(self._spaces(), self.split(x), bases, strict=True)
        return torch.cat([space.tangential_mean(part, weights, base=b) for space, part, b in parts], -1)

    def matmul_left(self, a: Tensor, x: Tensor) -> Tensor:
        """A ⊠ X in each factor, for A dense or sparse."""
        return torch.cat(self._each(lambda space, part: space.matmul_left(a, part), x), -1)

    def matmul_right(self, x: Tensor, w: Tensor) -> Tensor:
        """X ⊗ W = exp_0(log_0(X)·W) over all coordinates: W (D, D)."""
        if not isinstance(w, Tensor) or w.shape != (self.dim, self.dim) or w.dtype != x.dtype:
            found = f"{tuple(w.shape)} {w.dtype}" if isinstance(w, Tensor) else type(w).__name__
            raise GeometryError(f"w: expected ({self.dim}, {self.dim}) {x.dtype}, found {found}.")
        return self.expmap0(vectors.matmul(self.logmap0(x), w))

    def logits(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """κ-logits, summed over factors: the choice that gives the Euclidean ones back as all κ → 0."""
        logits = self._each(Stereographic.logits, x, p, a)
        return torch.stack(logits).sum(0)

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
        """Distance √Σ d_f² to the product of the factors' hyperplanes, not signed.

        That is a hyperplane of the product only where the normal is 0 in all factors but one; for classes see `logits`.
        """
        return vectors.norm(self._numbers(hyperplane.dist2plane, x, p, a)).squeeze(-1)

    def origin(self, *size: int) -> Tensor:
        """The origin: (*size, D)."""
        k = self.k
        return points.origin(*size, self.dim, dtype=k.dtype, device=k.device)

    def check_point(self, x: Tensor) -> Check:
        """Whether all points of x lie in the product, and if not, why: the first factor at fault."""
        return self._checked(Stereographic.check_point, x)

    def check_vector(self, x: Tensor, v: Tensor) -> Check:
        """Whether all rows of v are tangent vectors at x, and if not, why: the first factor at fault."""
        return self._checked(Stereographic.check_vector, x, v)

    def random_uniform(self, *size: int, radius: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """Points uniform in the product of the factors' balls of geodesic ``radius``: (*size, D)."""
        return torch.cat([s.random_uniform(*size, radius=radius, generator=generator) for s in self._spaces()], -1)

    def random_wrapped_normal(
        self, mean: Tensor, *, std: Scalar = 1.0, generator: torch.Generator | None = None
    ) -> Tensor:
        """One wrapped normal sample about each point of ``mean``."""
        draw = self._each(lambda s, m: random.random_wrapped_normal(m, std=std, k=s.k, generator=generator), mean)
        return torch.cat(draw, -1)
