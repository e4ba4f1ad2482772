import numpy as np
import pytest
import torch

from kappagcn.geometry import expmap0, to_ambient
from kappagcn.view.projection import projected

V = np.random.default_rng(0).normal(size=(50, 2))
FLAT_PARTS = np.column_stack([V, np.zeros(50)])


def points(k):
    return expmap0(torch.as_tensor(V), k=k)


@pytest.mark.parametrize("k", [-1.0, -0.3, -2.5])
def test_two_dimensions_stay_as_they_are_in_the_disk(k):
    seen = projected(FLAT_PARTS, k)
    assert (seen.kind, seen.rim) == ("disk", pytest.approx(2 * (-k) ** -0.5))
    assert np.allclose(seen.points, 2 * points(k).numpy(), atol=1e-13)


def test_two_dimensions_stay_as_they_are_on_the_sphere():
    seen = projected(FLAT_PARTS, 0.25)
    assert (seen.kind, seen.rim) == ("sphere", 2.0)
    assert np.allclose(seen.points, to_ambient(points(0.25), k=0.25).numpy() * [1, 1, 2], atol=1e-11)


def test_pictures_are_continuous_through_zero():
    flat = projected(FLAT_PARTS, 0.0)
    for k in (-3e-5, 3e-5):
        seen = projected(FLAT_PARTS, k)
        assert seen.kind != "plane"
        assert np.allclose(seen.points[:, :2], flat.points, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 15.0, 1e4])
def test_far_points_are_finite_and_inside(radius):
    v = radius / 2 * np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0, 0.64], [0, 0, 0]])
    seen = projected(v, -1.0)
    assert np.isfinite(seen.points).all()
    assert (np.linalg.norm(seen.points, axis=1) <= min(seen.rim, 1e9)).all()
