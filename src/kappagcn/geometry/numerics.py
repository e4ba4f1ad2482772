"""Every epsilon, clamp and power series of the geometry, in one place and per dtype.

The κ-trigonometric functions are analytic in the signed number z = κr²: tan_κ(r)/r, sin_κ(r)/r,
cos_κ(r) and the inverses are one function of z each, trigonometric for z > 0 and hyperbolic for z < 0.

======== ============== ================ =====================================
name     z > 0          z < 0            derivative
======== ============== ================ =====================================
tanc     tan(√z)/√z     tanh(√-z)/√-z    (1 + z·tanc² − tanc) / 2z
artanc   arctan(√z)/√z  artanh(√-z)/√-z  (1/(1+z) − artanc) / 2z
sinc     sin(√z)/√z     sinh(√-z)/√-z    (cosc − sinc) / 2z
cosc     cos(√z)        cosh(√-z)        −sinc / 2
arsinc   arcsin(√z)/√z  arsinh(√-z)/√-z  ((1−z)^(-1/2) − arsinc) / 2z
======== ============== ================ =====================================

The closed forms of the values hold everywhere, those of the derivatives lose digits like ε/|z|: below
``SERIES_BELOW[dtype]`` the derivative is its power series in signed z. That is what keeps ∂/∂κ right
through κ = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

# Truncation of a derivative is about SERIES_BELOW**(SERIES_TERMS − 1), round-off of its closed form ε/SERIES_BELOW.
SERIES_BELOW = {torch.float32: 0.2, torch.float64: 0.01}
SERIES_TERMS = 10
# The same for numbers per row, which are always float64: two terms are enough.
ROW_SERIES_BELOW = 1e-5
# √−κ·r beyond which lifted rows, whose squares are summed in their own dtype, would overflow.
ROW_EXPONENT = {torch.float32: 40.0, torch.float64: 340.0}
ROW_NEAR = 4.0  # √−κ·r of points whose midpoints, which lie no farther out, float64 certainly resolves
# |z| below which this many terms of a function's series are exact to float64's rounding.
ROW_VALUE_SERIES_BELOW = {"sinc": 0.25, "artanc": 0.03, "arsinc": 0.03}
ROW_VALUE_TERMS = {"sinc": 7, "cosc": 8, "artanc": 10, "arsinc": 10}
ROW_TRANSLATED = 150.0  # √−κ·r whose exponential, times another's and squared, fits float64
ROW_RESOLVED = 30.0  # √−κ·r up to which float64 distinguishes lifted points
ROW_FAR = 2.0  # cosh of a radius beyond which rounding errors grow
ROW_FAR_TANGENT = 0.95  # tanh² of a radius beyond which a sum's own rounding errors count
# Smallest cosine of a distance to a hyperplane, or of half a distance to a point: at a quarter turn there is no slope.
ROW_LEAST_COSINE = 1e-7
ROW_LEAST_LAMBDA = 1e-6  # smallest λ of a hyperplane's point: at the antipode of the origin logits vanish
ROW_LEAST = 1e-30  # smallest divisor in float64
# sinh of more, divided by √−κ down to 1e-6, would overflow.
LARGEST_EXPONENT = {torch.float32: 75.0, torch.float64: 690.0}
# Norms whose squares, times another number of interest, are finite.
LARGEST_NORM = {torch.float32: 1e18, torch.float64: 1e150}
# κ·sin_κ²(θ) above which θ comes from the arc tangent of sine and cosine instead of the arc sine of the sine.
ARC_SINE_BELOW = 0.5
# Brings vectors whose squares underflow back to where they do not.
MAGNIFIER = {torch.float32: 2.0**80, torch.float64: 2.0**600}
# Norms of less than this, magnified, are taken from the magnified vector.
MAGNIFIED_BELOW = 1e6
# Gradients of pairs nearer than this share of their norm are reduced in proportion, to 0 where they coincide: larger
# weights would lose the others of their row in the matrix product that sums float32 gradients.
COINCIDENT = {torch.float32: 1e-8, torch.float64: 0.0}
ROUNDING = 4  # results of a handful of operations are trusted to this many ε


def eps(x: Tensor) -> float:
    """Distance from 1 to the next number of ``x``'s dtype."""
    return torch.finfo(x.dtype).eps


def tiny(x: Tensor) -> float:
    """Smallest normal number of ``x``'s dtype."""
    return torch.finfo(x.dtype).tiny


def ball_gap(x: Tensor) -> float:
    """Smallest 1 − √(−κ)|x| that is distinguished from the boundary."""
    return ROUNDING * eps(x)


def ball_slack(x: Tensor) -> float:
    """Largest rounding error of 1 + κ|x|² below 0 for a point that is not outside the ball."""
    return 8 * ball_gap(x)


