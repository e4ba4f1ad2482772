"""The origin of a space, and whether points and tangent vectors belong to it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.errors import GeometryError
from kappagcn.geometry.checks import Scalar, as_curvature, check_size, read_vectors
from kappagcn.geometry.numerics import ball_slack
from kappagcn.geometry.vectors import dot


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
    >>> reason
    'x: 1 of 2 points are outside the ball of radius 1/√(−κ); bring them back with project(x, k=k).'
    """
    try:
        read_vectors(x=x)
        kappa = as_curvature(k, x)
    except GeometryError as error:
        return Check(False, str(error))
    finite = x.isfinite().all(-1)
    if not bool(finite.all()):
        return Check(False, f"x: {int((~finite).sum())} of {finite.numel()} points have NaN or infinite coordinates.")
    square = dot(x, x)
    fits = square.isfinite()
    if not bool(fits.all()):
        return Check(
            False, f"x: {int((~fits).sum())} of {fits.numel()} points are so long that |x|² does not fit {x.dtype}."
        )
    inside = 1 + kappa * square > -ball_slack(x)
    if not bool(inside.all()):
        return Check(
            False,
            f"x: {int((~inside).sum())} of {inside.numel()} points are outside the ball of radius 1/√(−κ); bring them "
            f"back with project(x, k=k).",
        )
    return Check(True)


def check_vector(x: Tensor, v: Tensor, *, k: Scalar) -> Check:
    """Whether all rows of v are tangent vectors at x, and if not, why: any finite vector at a point of the space is.

    >>> bool(check_vector(torch.zeros(2), torch.tensor([3.0, 4.0]), k=-1.0))
    True
    >>> check_vector(torch.zeros(2), torch.tensor([3.0, torch.nan]), k=-1.0).reason
    'v: 1 of 1 vectors have NaN or infinite entries.'
    """
    try:
        read_vectors(x=x, v=v)
    except GeometryError as error:
        return Check(False, str(error))
    finite = v.isfinite().all(-1)
    if not bool(finite.all()):
        return Check(False, f"v: {int((~finite).sum())} of {finite.numel()} vectors have NaN or infinite entries.")
    return check_point(x, k=k)
