"""Factors side by side: their signature, their sizes, and what is said about points outside one of them."""

import pytest
import torch

from kappagcn.errors import GeometryError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic


def test_signature_tells_the_curvatures_of_now():
    space = ProductManifold.from_signature("H8xS8", trainable=True)
    assert space.signature == "H8xS8"
    with torch.no_grad():
        space.factors[0].curvature.raw.fill_(0.25)
        space.factors[1].curvature.raw.fill_(0.0)
    assert space.signature == "S8(0.25)xU8"
    assert "S8(0.25)xU8" in repr(space)
    assert space.k.tolist() == [0.25, 0.0]


def test_e_stays_flat_and_u_learns():
    space = ProductManifold.from_signature("E2xU2", trainable=True)
    assert [f.curvature.trainable for f in space.factors] == [False, True]
    assert not list(ProductManifold.from_signature("H2xU2").parameters())


def test_wrong_sizes_are_named():
    space = ProductManifold.from_signature("H2xS3")
    with pytest.raises(GeometryError, match=r"expected 5 coordinates in the last axis for H2xS3, found \(4, 6\)"):
        space.dist(torch.zeros(4, 6), torch.zeros(4, 6))
    with pytest.raises(GeometryError, match=r"expected 7 coordinates"):
        space.lower(torch.zeros(4, 5))
    with pytest.raises(GeometryError, match="at least one space"):
        ProductManifold([])
    with pytest.raises(GeometryError, match="known dimension"):
        ProductManifold([Stereographic(Curvature(-1.0))])


def test_a_point_outside_one_factor_is_named():
    space = ProductManifold.from_signature("S2xH2")
    x = space.origin(3)
    x[1, 3] = 1.5
    ok, reason = space.check_point(x)
    assert not ok
    assert reason.startswith("factor 1: x: 1 of 3 points are outside the ball")
    assert space.check_point(x[0])
    assert "expected 4 coordinates" in space.check_point(x[:, :3]).reason
    assert space.check_vector(x[0], x[1])
    assert space.check_vector(x[0], x[1] * torch.nan).reason.startswith("factor 0: v: 1 of 1")