def far_norm(k: Tensor) -> Tensor:
    """Norm that stands for infinity, the antipode of the origin, for κ > 0: 1/(ε√κ), or less if its square overflows.

    It is a constant without gradient: infinity does not depend on κ.
    """
    return (1 / (eps(k) * positive_root(k.detach()))).clamp(max=LARGEST_NORM[k.dtype])


def positive_root(k: Tensor) -> Tensor:
    """√κ where κ > 0, and 1 (with no gradient) elsewhere.

    A subnormal κ counts as the smallest normal number: the derivative of 1/√κ would overflow.
    """
    return torch.where(k > 0, k.clamp(min=tiny(k)), 1).sqrt()


def is_onnx_export() -> bool:
    """Whether torch is exporting to ONNX."""
    return torch.compiler.is_exporting() and torch.onnx.is_in_onnx_export()


def in_onnx_single(function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """Value of a function, in float32 during an export to ONNX, whose runtimes have it in no other dtype."""
    if is_onnx_export():
        return function(*(a.float() for a in arguments)).to(arguments[0].dtype)
    return function(*arguments)


def _size(z: Tensor) -> Tensor:
    return z.abs().clamp(min=tiny(z)).sqrt()


def _tanc(z: Tensor) -> Tensor:
    s = _size(z)
    return torch.where(z < 0, s.tanh().clamp(max=1 - ball_gap(z)), s.tan()) / s


def _artanc(z: Tensor) -> Tensor:
    s = _size(z)
    return torch.where(z < 0, s.clamp(max=1 - ball_gap(z)).atanh(), s.atan()) / s


def _sinc(z: Tensor) -> Tensor:
    s = _size(z)
    return torch.where(z < 0, s.clamp(max=LARGEST_EXPONENT[z.dtype]).sinh(), s.sin()) / s


def _cosc(z: Tensor) -> Tensor:
    s = _size(z)
    return torch.where(z < 0, s.clamp(max=LARGEST_EXPONENT[z.dtype]).cosh(), s.cos())


def _asinh(t: Tensor, square: Tensor) -> Tensor:
    """Arsinh of t ≥ 0 from t and t²; torch.asinh is not vectorised on the CPU and twenty times slower."""
    return torch.log1p(t + square / (1 + (1 + square).sqrt()))


def _arsinc(z: Tensor) -> Tensor:
    s = _size(z)
    return torch.where(z < 0, _asinh(s, z.abs()), s.clamp(max=1).asin()) / s


VALUES: dict[str, Callable[[Tensor], Tensor]] = {
    "tanc": _tanc,
    "artanc": _artanc,
    "sinc": _sinc,
    "cosc": _cosc,
    "arsinc": _arsinc,
}

# f' = (g(z, f) − f) / 2z for each f but cosc.
NUMERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanc": lambda z, f: 1 + z * f * f,
    "artanc": lambda z, f: 1 / (1 + z).clamp(min=2 * ball_gap(z)),
    "sinc": lambda z, f: _analytic("cosc", z),
    "arsinc": lambda z, f: (1 - z).clamp(min=eps(z)).rsqrt(),
}


def _tangent_numbers(count: int) -> list[float]:
    """Coefficients of tanc, by comparing powers of z in 2z·t' + t = 1 + z·t²."""
    t = [1.0]
    for n in range(1, count):
        t.append(sum(t[i] * t[n - 1 - i] for i in range(n)) / (2 * n + 1))
    return t


SERIES: dict[str, list[float]] = {
    "tanc": _tangent_numbers(SERIES_TERMS),
    "artanc": [(-1) ** n / (2 * n + 1) for n in range(SERIES_TERMS)],
    "sinc": [(-1) ** n / math.factorial(2 * n + 1) for n in range(SERIES_TERMS)],
    "cosc": [(-1) ** n / math.factorial(2 * n) for n in range(SERIES_TERMS)],
    "arsinc": [math.comb(2 * n, n) / (4**n * (2 * n + 1)) for n in range(SERIES_TERMS)],
    "arsinc²": [2 * 4**n / ((n + 1) ** 2 * math.comb(2 * n + 2, n + 1)) for n in range(SERIES_TERMS)],
}


def _horner(coefficients: list[float], z: Tensor) -> Tensor:
    *lower, top = coefficients
    total = lower[-1] + top * z
    for c in reversed(lower[:-1]):
        total = total * z + c
    return total


def derivative_series(name: str) -> list[float]:
    """Power series of the derivative of a function of the table."""
    return [n * c for n, c in enumerate(SERIES[name])][1:]


def _derivative(name: str, z: Tensor, f: Tensor) -> Tensor:
    if name == "cosc":
        return -0.5 * sinc(z)
    near_zero = z.abs() < SERIES_BELOW[z.dtype]
    series = _horner(derivative_series(name), torch.where(near_zero, z, 0))
    safe = torch.where(near_zero, 1, z)
    return torch.where(near_zero, series, (NUMERATORS[name](safe, f) - f) / (2 * safe))


