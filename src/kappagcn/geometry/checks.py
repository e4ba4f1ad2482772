"""What the geometry asks of its arguments.

Shapes, dtypes and devices are always checked: they are known without looking at a value. Values (NaN, points
outside the ball, weights with no midpoint) are checked where looking is free: on CPU tensors, in eager mode.
On an accelerator, under ``torch.compile``, ``torch.export`` and ``vmap`` the same faults give NaN in the rows
concerned and leave the other rows alone.
"""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor

from kappagcn.errors import GeometryError, OutsideBallError
from kappagcn.geometry.numerics import ball_gap
from kappagcn.geometry.vectors import dot

__all__ = [
    "Scalar",
    "as_curvature",
    "conformal",
    "conformal_at",
    "demand",
    "demand_finite",
    "demand_square_match",
    "inside",
    "known_false",
    "read_vectors",
]

Scalar = float | Tensor
DTYPES = (torch.float32, torch.float64)


def _describe(vectors: dict[str, Tensor]) -> str:
    return ", ".join(f"{name}: {tuple(v.shape)} {v.dtype}" for name, v in vectors.items())


def known_false(holds: Tensor) -> Tensor | None:
    """Where ``holds`` is false, if it is anywhere and that can be read at no cost; otherwise None."""
    if torch.compiler.is_compiling() or holds.device.type != "cpu":
        return None
    try:
        return None if bool(holds.all()) else ~holds
    except RuntimeError:  # inside vmap no value can be read
        return None


def demand(holds: Tensor, error: type[GeometryError], message: str) -> None:
    """Raise ``error`` unless every entry of ``holds`` is true, where that can be read at no cost."""
    failures = known_false(holds)
    if failures is not None:
        raise error(message.format(count=int(failures.sum()), total=holds.numel()))


def demand_finite(squared_norm: Tensor, name: str) -> None:
    """Refuse NaN and infinite entries, seen in the squared norm of each row."""
    demand(
        squared_norm.isfinite(),
        GeometryError,
        f"{name}: expected finite vectors, found {{count}} of {{total}} rows with NaN, infinite or too large "
        f"entries; check what produced {name}.",
    )


def read_vectors(**vectors: Tensor) -> torch.Size:
    """Check tensors of vectors (..., D) against each other and return their common leading shape."""
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
    return broadcast({name: v.shape[:-1] for name, v in vectors.items()})


def broadcast(shapes: dict[str, torch.Size]) -> torch.Size:
    """The common shape, or an error that names the shapes at odds."""
    try:
        return torch.Size(torch.broadcast_shapes(*shapes.values()))
    except RuntimeError:
        found = ", ".join(f"{name}: {tuple(shape)}" for name, shape in shapes.items())
        raise GeometryError(
            f"expected leading shapes that broadcast, found {found}; insert axes of size 1 with unsqueeze."
        ) from None


def as_curvature(k: Scalar, like: Tensor, batch: torch.Size | None = None, trailing: int = 1) -> Tensor:
    """κ as a tensor of ``like``'s dtype with ``trailing`` axes of size 1 appended.

    Args:
        k: a number, or a tensor that broadcasts against ``batch``.
        like: gives dtype and device.
        batch: the shape κ is to broadcast against; by default ``like``'s leading shape.
        trailing: axes κ does not vary over, the vector's own among them.
    """
    if isinstance(k, Tensor):
        if k.dtype != like.dtype:
            raise GeometryError(f"k: expected dtype {like.dtype} as the points, found {k.dtype}; use k.to(x.dtype).")
        if k.device != like.device and k.dim() > 0:
            raise GeometryError(f"k: expected device {like.device}, found {k.device}; use k.to(x.device).")
        if k.dim() > 0:
            broadcast({"k": k.shape, "points": like.shape[:-1] if batch is None else batch})
        return k[(...,) + (None,) * trailing]
    if not isinstance(k, Real):
        raise GeometryError(f"k: expected a number or a tensor, found {type(k).__name__}.")
    if not math.isfinite(k):
        raise GeometryError(f"k: expected a finite curvature, found {k}.")
    return torch.full((1,) * trailing, float(k), dtype=like.dtype, device=like.device)


def inside(square: Tensor, k: Tensor, name: str = "x") -> Tensor:
    """|x|² of points, (..., 1), as it is; of a point beyond the boundary by more than round-off an error, or NaN."""
    fine = 1 + k * square > -8 * ball_gap(square)
    demand(
        fine,
        OutsideBallError,
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


def demand_square_match(points: Tensor, columns: int, name: str) -> None:
    """The number of weights per row must be the number of points."""
    if points.shape[-2] != columns:
        raise GeometryError(
            f"{name}: expected one weight per point, found {columns} columns for {points.shape[-2]} points."
        )
