import numpy as np
import pytest
import torch

from kappagcn.geometry import expmap0, to_ambient
from kappagcn.report.projection import picture

V = np.random.default_rng(0).normal(size=(50, 2))


def disk_points(halves):
    """Points of the unit disk, tanh(ρ/2)·(cos φ, sin φ)."""
    return halves / np.sqrt(1 + (halves**2).sum(1, keepdims=True))


def points(v, k):
    return expmap0(torch.as_tensor(v), k=k).numpy()


@pytest.mark.parametrize("k", [-1.0, -0.3, -2.5])
def test_two_dimensions_stay_as_they_are_in_the_disk(k):
    seen = picture(V, k)
    assert seen.kind == "disk"
    assert seen.share == 1
    assert np.allclose(disk_points(seen.points), points(V, k) * (-k) ** 0.5, atol=1e-14)


def test_two_dimensions_stay_as_they_are_on_the_sphere():
    seen = picture(V, 0.25)
    x = torch.as_tensor(points(V, 0.25))
    assert seen.kind == "sphere"
    assert np.allclose(seen.points, to_ambient(x, k=0.25).numpy() * [0.5, 0.5, 1], atol=1e-12)


def test_two_dimensions_stay_as_they_are_in_the_plane():
    seen = picture(V, 0.0)
    assert (seen.kind, seen.share) == ("plane", 1)
    assert np.array_equal(seen.points, 2 * V)


@pytest.mark.parametrize("k", [-1.0, 1.0])
def test_more_dimensions_with_nothing_in_them_change_nothing(k):
    """Up to a turn of the picture: inner products stay."""
    wide = np.pad(V, ((0, 0), (1, 3)))
    seen, flat = picture(wide, k), picture(V, k)
    assert seen.share == pytest.approx(1)
    assert np.allclose(seen.points @ seen.points.T, flat.points @ flat.points.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [-0.7, 0.6])
def test_the_projection_is_the_renormalised_lift(k):
    """Columns that already are principal directions: the lift without its third coordinate, brought back."""
    v = np.linalg.qr(np.random.default_rng(1).normal(size=(40, 3)))[0] * [5, 3, 1]
    s, r = abs(k) ** 0.5, 2 * np.linalg.norm(v, axis=1)
    sine, cosine = (np.sinh, np.cosh) if k < 0 else (np.sin, np.cos)
    first = v[:, :2] / np.linalg.norm(v, axis=1)[:, None] * sine(s * r)[:, None]
    last = cosine(s * r)
    size = np.sqrt(last**2 + np.sign(k) * (first**2).sum(1))
    seen = picture(v, k)
    assert seen.share == pytest.approx(34 / 35)
    if k > 0:
        assert np.allclose(np.abs(seen.points), np.abs(np.column_stack([first, last]) / size[:, None]), atol=1e-9)
    else:
        back = first / (last + size)[:, None]  # from the hyperboloid to the disk
        assert np.allclose(np.abs(disk_points(seen.points)), np.abs(back), atol=1e-9)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 15.0, 40.0, 1e4])
def test_far_points_are_finite_and_inside(radius):
    v = radius / 2 * np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0, 0.8], [0, 0, 0]])
    seen = disk_points(picture(np.vstack([v, v[:, :3] * 0.5 + 0.1]), -1.0).points)
    assert np.isfinite(seen).all()
    assert (np.linalg.norm(seen, axis=1) <= 1).all()


def test_far_points_keep_their_radius():
    far = picture(np.array([[0.0, -7.5], [4.5, 6.0]]), -1.0).points
    assert np.linalg.norm(far, axis=1) == pytest.approx(np.sinh(7.5), rel=1e-12)


def test_one_dimension_lies_on_a_line():
    assert np.array_equal(picture(V[:, :1], -1.0).points[:, 1], np.zeros(50))


def test_a_curvature_that_cannot_be_seen_is_drawn_flat():
    assert picture(V, -1e-9).kind == picture(V, 1e-9).kind == "plane"
    assert picture(np.zeros((3, 2)), -1.0).kind == "plane"
