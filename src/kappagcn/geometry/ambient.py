r"""Tangent vectors at the origin and ambient coordinates: sphere, plane and hyperboloid in one.

A point x with v = log_0(x), r = 2|v| (its distance from the origin), lifts to

    E = (λ_x x, λ_x − 1) = (sin_κ(r) v/|v|, cos_κ(r)),    κ|E_1:D|² + E_D+1² = 1:

a sphere of radius 1/√κ (its last coordinate measured in radii), a plane at height 1, or one sheet of a hyperboloid.
Weighted sums of lifted points, projected back, are the gyromidpoints with which the κ-GCN aggregates. The lift of a
tangent vector has no ball, no boundary and no pole. The projection from the hyperboloid, ``lower(lift(v))``, loses
digits as ε·exp(4√−κ|v|): use float64 for |v| above 2/√−κ.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kappagcn.errors import GeometryError
from kappagcn.geometry import numerics, vectors
from kappagcn.geometry.checks import (
    Scalar,
    as_curvature,
    conformal_at,
    demand,
    demand_finite,
    read_sets,
    read_vectors,
    within_reach,
)
from kappagcn.geometry.numerics import (
    LARGEST_EXPONENT,
    ROUNDING,
    ROW_LEAST,
    arc,
    artanc,
    ball_gap,
    cosc,
    eps,
    far_norm,
    sinc,
    tiny,
)
from kappagcn.geometry.vectors import EXACT, dot

NO_DIRECTION = (
    "{name}: expected {what} that point into the space, found {{count}} of {{total}} rows with no direction there "
    "(for κ ≤ 0: last coordinate not above √−κ times the length of the rest; for κ > 0: zero); {remedy}"
)


def lift(v: Tensor, *, k: Scalar) -> Tensor:
    """Ambient coordinates of exp_0(v): (..., D) → (..., D+1). κ → 0: (2v, 1).

    >>> lift(torch.tensor([0.3, 0.0]), k=0.0)
    tensor([0.6000, 0.0000, 1.0000])
    """
    read_vectors(v=v)
    k = as_curvature(k, v)
    _, cut = within_reach(4 * dot(v, v), k, "v")
    return join(*lifted(cut * v, k))


def lifted(v: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """N and h of the lift of exp_0(v), without checks: (..., D) → (..., D), (..., 1)."""
    z = 4 * k * dot(v, v)
    return 2 * sinc(z) * v, cosc(z)


def to_ambient(x: Tensor, *, k: Scalar) -> Tensor:
    """Lift of a point, (λ_x x, λ_x − 1): the inverse stereographic projection, (..., D) → (..., D+1).

    >>> to_ambient(torch.tensor([[0.5, 0.0], [1.0, 0.0]]), k=1.0)
    tensor([[0.8000, 0.0000, 0.6000],
            [1.0000, 0.0000, 0.0000]])
    """
    read_vectors(x=x)
    factor = 2 / conformal_at(x, as_curvature(k, x))
    return join(factor * x, factor - 1)


def join(n: Tensor, h: Tensor) -> Tensor:
    """Ambient vectors from their parts N and h: (..., D), (..., 1) → (..., D+1)."""
    return torch.cat((n, h.expand(*n.shape[:-1], 1)), -1)


def lower(e: Tensor, *, k: Scalar, on_edge: str = "raise") -> Tensor:
    """Tangent vector at the origin of the point whose lift is along e: (..., D+1) → (..., D). κ → 0: N/2h.

    With e = (N, h) it is ½ρN/|N|, tan_κ(ρ) = |N|/h. For κ < 0 a vector that does not point into the space,
    h ≤ √−κ|N|, raises an error, or with ``on_edge="cap"`` counts as the farthest point in the direction of N that the
    dtype resolves, and has its derivatives; the antipode of the origin then counts as the origin.

    >>> lower(lift(torch.tensor([0.3, 0.4]), k=-1.0), k=-1.0)
    tensor([0.3000, 0.4000])
    >>> lower(torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64), k=-1.0, on_edge="cap")
    tensor([8.8376, 0.0000], dtype=torch.float64)
    """
    read_vectors(e=e)
    k = as_curvature(k, e)
    if on_edge not in ("raise", "cap"):
        raise GeometryError(f"on_edge: expected 'raise' or 'cap', found {on_edge!r}.")
    if on_edge == "cap":
        return e[..., :-1] * lowered(e[..., :-1], e[..., -1:], k, ball_gap(e))
    x = _from_ray(e, k)
    return artanc(k * dot(x, x)) * x


def lowered(n: Tensor, h: Tensor, k: Tensor, gap: float) -> Tensor:
    """½ρ/|N|, by which N is multiplied, without checks: (..., D), (..., 1) → (..., 1).

    For κ < 0 vectors with √−κ|N| ≥ (1 − gap) h are capped; 0 for vectors without a direction.
    """
    square = dot(n, n)
    bent = -k * square
    size = torch.where(bent > 0, bent, 1).sqrt()
    capped = (bent > 0) & (size >= (1 - gap) * h)
    nowhere = (h <= 0) & ((square == 0) | (k == 0))
    square, h = torch.where(capped, 0, square), torch.where(capped | nowhere, 1, h)
    factor = ray_factor(square, h, (h * h + k * square).clamp(min=ROW_LEAST).sqrt(), k)
    scale = torch.where(nowhere, 0, artanc(k * factor * factor * square) * factor)
    return torch.where(capped, 0.5 * math.atanh(1 - gap) / size, scale)


def from_ambient(e: Tensor, *, k: Scalar) -> Tensor:
    """Stereographic projection of e = (N, h) on the sphere, plane or hyperboloid: (..., D+1) → (..., D).

    x = N/(h + √(h² + κ|N|²)). Every positive multiple of e gives the same point, so e may be a
    weighted sum of lifts. For κ > 0, h < 0 is beyond the equator. For κ ≤ 0, e must point into the space, h > √−κ|N|;
    beyond the resolution of the dtype the point is kept just inside the ball.

    >>> from_ambient(torch.tensor([3.0, 0.0, 4.0]), k=1.0)  # any multiple of a lift
    tensor([0.3333, 0.0000])
    """
    read_vectors(e=e)
    k = as_curvature(k, e)
    return _from_ray(e, k)


def _from_ray(e: Tensor, k: Tensor) -> Tensor:
    message = NO_DIRECTION.format(name="e", what="ambient vectors", remedy="check the weights that summed them.")
    return project_ray(e, torch.zeros_like(e[..., :1]), k, GeometryError, message)


def project_ray(
    e: Tensor, mass: Tensor, k: Tensor, error: type[GeometryError], message: str, resultant: Tensor | None = None
) -> Tensor:
    """Point of the space along e = (N, h), a sum of lifts of total weight ``mass``, or an error where there is none.

    A resultant h² + κ|N|² within the rounding error of ``mass`` counts as 0; ``resultant`` is its value, if it is
    known more precisely.
    """
    # Only the direction counts: scaled, no square overflows.
    size = e.detach().abs().amax(-1, keepdim=True).clamp(min=tiny(e))
    e, mass = e / size, mass / size
    n, h = e[..., :-1], e[..., -1:]
    square = dot(n, n)
    resultant = h * h + k * square if resultant is None else resultant / size / size
    noise = ROUNDING * eps(e) * mass.abs()
    timelike = (h > noise) & (resultant > -(eps(e) ** 0.5) * h * h)
    defined = torch.where(k > 0, resultant > noise * noise, timelike)
    demand(defined, error, message)
    root = torch.where(defined, resultant, 1).clamp(min=(ball_gap(e) * h) ** 2).sqrt()
    at_antipode = (h < 0) & (k > 0) & (k * square < (eps(e) * h).square())
    first_axis = torch.arange(n.shape[-1], device=e.device) == 0
    factor = ray_factor(square, torch.where(at_antipode | ~defined, 1, h), root, k)
    return torch.where(defined, torch.where(at_antipode, far_norm(k) * first_axis, factor * n), torch.nan)


def ray_factor(square: Tensor, h: Tensor, root: Tensor, k: Tensor) -> Tensor:
    """1/(h + root) with root = √(h² + κ|N|²): the point along (N, h) is this times N. All (..., 1)."""
    # Beyond the equator h + root would cancel; κ|N|²/(root − h) is the same number.
    beyond = (h < 0) & (k > 0)
    behind = (root - h) / torch.where(beyond, k * square, 1)
    return torch.where(beyond, behind, 1 / torch.where(beyond, 1, h + root))


def tangent_dist(u: Tensor, v: Tensor, *, k: Scalar, keepdim: bool = False) -> Tensor:
    r"""d(exp_0(u), exp_0(v)) directly from the tangent vectors: (..., D), (..., D) → (...). κ → 0: 2|u−v|.

    The κ-haversine, with r = 2|·| and the hats for directions,

        sin_κ²(d/2) = sin_κ²((r_u − r_v)/2) + sin_κ(r_u) sin_κ(r_v) |û − v̂|²/4,

    evaluated in float64 for any dtype: far points in close directions need the digits. Accurate for points up
    to 345/√−κ from the origin, far beyond what points of the ball resolve; farther ones count as lying there.

    >>> float(tangent_dist(torch.tensor([20.0, 0.0]), torch.tensor([0.0, 20.0]), k=-1.0))  # far beyond what x resolves
    79.3068...
    """
    lead = read_vectors(u=u, v=v)
    dtype = u.dtype
    k = as_curvature(k, u, lead).double()
    u, a = within_range(u.double(), k, "u")
    v, b = within_range(v.double(), k, "v")
    # |u||v||û ∓ v̂|². Directions do not cancel for far points; the origin has none, but an equal expression.
    at_origin = (a == 0) | (b == 0)
    to_u, to_v = u / torch.where(a == 0, 1, a), v / torch.where(b == 0, 1, b)
    gap = dot(u - v, u - v)
    apart = torch.where(at_origin, gap - (a - b) ** 2, a * b * dot(to_u - to_v, to_u - to_v))
    facing = torch.where(at_origin, (a + b) ** 2 - gap, a * b * dot(to_u + to_v, to_u + to_v))
    length = _haversine(a, b, apart, facing, k).to(dtype)
    return length if keepdim else length.squeeze(-1)


@torch.no_grad()
def tangent_cdist(u: Tensor, v: Tensor, *, k: Scalar) -> Tensor:
    """All distances of exp_0(u) and exp_0(v) in float64, without gradients: (N, D), (M, D) → (N, M)."""
    k = as_curvature(k, u, read_sets(u=u, v=v), trailing=2).double()
    (u, a), (v, b) = within_range(u.double(), k, "u"), within_range(v.double(), k, "v")
    to_u, to_v, product = vectors.unit(u), vectors.unit(v), a * b.mT
    apart, facing = (product * torch.cdist(to_u, t, compute_mode=EXACT) ** 2 for t in (to_v, -to_v))
    return _haversine(a, b.mT, apart, facing, k)


def _haversine(a: Tensor, b: Tensor, apart: Tensor, facing: Tensor, k: Tensor) -> Tensor:
    """Distances from a = |u|, b = |v|, |u||v||û − v̂|² and |u||v||û + v̂|²."""
    slopes = sinc(4 * k * a * a) * sinc(4 * k * b * b)
    square = numerics.sin_k(a - b, k=k) ** 2 + slopes * apart
    at_zero = square <= 0
    sine = torch.where(at_zero, 0, torch.where(at_zero, 1, square).sqrt())
    spherical = numerics.cos_k(a + b, k=k) ** 2 + k * slopes * facing
    cosine = torch.where(k > 0, spherical, 1 - k.clamp(max=0) * square).clamp(min=tiny(square)).sqrt()
    return 2 * arc(sine, cosine, k)


def within_range(v: Tensor, k: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Vectors of the same points whose sines neither overflow nor are negative, and their lengths.

    For κ < 0 vectors are cut where the product of two hyperbolic sines would overflow; for κ > 0 full turns round the
    sphere are subtracted, so that no sine is negative.
    """
    length = vectors.norm(v)
    demand_finite(length, name)
    limit = LARGEST_EXPONENT[v.dtype] / 4 / numerics.positive_root(-k)
    beyond = (k < 0) & (length > limit)
    turn = math.pi / numerics.positive_root(k)
    turns = torch.where(k > 0, (length / turn).round(), 0).detach()
    unwound = 1 - turns * turn / torch.where(length == 0, 1, length)
    scale = torch.where(beyond, limit / torch.where(beyond, length, 1), unwound)
    return scale * v, scale.abs() * length
