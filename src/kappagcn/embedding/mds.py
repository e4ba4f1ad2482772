"""Multidimensional scaling: coordinates from distances by eigenvectors, in flat space and on a sphere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse.linalg as sla
import torch
from numpy.typing import NDArray

Array = NDArray[Any]
DENSE = 400  # points up to which all eigenvectors are computed
TINY = 1e-12
BLOCK = 2**23  # distances squared at once


def _largest(matrix: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues of a symmetric matrix, in decreasing order, and their vectors as columns."""
    n = len(matrix)
    if n <= max(DENSE, 2 * count):
        values, vectors = np.linalg.eigh(matrix)
    else:
        start = np.random.default_rng(0).standard_normal(n)  # the same vectors each time
        rows = torch.from_numpy(matrix)
        # By torch: NumPy's products take as many threads as there are cores, whatever torch is set to.
        operator = sla.LinearOperator(
            matrix.shape, lambda v: (rows @ torch.from_numpy(v.reshape(n))).numpy(), dtype=matrix.dtype
        )
        values, vectors = sla.eigsh(operator, k=count, which="LA", v0=start)
    order = np.argsort(-values)[:count]
    vectors = vectors[:, order]
    largest = np.abs(vectors).argmax(0)
    return values[order], vectors * np.sign(vectors[largest, range(vectors.shape[1])])


def _padded(columns: Array, dim: int) -> Array:
    """Columns of zeros after the others, (N, dim)."""
    return np.pad(columns, ((0, 0), (0, dim - columns.shape[1])))


def classical_mds(distances: Array, dim: int) -> Array:
    """Coordinates in flat space by classical multidimensional scaling of distances: (N, N) → (N, dim).

    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> np.abs(classical_mds(line, 2)).round(3).tolist()
    [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    gram = distances**2
    means = gram.mean(0)
    gram -= means
    gram -= means[:, None] - means.mean()
    gram *= -0.5
    values, vectors = _largest(gram, min(dim, len(gram)))
    return _padded(vectors * np.sqrt(np.maximum(values, 0)), dim)


def landmark_mds(distances: Array, landmarks: Array, dim: int) -> Array:
    """Coordinates of all points from the distances of some: (L, N) → (N, dim).

    Args:
        distances: Distances of the landmarks from all points, (L, N).
        landmarks: Numbers of the landmarks, (L,).
        dim: Number of coordinates.

    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> np.abs(landmark_mds(line[[0, 3]], np.array([0, 3]), 1)).round(3).tolist()
    [[1.5], [0.5], [0.5], [1.5]]
    """
    own = distances[:, landmarks] ** 2
    means = own.mean(0)
    values, vectors = _largest(-0.5 * (own - means - means[:, None] + means.mean()), min(dim, len(own)))
    used = values > TINY * max(float(values.max(initial=0)), TINY)
    projections = vectors[:, used] / np.sqrt(values[used])
    blocks = np.array_split(np.arange(distances.shape[1]), -(-distances.size // BLOCK) or 1)
    points = [-0.5 * (distances[:, block] ** 2 - means[:, None]).T @ projections for block in blocks]
    return _padded(np.concatenate(points), dim)


def spherical_mds(distances: Array, dim: int, kappa: float) -> Array:
    """Tangent vectors at a pole of points on a sphere, half as long as their distance from it: (N, N) → (N, dim).

    The cosines of distances on a sphere of curvature κ are the scalar products of unit vectors; the mean of those
    becomes the pole.

    >>> circle = np.minimum(x := np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))), 8 - x)
    >>> v = spherical_mds(circle, 1, (np.pi / 4) ** 2)
    >>> apart = np.abs(2 * np.subtract.outer(v[:, 0], v[:, 0]))
    >>> np.allclose(np.minimum(apart, 8 - apart), circle)
    True
    """
    values, vectors = _largest(np.cos(math.sqrt(kappa) * distances), min(dim + 1, len(distances)))
    units = _padded(vectors * np.sqrt(np.maximum(values, 0)), dim + 1)
    units /= np.maximum(np.linalg.norm(units, axis=1, keepdims=True), TINY)
    mean = units.mean(0)
    pole = mean / np.linalg.norm(mean) if np.linalg.norm(mean) > math.sqrt(TINY) else np.eye(dim + 1)[-1]
    axes, _ = np.linalg.qr(np.column_stack([pole, np.eye(dim + 1)]))
    axes = axes[:, : dim + 1] * np.where(np.arange(dim + 1) == 0, np.sign(axes[:, 0] @ pole), 1.0)
    along, across = (units @ axes)[:, :1], (units @ axes)[:, 1:]
    length = np.linalg.norm(across, axis=1, keepdims=True)
    direction = np.where(length > TINY, across / np.maximum(length, TINY), np.eye(dim)[0])  # antipodes have none
    tangent: Array = direction * np.arctan2(length, along) / (2 * math.sqrt(kappa))
    return tangent
