"""Projection of a factor to two dimensions for drawing: points of a disk, a sphere or a plane.

The lift E(v) = (sin_κ(r) v/|v|, cos_κ(r)), r = 2|v|, keeps its last coordinate and two directions, and is brought back
onto the hyperboloid or sphere. Coordinates are in the space's own unit of length, so that a sphere of small curvature,
the plane and a disk of small curvature look alike.
"""

from typing import Any, NamedTuple

import numpy as np

from kappagcn.run_folder import Array

FLAT = 1e-2  # √|κ|·radius below which no curvature is visible
FARTHEST = 345.0  # √|κ|·radius; beyond it a square overflows


class Projected(NamedTuple):
    """N points of a factor: in the disk of radius 2/√−κ, on the sphere of radius 1/√κ, or in the plane."""

    kind: str  # disk, sphere or plane
    points: Array  # (N, 2), on a sphere (N, 3) with the origin of the space towards the reader
    rim: float  # radius of the disk or sphere; infinite in the plane


def projected(parts: Array, k: float) -> Projected:
    """Points from two coordinates of tangent vectors and the squared length of the rest, (N, 3), in curvature k.

    >>> projected(np.array([[0.5, 0.0, 0.0]]), 0.0).points.tolist()
    [[1.0, 0.0]]
    """
    shown, rest = parts[:, :2].astype(np.float64), parts[:, 2].astype(np.float64)
    s = abs(k) ** 0.5
    radius = 2 * s * np.sqrt((shown**2).sum(1) + rest)
    if radius.max() < FLAT:
        return Projected("plane", 2 * shown, np.inf)
    if k < 0:
        half = _half_angles(shown, rest, np.minimum(radius, FARTHEST))
        return Projected("disk", 2 / s * half / np.sqrt(1 + (half**2).sum(1, keepdims=True)), 2 / s)
    return Projected("sphere", _unit_vectors(shown, rest, radius) / s, 1 / s)


def _half_angles(shown: Array, rest: Array, radius: Array) -> Array:
    """sinh(ρ/2) times the direction, where ρ is the distance of the projected point from the origin."""
    kept = (shown**2).sum(1)
    whole = _not_zero(kept + rest)
    # tanh ρ' = tanh ρ · c; 1 − tanh² ρ' is a sum of small terms, which a difference from 1 would lose.
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
