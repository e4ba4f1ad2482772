r"""Lift and lower of many rows under one κ, each with a backward of its own.

The same maths as :mod:`kappagcn.geometry.ambient`, for the inner loop of a network: few passes over the (N, D) rows,
all numbers per row in float64, first derivatives only. With q = |v|², z = 4κq,

.. math:: \mathrm{lift}(v) = (2\,\mathrm{sinc}(z)\,v,\ \mathrm{cosc}(z)),\qquad
          \mathrm{lower}(n, h) = \tfrac12 u\,n,\quad u = \rho/|n|,\quad \tan_\kappa\rho = |n|/h,

and with Q = h² + κ|n|², G = (h/Q − u)/(2κ|n|²) (a power series where κ|n|²/h² is small)

.. math:: \partial u = 2\kappa G\, n\cdot\partial n - \partial h/Q + |n|^2 G\,\partial\kappa .

For κ < 0 a row that does not point into the space, √−κ|n| ≥ h up to rounding, is capped: it counts as the farthest
point that its dtype resolves, at distance artanh(1 − 4ε)/√−κ in the direction of n, and its derivatives are those of
that point. So no row is ever infinite or NaN. ``edge_rows`` counts such rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kappagcn.errors import GeometryError
from kappagcn.geometry.numerics import ROW_EXPONENT, ball_gap, positive_root, row_series
from kappagcn.geometry.numerics import ROW_FAR as FAR
from kappagcn.geometry.numerics import ROW_FAR_TANGENT as FAR_TANGENT
from kappagcn.geometry.numerics import ROW_LEAST as LEAST
from kappagcn.geometry.numerics import ROW_LEAST_COSINE as LEAST_COSINE
from kappagcn.geometry.vectors import norm

__all__ = [
    "any_far",
    "arsin_rows",
    "edge_rows",
    "first_order",
    "lift_rows",
    "lower_rows",
    "within",
]

Kappa = float | Tensor


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward without a derivative of its own, which says so where one is asked for; autocast does not lower it."""
    once = once_differentiable(backward)

    @wraps(backward)
    def checked(ctx: Any, *grads: Tensor) -> Any:
        # torch itself objects only where the incoming gradient has a history.
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise GeometryError(
                "expected first derivatives alone of this layer, found create_graph=True; the functions of "
                "kappagcn.geometry have second ones."
            )
        if torch.is_autocast_enabled(grads[0].device.type):
            with torch.autocast(grads[0].device.type, enabled=False):
                return once(ctx, *grads)
        return once(ctx, *grads)

    return checked


def _kappa(k: Tensor) -> Kappa:
    """κ as a number where reading it is free; a tensor where a compiler or another device would have to wait for it."""
    k = k.detach()
    return k.double() if torch.compiler.is_compiling() or k.device.type != "cpu" else float(k)


def _squares(v: Tensor) -> Tensor:
    """|v|² in float64."""
    wide = v.double()
    squares: Tensor = torch.linalg.vecdot(wide, wide)
    return squares


def _by_sign(kappa: Kappa, positive: Callable[[], Tensor], other: Callable[[], Tensor]) -> Tensor:
    """What holds for κ > 0, or what holds for κ ≤ 0."""
    if isinstance(kappa, Tensor):
        return torch.where(kappa > 0, positive(), other())
    return positive() if kappa > 0 else other()


