r"""Gyrovector operations beyond ⊕ and ⊗: coaddition, pointwise products, functions applied at the origin.

Coaddition is the commutative companion of κ-addition. With p_x = 1 + κ|x|² and σ = x + y,

    x ⊞ y = x ⊕ gyr[x, −y]y = (p_y x + p_x y) / (1 − κ²|x|²|y|²) = (p_y σ + κ⟨x − y, σ⟩ y) / (1 − κ²|x|²|y|²),

the last of which loses no digits if y is near −x.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kappagcn.geometry import vectors
from kappagcn.geometry.checks import Scalar, as_curvature, conformal_at, read_vectors
from kappagcn.geometry.numerics import ROUNDING, eps, positive_root
from kappagcn.geometry.stereographic import expmap0, logmap0, project
from kappagcn.geometry.vectors import combine, dot


def coadd(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """κ-coaddition x ⊞ y = 2 ⊗ midpoint(x, y). κ → 0: x + y.

    Laws: x ⊞ y = y ⊞ x, x ⊞ 0 = x, x ⊞ x = 2 ⊗ x, and right cancellation, (x ⊞ y) ⊕ (−y) = x.

    For κ > 0 and |x||y| = 1/κ the result is the antipode of the origin, returned as a point of norm 1/(ε√κ). Two
    antipodes have no midpoint; they give (x + y)/2, which satisfies the laws.

    >>> coadd(torch.tensor([0.5, 0.0]), torch.tensor([0.0, 0.5]), k=-1.0)
    tensor([0.4000, 0.4000])
    """
    k = as_curvature(k, x, read_vectors(x=x, y=y))
    x, y = torch.broadcast_tensors(x, y)
    p_x, p_y = conformal_at(x, k), conformal_at(y, k, "y")
    total = x + y
    change = k * dot(x - y, total) / p_x  # (p_x − p_y)/p_x
    # Numerator and denominator over p_x p_y: half the sum of the lifts of x and y, which does not overflow.
    n = combine(1 / p_x, total, change / p_y, y)
    a, b = k * dot(x, x), k * dot(y, y)
    # Two equal forms. Near the boundary the first has the numerator's rounding error, which cancels in the quotient.
    h = torch.where(k < 0, (1 - b) / p_x - b * change / p_y, (1 - a * b) / (p_x * p_y))
    size = positive_root(k) * vectors.norm(n)
    at_infinity = (k > 0) & (h.abs() < eps(x) * size)
    antipodes = (k > 0) & (torch.maximum(size, h.abs()) < ROUNDING * eps(x))
    quotient = n / torch.where(antipodes, 1, torch.where(at_infinity, eps(x) * size, h))
    return torch.where(antipodes, total / 2, project(quotient, k=k.squeeze(-1)))


def cosub(x: Tensor, y: Tensor, *, k: Scalar) -> Tensor:
    """κ-cosubtraction x ⊞ (−y), which undoes an addition from the right: (x ⊕ y) ⊞ (−y) = x. κ → 0: x − y.

    >>> cosub(torch.tensor([0.8, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.5000, 0.0000])
    """
    return coadd(x, -y, k=k)


def fn_apply(x: Tensor, *functions: Callable[[Tensor], Tensor], k: Scalar) -> Tensor:
    """Functions applied one after the other in the tangent space at the origin: exp_0(f(log_0(x))). κ → 0: f(x).

    Args:
        x: Points, (..., D).
        *functions: Functions; each maps tangent vectors (..., D) to tangent vectors (..., E), as ``torch.relu`` or an
            ``nn.Linear`` does; the first is applied first.
        k: Curvature.

    >>> fn_apply(torch.tensor([0.5, -0.5]), torch.relu, k=-1.0)
    tensor([0.5534, 0.0000])
    """
    v = logmap0(x, k=k)
    for function in functions:
        v = function(v)
    return expmap0(v, k=k)


def pointwise_mul(w: Tensor, x: Tensor, *, k: Scalar) -> Tensor:
    """Coordinates of log_0(x) times those of w: exp_0(w·log_0(x)), also written diag(w) ⊗ x. κ → 0: w·x.

    Args:
        w: Factors, (..., D).
        x: Points, (..., D).
        k: Curvature.

    >>> pointwise_mul(torch.tensor([2.0, 0.0]), torch.tensor([0.5, 0.0]), k=-1.0)
    tensor([0.8000, 0.0000])
    """
    read_vectors(w=w, x=x)
    return expmap0(w * logmap0(x, k=k), k=k)
