"""To geoopt and back, and agreement with it where it is right."""

import geoopt
import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic, from_geoopt, to_geoopt
from spaces import spaces

math = geoopt.manifolds.stereographic.math


@given(spaces(kappas=[-5.0, -1.0, -0.3], dtypes=[torch.float64]))
def test_midpoints_agree_with_geoopt_where_it_is_right(space):
    x, w = space.points(6, reach=1.0), space.uniform(6) + 0.1
    k = torch.tensor(space.k, dtype=space.dtype)
    theirs = math.weighted_midpoint(x, w, k=k, reducedim=[0])
    # geoopt keeps its denominator 1e-10 away from zero, and is that far off.
    torch.testing.assert_close(G.midpoint(x, w, k=k), theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("trainable", [False, True])
def test_one_space_there_and_back(trainable):
    ours = Stereographic(Curvature(-0.7, trainable=trainable))
    theirs = to_geoopt(ours)
    assert isinstance(theirs, geoopt.Stereographic)
    assert float(theirs.k.detach()) == pytest.approx(-0.7)
    assert theirs.k.requires_grad == trainable
    back = from_geoopt(theirs)
    assert back.curvature.value == pytest.approx(-0.7)
    assert back.curvature.trainable == trainable


def test_geoopts_kinds():
    assert from_geoopt(geoopt.PoincareBall(c=2.0)).curvature.value == pytest.approx(-2.0)
    assert from_geoopt(geoopt.SphereProjection(k=0.5)).curvature.value == pytest.approx(0.5)
    assert from_geoopt(geoopt.Euclidean(1)).curvature.value == 0


def test_products_there_and_back_measure_the_same():
    ours = ProductManifold.from_signature("H2(-0.5)xS3", trainable=True)
    theirs = to_geoopt(ours)
    x, y = (ours.random_uniform(5, radius=0.8, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
    torch.testing.assert_close(theirs.dist(x, y), ours.dist(x, y), rtol=1e-5, atol=1e-6)
    back = from_geoopt(theirs)
    assert back.signature == "H2(-0.5)xS3"
    assert all(f.curvature.trainable for f in back.factors)


def test_dtypes_and_ties_are_kept():
    ball = geoopt.Stereographic(torch.tensor(-0.1, dtype=torch.float64), learnable=True)
    one = from_geoopt(ball)
    assert one.k.dtype == torch.float64
    assert one.curvature.value == -0.1
    two = from_geoopt(geoopt.ProductManifold((ball, 2), (ball, 3)))
    assert two.factors[0].curvature is two.factors[1].curvature
    assert ProductManifold.from_signature("H2(-0.1)", dtype=torch.float64).k.item() == -0.1


def test_others_are_refused():
    with pytest.raises(GeometryError, match="found Sphere"):
        from_geoopt(geoopt.Sphere())
    with pytest.raises(GeometryError, match=r"vectors, found one of shape \(2, 2\)"):
        from_geoopt(geoopt.ProductManifold((geoopt.Stereographic(), (2, 2))))
    with pytest.raises(GeometryError, match="found int"):
        to_geoopt(3)


def test_without_geoopt_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "geoopt", None)
    with pytest.raises(ImportError, match=r"pip install geoopt"):
        to_geoopt(Stereographic(-1.0))