class _Lift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, k: Tensor) -> Tensor:
        kappa, limit = _kappa(k), ROW_EXPONENT[v.dtype]
        q = _squares(v)
        s = (q * (4 * kappa)).abs().sqrt().clamp(min=LEAST)
        sinc = _by_sign(kappa, lambda: s.sin() / s, lambda: s.clamp(max=limit).sinh() / s)
        cosc = _by_sign(kappa, s.cos, lambda: s.clamp(max=limit).cosh())
        twice = (2 * sinc).to(v.dtype).unsqueeze(-1)
        ctx.save_for_backward(v, k, q, sinc, cosc, twice)
        height = cosc
        if v.dtype != torch.float64:
            # The height of the point that the rounded factor leads to: far out, lowering needs them to agree.
            rounded = (1 - kappa * twice.squeeze(-1).double().square() * q).clamp(min=0).sqrt()
            height = _by_sign(kappa, lambda: cosc, lambda: torch.where(cosc > FAR, rounded, cosc))
        return torch.cat((v * twice, height.to(v.dtype).unsqueeze(-1)), dim=-1)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        v, k, q, sinc, cosc, twice = ctx.saved_tensors
        kappa = _kappa(k)
        gn, gh = grad[..., :-1], grad[..., -1]
        z = q * (4 * kappa)
        slope = row_series("sinc", z, (cosc - sinc) / (2 * z))
        t = 2 * slope * torch.linalg.vecdot(gn, v) - 0.5 * sinc * gh
        by_v = by_k = None
        if ctx.needs_input_grad[0]:
            by_v = torch.addcmul(gn * twice, v, (t * (8 * kappa)).to(v.dtype).unsqueeze(-1))
        if ctx.needs_input_grad[1]:
            by_k = (4 * torch.dot(t, q)).to(k.dtype)
        return by_v, by_k


def _capped(size: Tensor, h: Tensor, e: Tensor) -> Tensor:
    """Whether rows of height h and √−κ|n| = size, κ ≤ 0, point out of the space as far as e's dtype resolves it."""
    return size >= (1 - ball_gap(e)) * h


class _Lower(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, e: Tensor, k: Tensor, weight: Tensor) -> Tensor:
        kappa = _kappa(k)
        n, h = e[..., :-1], e[..., -1].double()
        # A row of negative weight is that of the opposite weights, turned back by the weight itself.
        h = torch.where(weight < 0, -h, h)
        p = _squares(n)
        size = (p * kappa).abs().sqrt()
        divisor = size.clamp(min=LEAST)
        edge = 1 - ball_gap(e)

        def spherical() -> Tensor:
            u = torch.atan2(divisor, h) / divisor
            return torch.where((size == 0) & (h <= 0), 0, u)  # no weight at all, or the origin's antipode: no direction

        def hyperbolic() -> Tensor:
            ahead = h.clamp(min=LEAST)
            t = (size / ahead).clamp(min=LEAST, max=edge)
            farthest = torch.where(size == 0, 0, math.atanh(edge) / divisor)
            return torch.where(_capped(size, h, e), farthest, t.atanh() / (t * ahead))

        u = _by_sign(kappa, spherical, hyperbolic)
        whole = weight.abs() * u
        flat = kappa == 0  # there the weight is the height, and may be 0
        whole = torch.where(flat, 1, whole) if isinstance(flat, Tensor) else (torch.ones_like(u) if flat else whole)
        scale = (0.5 * whole).to(e.dtype).unsqueeze(-1)
        ctx.save_for_backward(e, k, p, h, u, weight, scale)
        return n * scale

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        e, k, p, h, u, weight, scale = ctx.saved_tensors
        kappa, n = _kappa(k), e[..., :-1]
        along = 0.5 * torch.linalg.vecdot(grad, n).double()
        sign = torch.where(weight < 0, -1.0, 1.0).double()
        pull = weight.abs() * along
        bent, ahead = p * kappa, h.clamp(min=LEAST)
        capped = (bent <= 0) & _capped((-bent).clamp(min=0).sqrt(), h, e)
        inverse = torch.where(capped, 0, 1 / (h * h + bent).clamp(min=LEAST))
        near = row_series("artanc", bent / (ahead * ahead), torch.nan) / (ahead * ahead * ahead)
        closed, change = near.isnan() | capped, h * inverse - u
        by_e = by_k = by_weight = None
        if ctx.needs_input_grad[0]:
            # Far out G itself would underflow.
            turn = torch.where(closed, change * (pull / torch.where(p == 0, 1, p)), 2 * kappa * near * pull)
            by_n = torch.addcmul(grad * scale, n, turn.to(e.dtype).unsqueeze(-1))
            by_e = torch.cat((by_n, (-sign * pull * inverse).to(e.dtype).unsqueeze(-1)), dim=-1)
        if ctx.needs_input_grad[1]:
            by_k = torch.where(closed, 0.5 * p * change * (pull / torch.where(bent == 0, 1, bent)), pull * near * p)
            by_k = by_k.sum().to(k.dtype)
        if ctx.needs_input_grad[2]:
            by_weight = (sign * u * along).to(weight.dtype)
        return by_e, by_k, by_weight


