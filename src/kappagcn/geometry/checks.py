"""Checks of arguments, and of points and vectors that users ask about; the origin of a space.

Shapes, dtypes and devices are always checked: they are known without reading a value. Values (NaN, points
outside the ball, weights with no midpoint) are checked where reading them costs nothing: on CPU tensors, in eager
mode. On an accelerator, under ``torch.compile``, ``torch.export`` and ``vmap`` the same faults give NaN in the rows
concerned and do not affect the other rows.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kappagcn.errors import GeometryError
from kappagcn.geometry.numerics import LARGEST_NORM, ball_gap, ball_slack
from kappagcn.geometry.vectors import dot

Scalar = float | Tensor
DTYPES = (torch.float32, torch.float64)


def _describe(vectors: dict[str, Tensor]) -> str:
    return ", ".join(f"{name}: {tuple(v.shape)} {v.dtype}" for name, v in vectors.items())


def all_hold(holds: Tensor) -> bool | None:
    """Whether every entry is true, where that can be read at no cost; None where it cannot."""
    if torch.compiler.is_compiling() or holds.device.type != "cpu":
        return None
    try:
        return bool(holds.all())
    except RuntimeError:  # inside vmap no value can be read
        return None


def demand(holds: Tensor, error: type[GeometryError], message: str) -> None:
    """Raise ``error`` unless every entry of ``holds`` is true, where that can be read at no cost."""
    if all_hold(holds) is False:
        raise error(message.format(count=int((~holds).sum()), total=holds.numel()))


def demand_finite(squared_norm: Tensor, name: str) -> None:
    """Refuse NaN and infinite entries, seen in the squared norm of each row."""
    demand(
        squared_norm.isfinite(),
        GeometryError,
        f"{name}: expected finite vectors, found {{count}} of {{total}} rows with NaN, infinite or too large "
        f"entries; check what produced {name}.",
    )


def within_reach(square: Tensor, k: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """|v|² of tangent vectors, (..., 1), cut where κ|v|² would overflow, and the factor that cuts v to it.

    For κ < 0 both give the same point up to rounding; for κ > 0 the point after so many turns is arbitrary.
    """
    demand_finite(square, name)
    with torch.no_grad():
        cut = (LARGEST_NORM[square.dtype] ** 2 / square / k.abs()).clamp(max=1).sqrt()
    return square * cut * cut, cut


def check_size(size: tuple[int, ...], dtype: torch.dtype | None) -> None:
    """Refuse shapes and dtypes that are not those of points (..., D)."""
    if not size or not all(isinstance(n, int) for n in size) or size[-1] < 1:
        raise GeometryError(f"size: expected whole numbers, the last of them the dimension D ≥ 1, found {size}.")
    if dtype not in (None, *DTYPES):
        raise GeometryError(f"dtype: expected float32 or float64, found {dtype}.")


def read_vectors(**vectors: Tensor) -> torch.Size:
    """Check tensors of vectors (..., D) against each other and return their common leading shape."""
    _check_vectors(vectors)
    return broadcast({name: v.shape[:-1] for name, v in vectors.items()})


def read_sets(**sets: Tensor) -> torch.Size:
    """Check tensors of sets of vectors (..., N, D) against each other and return their common batch shape."""
    _check_vectors(sets)
    for name, points in sets.items():
        if points.dim() < 2:
            raise GeometryError(f"{name}: expected (..., N, D), found {tuple(points.shape)}; use unsqueeze(0) for one.")
    return broadcast({name: points.shape[:-2] for name, points in sets.items()})


def _check_vectors(vectors: dict[str, Tensor]) -> None:
    for name, v in vectors.items():
        if not isinstance(v, Tensor):
            raise GeometryError(
                f"{name}: expected a torch.Tensor of shape (..., D), found {type(v).__name__}; "
                f"convert it with torch.as_tensor."
            )
        if v.dtype not in DTYPES:
            raise GeometryError(
                f"{name}: expected dtype float32 or float64, found {v.dtype}; use {name}.float() or {name}.double()."
            )
        if v.dim() == 0:
            raise GeometryError(f"{name}: expected a vector (..., D), found a single number; give it an axis.")
    if len({v.dtype for v in vectors.values()}) > 1:
        raise GeometryError(f"expected one dtype, found {_describe(vectors)}; convert with .to(dtype).")
    if len({v.device for v in vectors.values()}) > 1:
        raise GeometryError("expected one device; move the arguments with .to(device).")
    if len({v.shape[-1] for v in vectors.values()}) > 1:
        raise GeometryError(f"expected the same last axis (the dimension D), found {_describe(vectors)}.")


def broadcast(shapes: dict[str, torch.Size]) -> torch.Size:
    """The common shape; if there is none, raise an error that names the shapes."""
    sides = [side for shape in shapes.values() for side in shape]
    try:
        if torch.compiler.is_compiling() or not all(type(side) is int for side in sides):
            return torch.Size(torch.broadcast_shapes(*shapes.values()))
        return torch.Size(np.broadcast_shapes(*shapes.values()))  # the first call of torch's imports sympy: a second
    except (RuntimeError, ValueError):
        actual = ", ".join(f"{name}: {tuple(shape)}" for name, shape in shapes.items())
        raise GeometryError(
            f"expected leading shapes that broadcast, found {actual}; insert axes of size 1 with unsqueeze."
        ) from None


def as_curvature(
    k: Scalar, like: Tensor, batch: torch.Size | None = None, trailing: int = 1, name: str = "k"
) -> Tensor:
    """κ, or another number per vector, as a tensor of ``like``'s dtype with ``trailing`` axes of size 1 appended.

    It has to broadcast against ``batch``, by default the leading shape of ``like``; ``name`` is its name in errors.
    """
    if isinstance(k, Tensor):
        if k.dtype != like.dtype:
            raise GeometryError(
                f"{name}: expected dtype {like.dtype} as the points, found {k.dtype}; convert with .to(x.dtype), or a "
                f"space with .double() or .float()."
            )
        if k.device != like.device and k.dim() > 0:
            raise GeometryError(f"{name}: expected device {like.device}, found {k.device}; use .to(x.device).")
        if k.dim() > 0:
            broadcast({name: k.shape, "points": like.shape[:-1] if batch is None else batch})
        demand(
            k.isfinite(), GeometryError, f"{name}: expected finite numbers, found {{count}} of {{total}} that are not."
        )
        return k[(...,) + (None,) * trailing]
    if not isinstance(k, Real):
        raise GeometryError(f"{name}: expected a number or a tensor, found {type(k).__name__}.")
    if not math.isfinite(k):
        raise GeometryError(f"{name}: expected a finite number, found {k}.")
    return torch.full((1,) * trailing, float(k), dtype=like.dtype, device=like.device)


def inside(square: Tensor, k: Tensor, name: str = "x") -> Tensor:
    """|x|² of points, (..., 1), unchanged; for a point outside by more than round-off an error, or NaN."""
    fine = (1 + k * square > -ball_slack(square)) & square.isfinite()
    if all_hold(fine) is False:
        demand(
            square != torch.inf,
            GeometryError,
            f"{name}: expected finite points whose squared norms fit {square.dtype}, found {{count}} of {{total}} that "
            f"are infinite or too long; use float64, or a larger unit of length.",
        )
        demand(
            fine,
            GeometryError,
            f"{name}: expected finite points with 1 + κ|{name}|² > 0, found {{count}} of {{total}} that are NaN or "
            f"outside the ball of radius 1/√(−κ); bring them back with project({name}, k=k), or keep tangent vectors "
            f"and use expmap0, so that points move with κ.",
        )
    return torch.where(fine, square, torch.nan)


def conformal(square: Tensor, k: Tensor) -> Tensor:
    """1 + κ|x|², the inverse of half the conformal factor, kept above its rounding error."""
    return (1 + k * square).clamp(min=2 * ball_gap(square))


def conformal_at(x: Tensor, k: Tensor, name: str = "x") -> Tensor:
    """1 + κ|x|² of points (..., D), checked to be inside: (..., 1)."""
    return conformal(inside(dot(x, x), k, name), k)


def conformal_in_double(x: Tensor, k: Tensor) -> Tensor:
    """1 + κ|x|² of points (..., D) in float64, (..., 1), with the limits of the boundary of x's dtype."""
    square = inside(dot(x, x), k)
    wide = x.double()
    p = (1 + k.double() * dot(wide, wide)).clamp(min=2 * ball_gap(x))
    return torch.where(square.isnan(), torch.nan, p)


