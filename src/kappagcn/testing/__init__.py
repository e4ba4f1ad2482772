"""Assertions for tests of code that uses points of curved spaces."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from kappagcn.geometry import add, dist, random_uniform

__all__ = ["assert_isometry", "assert_on_manifold", "assert_same_points", "random_isometry"]


def assert_on_manifold(x: Tensor, *, k: float | Tensor) -> None:
    """Fail unless every row of x is finite and strictly inside the space."""
    kappa = torch.as_tensor(k, dtype=x.dtype)
    inside = 1 + kappa * x.square().sum(-1) > 0
    assert bool(x.isfinite().all()), "expected finite points"
    assert bool(inside.all()), f"expected 1 + κ|x|² > 0, found {int((~inside).sum())} rows outside the ball"


def assert_same_points(x: Tensor, y: Tensor, *, k: float | Tensor, atol: float) -> None:
    """Fail unless rows of x and y are at most ``atol`` apart, measured in the space."""
    apart = dist(x, y, k=k)
    assert bool((apart <= atol).all()), f"expected distances up to {atol:g}, found {float(apart.max()):g}"


def assert_isometry(f: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, *, k: float | Tensor, atol: float) -> None:
    """Fail unless f keeps the distances between x and y."""
    before, after = dist(x, y, k=k), dist(f(x), f(y), k=k)
    worst = float((before - after).abs().max())
    assert worst <= atol, f"expected distances kept to {atol:g}, found a change of {worst:g}"


def random_isometry(
    dim: int, *, k: float, dtype: torch.dtype, generator: torch.Generator, reach: float = 1.0
) -> Callable[[Tensor], Tensor]:
    """x ↦ z ⊕ Rx with R a random orthogonal matrix and z a random point within geodesic distance ``reach``."""
    z = random_uniform(dim, radius=reach, k=k, dtype=dtype, generator=generator)
    r, _ = torch.linalg.qr(torch.randn(dim, dim, dtype=dtype, generator=generator))
    return lambda x: add(z.expand_as(x), x @ r.mT, k=k)