class _Arsin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sine: Tensor, k: Tensor) -> Tensor:
        kappa, s = _kappa(k), sine.double()
        root = k.detach().double().abs().sqrt().clamp(min=LEAST)
        t = s * root
        length = _by_sign(kappa, lambda: t.clamp(-1, 1).asin() / root, lambda: t.asinh() / root)
        ctx.save_for_backward(sine, k, length)
        return length.to(sine.dtype)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        sine, k, length = ctx.saved_tensors
        kappa, s = _kappa(k), sine.double()
        z = s * s * kappa
        slope = (1 - z).clamp(min=LEAST_COSINE**2).rsqrt()
        by_sine = by_k = None
        if ctx.needs_input_grad[0]:
            by_sine = (grad * slope).to(sine.dtype)
        if ctx.needs_input_grad[1]:
            closed = (s * slope - length) / torch.where(z == 0, 1, 2 * z) * s * s
            near = row_series("arsinc", z, torch.nan) * s * s * s
            by_k = (grad * torch.where(near.isnan(), closed, near)).sum().to(k.dtype)
        return by_sine, by_k


def within(v: Tensor, k: Tensor, limit: float) -> Tensor:
    """Tangent vectors at the origin whose points for κ < 0 are at most limit/√−κ from it, others cut to that."""
    radius = 2 * positive_root(-k) * norm(v)
    return torch.where((k < 0) & (radius > limit), limit / radius.clamp(min=limit), 1) * v


def arsin_rows(sine: Tensor, k: Tensor) -> Tensor:
    """arsin_κ of signed sines for one κ, entry by entry; for κ > 0 a sine beyond ±1/√κ counts as that."""
    length: Tensor = _Arsin.apply(sine, k)
    return length


def lift_rows(v: Tensor, k: Tensor) -> Tensor:
    """Ambient coordinates of exp_0(v), (N, D) → (N, D+1), for one κ; as :func:`kappagcn.geometry.lift`."""
    lifted: Tensor = _Lift.apply(v, k)
    return lifted


def lower_rows(e: Tensor, k: Tensor, weight: Tensor) -> Tensor:
    """weight · lower(e), (N, D+1), (N,) → (N, D), for one κ; as :func:`kappagcn.geometry.lower` but never undefined."""
    lowered: Tensor = _Lower.apply(e, k, weight)
    return lowered


def any_far(lifted: Tensor, e: Tensor, k: Tensor, weight: Tensor) -> bool:
    """Whether some row of e, a sum of lifted rows, lies so far out (κ < 0) that its rounding errors count.

    So it is where the dtype does not hold a lift, and where a sum points out of the space.
    """
    kappa = float(k.detach())
    if kappa >= 0 or not len(lifted):
        return False
    with torch.no_grad():
        n, h = e[..., :-1], torch.where(weight < 0, -1, 1) * e[..., -1]
        square = torch.linalg.vecdot(n, n)
        near = (-kappa * square < FAR_TANGENT * h.clamp(min=0).square()) | (square == 0)  # not so if they overflow
        beyond = math.acosh(max(1.0, float(lifted[:, -1].max()))) > (1 - ball_gap(e)) * ROW_EXPONENT[e.dtype]
        return beyond or not bool(near.all())


def edge_rows(e: Tensor, k: Tensor) -> Tensor:
    """Number of rows at or beyond the edge of what the dtype resolves for κ < 0, which count as just inside."""
    size = (-k.detach().double()).clamp(min=0).sqrt() * _squares(e[..., :-1].detach()).sqrt()
    beyond: Tensor = (size > 0) & _capped(size, e[..., -1].detach().double(), e)
    return beyond.sum()
