"""A factor as a picture: of its dimensions the two that show most, as points of a disk, a sphere or a plane.

The lift E(v) = (sin_κ(r) v/|v|, cos_κ(r)), r = 2|v|, keeps its last coordinate and two directions, and is brought back
onto the hyperboloid or sphere. For κ < 0 that is done by half-angles, which do not cancel at any radius.
"""

from typing import Any, NamedTuple

import numpy as np

from kappagcn.run_folder import Array, principal

FLAT = 1e-2  # √|κ|·radius below which the eye sees no curvature
FARTHEST = 345.0  # √|κ|·radius; beyond it a square overflows


class Picture(NamedTuple):
    """A factor in two dimensions.

    The points of a disk are sinh(ρ/2)·(cos φ, sin φ), with ρ = √−κ times the radius; those of a sphere are unit
    vectors, the origin of the space at (0, 0, 1); those of a plane are coordinates.
    """

    kind: str  # disk, sphere or plane
    points: Array  # (N, 2 or 3)
    share: float  # of the squared lengths of the tangent vectors, in the directions shown


def picture(v: Array, k: float) -> Picture:
    """The picture of tangent vectors at the origin, (N, D), in curvature k.

    >>> picture(np.array([[0.5, 0.0], [0.0, -1.0]]), 0.0).points.tolist()
    [[1.0, 0.0], [0.0, -2.0]]
    """
    v = v.astype(np.float64)
    shown, rest, share = _directions(v)
    s = abs(k) ** 0.5
    radius = 2 * s * np.linalg.norm(v, axis=1)
    if radius.max() < FLAT:
        return Picture("plane", 2 * shown, share)
    if k < 0:
        return Picture("disk", _half_angles(shown, rest, np.minimum(radius, FARTHEST)), share)
    return Picture("sphere", _unit_vectors(shown, rest, radius), share)


def _directions(v: Array) -> tuple[Array, Array, float]:
    """Coordinates in the two directions that show most, the squared length of the rest, and the share shown."""
    if v.shape[1] <= 2:
        return np.pad(v, ((0, 0), (0, 2 - v.shape[1]))), np.zeros(len(v)), 1.0
    axes, share = principal(v)
    along = v @ axes
    return along[:, :2], (along[:, 2:] ** 2).sum(1), share


def _half_angles(shown: Array, rest: Array, radius: Array) -> Array:
    kept = (shown**2).sum(1)
    whole = _not_zero(kept + rest)
    # tanh ρ' = tanh ρ · c, with 1 − tanh² ρ' summed from what is small, not taken from 1.
    tangent = np.tanh(radius) * np.sqrt(kept / whole)
    left = rest / whole + kept / whole * np.cosh(radius) ** -2.0
    cosine = 1 / np.sqrt(np.where(radius == 0, 1, left))
    half = tangent * cosine / np.sqrt(2 * (cosine + 1))
    return np.asarray(shown / _not_zero(np.sqrt(kept))[:, None] * half[:, None])


def _unit_vectors(shown: Array, rest: Array, radius: Array) -> Array:
    length = _not_zero(np.sqrt((shown**2).sum(1) + rest))
    lifted = np.column_stack([shown / length[:, None] * np.sin(radius)[:, None], np.cos(radius)])
    size = np.linalg.norm(lifted, axis=1, keepdims=True)
    lifted[size[:, 0] < np.finfo(np.float64).eps] = 0, 0, 1  # no direction is left to show
    return np.asarray(lifted / np.linalg.norm(lifted, axis=1, keepdims=True))


def _not_zero(a: Any) -> Array:
    return np.where(a == 0, 1, a)