class Check(NamedTuple):
    """Result of a check: true or false in an ``if``, and a pair of ``ok`` and ``reason``, which is None if ok.

    >>> "fine" if Check(True) else "not in the space"
    'fine'
    """

    ok: bool
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.ok


def origin(*size: int, dtype: torch.dtype | None = None, device: torch.device | None = None) -> Tensor:
    """The origin, 0, for any κ.

    Args:
        *size: Shape of the result; the last entry is the dimension D.
        dtype: Dtype of the result; torch's default dtype by default.
        device: Device of the result.

    >>> origin(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    check_size(size, dtype)
    return torch.zeros(size, dtype=dtype, device=device)


def check_point(x: Tensor, *, k: Scalar) -> Check:
    """Whether all points of x lie in the space, and if not, why: finite, 1 + κ|x|² > 0, a supported dtype.

    Points beyond the boundary by no more than rounding are accepted, as every function of the geometry accepts them.
    This reads values: on an accelerator it waits for them, and it cannot be compiled.

    >>> check_point(torch.tensor([0.6, 0.7]), k=-1.0).ok
    True
    >>> ok, reason = check_point(torch.tensor([[0.6, 0.7], [0.6, 0.9]]), k=-1.0)
    >>> print(reason)
    x: expected finite points with 1 + κ|x|² > 0, found 1 of 2 that are NaN or outside the ball of radius 1/√(−κ); ...
    """
    try:
        read_vectors(x=x)
        square = dot(x, x).detach().cpu()
        inside(square, as_curvature(k, x).detach().cpu())
    except GeometryError as error:
        return Check(False, str(error))
    return Check(True)


def check_vector(x: Tensor, v: Tensor, *, k: Scalar) -> Check:
    """Whether all rows of v are tangent vectors at x, and if not, why: any finite vector at a point of the space is.

    >>> bool(check_vector(torch.zeros(2), torch.tensor([3.0, 4.0]), k=-1.0))
    True
    >>> check_vector(torch.zeros(2), torch.tensor([3.0, torch.nan]), k=-1.0).ok
    False
    """
    try:
        read_vectors(x=x, v=v)
        demand_finite(v.detach().cpu().abs().amax(-1), "v")
    except GeometryError as error:
        return Check(False, str(error))
    return check_point(x, k=k)
