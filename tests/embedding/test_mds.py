"""Multidimensional scaling: points that lie in a space come back with their distances."""

import numpy as np
import pytest

from kappagcn.embedding.mds import DENSE, classical_mds, landmark_mds, spherical_mds


def apart(x):
    """Euclidean distances of all rows."""
    return np.linalg.norm(x[:, None] - x[None], axis=-1)


def on_sphere(n, dim, kappa, seed):
    """Distances of random points within a third of a sphere of curvature κ around a pole, and the points."""
    rng = np.random.default_rng(seed)
    units = rng.standard_normal((n, dim + 1)) + 2.5 * np.eye(dim + 1)[0]
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return np.arccos(np.clip(units @ units.T, -1, 1)) / np.sqrt(kappa)


@pytest.mark.parametrize("n", [1, 2, 30, DENSE + 5])
@pytest.mark.parametrize("dim", [1, 3])
def test_flat_points_keep_their_distances(n, dim):
    x = np.random.default_rng(n + dim).standard_normal((n, dim))
    coordinates = classical_mds(apart(x), dim + 2)
    assert coordinates.shape == (n, dim + 2)
    np.testing.assert_allclose(apart(coordinates), apart(x), atol=1e-4)


def test_fewer_dimensions_take_the_widest_ones():
    x = np.random.default_rng(0).standard_normal((40, 3)) * [10, 3, 0.1]
    best = np.linalg.svd(x - x.mean(0))[1][:2]
    np.testing.assert_allclose(np.linalg.norm(classical_mds(apart(x), 2), axis=0), best, rtol=1e-5)


def test_landmarks_place_all_other_points(monkeypatch):
    monkeypatch.setattr("kappagcn.embedding.mds.BLOCK", 60)  # ten points at once
    x = np.random.default_rng(1).standard_normal((50, 3))
    landmarks = np.array([3, 40, 11, 25, 8, 0])
    coordinates = landmark_mds(apart(x)[landmarks], landmarks, 4)
    np.testing.assert_allclose(apart(coordinates), apart(x), atol=1e-4)
    np.testing.assert_allclose(coordinates[landmarks].mean(0), 0, atol=1e-4)


@pytest.mark.parametrize("kappa", [0.04, 1.0, 25.0])
def test_points_of_a_sphere_keep_their_distances(kappa):
    distances = on_sphere(60, 2, kappa, seed=2)
    v = spherical_mds(distances, 2, kappa)
    angle = 2 * np.sqrt(kappa) * np.linalg.norm(v, axis=1, keepdims=True)
    units = np.hstack([np.cos(angle), np.sin(angle) * v / np.linalg.norm(v, axis=1, keepdims=True)])
    again = np.arccos(np.clip(units @ units.T, -1, 1)) / np.sqrt(kappa)
    np.testing.assert_allclose(again, distances, atol=1e-4 / np.sqrt(kappa))


def test_the_same_distances_give_the_same_coordinates():
    distances = apart(np.random.default_rng(3).standard_normal((DENSE + 20, 4)))
    assert np.array_equal(classical_mds(distances, 3), classical_mds(distances, 3))
