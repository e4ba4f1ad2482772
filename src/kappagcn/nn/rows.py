r"""Lift, arsin and lower of many rows under one κ, for the inner loop of a network.

The functions of :mod:`kappagcn.geometry.ambient`, with all numbers per row in float64 and, in place of errors, rows
that are capped: for κ < 0 a row that does not point into the space, √−κ|n| ≥ h up to rounding, counts as the farthest
point that its dtype resolves, at distance artanh(1 − 4ε)/√−κ in the direction of n, and its derivatives are those of
that point. So no row is ever infinite or NaN. ``edge_rows`` counts such rows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import cast

import torch
from torch import Tensor

from kappagcn.geometry.ambient import join, lifted, ray_factor
from kappagcn.geometry.numerics import (
    ROW_EXPONENT,
    ROW_FAR,
    ROW_FAR_TANGENT,
    ROW_LEAST,
    arsin_k,
    artanc,
    ball_gap,
    positive_root,
)
from kappagcn.geometry.vectors import dot, norm
from kappagcn.kernels.dispatch import compiled


def within(v: Tensor, k: Tensor, limit: float) -> Tensor:
    """Tangent vectors at the origin whose points for κ < 0 are at most limit/√−κ from it, others cut to that."""
    radius = 2 * positive_root(-k) * norm(v)
    return torch.where((k < 0) & (radius > limit), limit / radius.clamp(min=limit), 1) * v


def lift_rows(v: Tensor, k: Tensor, limit: float | None = None) -> Tensor:
    """Ambient coordinates of exp_0(v), (N, D) → (N, D+1), for one κ; as :func:`kappagcn.geometry.lift`.

    Rows beyond √−κ·r = limit count as lying there; by default so that squares of lifts fit the dtype.
    """
    limit = ROW_EXPONENT[v.dtype] if limit is None else limit
    kernels = compiled("rows", v, k)
    if kernels is not None:
        return cast(Tensor, kernels.lift_rows(v, k, limit, partial(_lift, limit=limit)))
    return _lift(v, k, limit)


def _lift(v: Tensor, k: Tensor, limit: float) -> Tensor:
    kappa = k.double()
    n, h = lifted(within(v.double(), kappa, limit), kappa)
    if v.dtype != torch.float64:
        # The height of the point as rounded: far out, lowering needs them to agree.
        rounded = n.to(v.dtype).detach().double()
        exact = (1 - kappa.clamp(max=0) * dot(rounded, rounded)).sqrt()
        h = h + torch.where((kappa < 0) & (h > ROW_FAR), exact - h, 0).detach()
    return join(n, h).to(v.dtype)


def arsin_rows(sines: Tensor, k: Tensor) -> Tensor:
    """arsin_κ of signed sines for one κ, (N, C) → (N, C); for κ > 0 a sine beyond ±1/√κ counts as that."""
    kernels = compiled("rows", sines, k)
    if kernels is not None:
        return cast(Tensor, kernels.arsin_rows(sines, k, _arsin))
    return _arsin(sines, k)


def _arsin(sines: Tensor, k: Tensor) -> Tensor:
    return arsin_k(sines.double(), k=k.double()).to(sines.dtype)


def lower_rows(e: Tensor, k: Tensor, weight: Tensor) -> Tensor:
    """weight · lower(e), (N, D+1), (N,) → (N, D), for one κ; as :func:`kappagcn.geometry.lower` but never undefined."""
    kernels = None if weight.requires_grad else compiled("rows", e, k, weight)
    if kernels is not None:
        return cast(Tensor, kernels.lower_rows(e, k, weight, _lower))
    return _lower(e, k, weight)


def _lower(e: Tensor, k: Tensor, weight: Tensor) -> Tensor:
    kappa, weight = k.double(), weight.double().unsqueeze(-1)
    n, square, h = _parts(e, weight)
    capped, size = _capped(square, h, kappa, e)
    # A sum of weight 0 and the origin's antipode have no direction.
    nowhere, flat = (square == 0) & (h <= 0), kappa == 0
    square, h = torch.where(capped, 0, square), torch.where(capped | nowhere | (flat & (h <= 0)), 1, h)
    factor = ray_factor(square, h, (h * h + kappa * square).clamp(min=ROW_LEAST).sqrt(), kappa)
    inner = torch.where(nowhere, 0, artanc(kappa * factor * factor * square) * factor)
    scale = weight.abs() * torch.where(capped, 0.5 * math.atanh(1 - ball_gap(e)) / size, inner)
    scale = torch.where(flat, scale + (0.5 - scale).detach(), scale)  # at κ = 0 the height is the weight, and may be 0
    return n * scale.to(e.dtype)


def _parts(e: Tensor, weight: Tensor | float) -> tuple[Tensor, Tensor, Tensor]:
    """Parts of rows (n, h): n, and |n|² and h in float64. A row of negative weight is that of the opposite weights."""
    n, h = e.split([e.shape[-1] - 1, 1], -1)
    wide, h = n.double(), h.double()
    return n, dot(wide, wide), torch.where(torch.as_tensor(weight) < 0, -h, h)


def _capped(square: Tensor, h: Tensor, kappa: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
    """Whether rows point out of the space (κ < 0) as far as e's dtype resolves it, and √−κ|n|, 1 where that is 0."""
    bent = -kappa * square
    size = torch.where(bent > 0, bent, 1).sqrt()
    return (bent > 0) & (size >= (1 - ball_gap(e)) * h), size


@torch.no_grad()
def any_far(lifted: Tensor, e: Tensor, k: Tensor, weight: Tensor) -> bool:
    """Whether some row of e, a sum of lifted rows, lies so far out (κ < 0) that its rounding errors count.

    True if the dtype cannot represent a lift, or if a sum points out of the space.
    """
    if float(k) >= 0 or not len(lifted):
        return False
    n, h = e[..., :-1], torch.where(weight < 0, -1, 1) * e[..., -1]
    square = torch.linalg.vecdot(n, n)
    near = (-float(k) * square < ROW_FAR_TANGENT * h.clamp(min=0).square()) | (square == 0)  # false on overflow
    beyond = math.acosh(max(1.0, float(lifted[:, -1].max()))) > (1 - ball_gap(e)) * ROW_EXPONENT[e.dtype]
    return beyond or not bool(near.all())


@torch.no_grad()
def edge_rows(e: Tensor, k: Tensor) -> int:
    """Number of rows at or beyond the edge of what the dtype resolves for κ < 0, which count as just inside."""
    _, square, h = _parts(e, 1.0)
    capped, _ = _capped(square, h, k.double(), e)
    return int(capped.sum())