class _Analytic(torch.autograd.Function):
    """A function of the table above. Its backward is differentiable, so higher derivatives work too."""

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor, name: str) -> Tensor:
        return in_onnx_single(VALUES[name], z)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, str], output: Tensor) -> None:
        z, ctx.name = inputs
        ctx.save_for_backward(z, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        z, f = ctx.saved_tensors
        return grad * _derivative(ctx.name, z, f), None


def _analytic(name: str, z: Tensor) -> Tensor:
    value: Tensor = _Analytic.apply(z, name)
    return value


tanc = partial(_analytic, "tanc")  # for z < 0 capped so that √(−κ)|x| stays below 1
artanc = partial(_analytic, "artanc")  # for z > −1
sinc = partial(_analytic, "sinc")
cosc = partial(_analytic, "cosc")
arsinc = partial(_analytic, "arsinc")  # for z ≤ 1


def cosine_square(z: Tensor, exact: Tensor) -> Tensor:
    """cos_κ²(θ) = 1 − z from z = κ·sin_κ²(θ), with the value of ``exact`` where 1 − z would cancel.

    Derivatives are those of 1 − z everywhere.
    """
    return torch.where(z >= ARC_SINE_BELOW, exact.detach() - (z - z.detach()), 1 - z).clamp(min=tiny(z))


def arc_over_sine(z: Tensor, cosine: Tensor) -> Tensor:
    """θ / sin_κ(θ) from z = κ·sin_κ²(θ) and cos_κ(θ), right up to θ = π/√κ.

    If z is below a half, the cosine is not used and may be any finite value.
    """
    near = z < ARC_SINE_BELOW
    scaled = torch.where(near, 1, z).sqrt()
    far = in_onnx_single(torch.atan2, scaled, torch.where(near, 1, cosine)) / scaled
    return torch.where(near, arsinc(torch.where(near, z, 0)), far)


def arc_value(sine: Tensor, cosine: Tensor, k: Tensor) -> Tensor:
    """θ from sin_κ(θ) ≥ 0 and cos_κ(θ). Branches are combined by products, ten times faster than `where`."""
    flat = k == 0
    s = torch.where(flat, 1, k.abs()).sqrt()
    t = s * sine
    curved = torch.lerp(_asinh(t, t * t), torch.atan2(t, cosine), (k > 0).to(t.dtype)) / s
    return torch.lerp(curved, sine, flat.to(t.dtype))


def arc_gradients(grad: Tensor, sine: Tensor, cosine: Tensor, k: Tensor, arc: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of θ = arsin_κ(sine) by the sine and, entry by entry, by κ; cosines below ε count as ε."""
    slope = 1 / cosine.clamp(min=eps(sine))
    z = k * sine * sine
    border = SERIES_BELOW[z.dtype]
    near_zero = (z.abs() < border).to(z.dtype)
    small = near_zero * sine  # the cube of a large sine may overflow
    series = small * small * small * _horner(derivative_series("arsinc"), z.clamp(-border, border))
    closed = (sine * slope - arc) / (2 * torch.where(k == 0, 1, k))
    return grad * slope, grad * torch.lerp(closed, series, near_zero)


class _Arc(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(sine: Tensor, cosine: Tensor, k: Tensor) -> Tensor:
        return arc_value(sine, cosine, k)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, Tensor]:
        sine, cosine, k, arc = ctx.saved_tensors
        by_sine, by_k = arc_gradients(grad, sine, cosine, k, arc)
        return by_sine, None, by_k.sum_to_size(k.shape)


def arc(sine: Tensor, cosine: Tensor, k: Tensor) -> Tensor:
    """θ = arsin_κ(sine), sine ≥ 0, right up to θ = π/√κ.

    ``cosine`` is cos_κ(θ), known more precisely than √(1 − κ·sine²). Only its value is used: derivatives are those of
    the arc sine.
    """
    angle: Tensor = _Arc.apply(sine, cosine, k)
    return angle


def sin_k(r: Tensor, *, k: Tensor) -> Tensor:
    """sin_κ: sin(√κ r)/√κ, r, sinh(√−κ r)/√−κ for κ > 0, = 0, < 0."""
    return r * sinc(k * r * r)


def cos_k(r: Tensor, *, k: Tensor) -> Tensor:
    """cos_κ: cos(√κ r), 1, cosh(√−κ r) for κ > 0, = 0, < 0."""
    return cosc(k * r * r)


def arsin_over(r: Tensor, k: Tensor) -> Tensor:
    """arsin_κ(r)/r; for κ > 0 an r beyond 1/√κ counts as 1/√κ."""
    z = k * r * r
    return arc_over_sine(z, (1 - z).clamp(min=eps(r) ** 2).sqrt())


def arsin_k(r: Tensor, *, k: Tensor) -> Tensor:
    """Inverse of :func:`sin_k`; for κ > 0 an r beyond 1/√κ counts as 1/√κ."""
    return r * arsin_over(r, k)
