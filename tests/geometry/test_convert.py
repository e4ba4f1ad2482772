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
# Away from κ = 0 (it is wrong there), before the equator (there too), in float64 (its project cuts float32).
RIGHT = {"kappas": [-5.0, -1.0, -0.3, 0.3, 1.0, 5.0], "dtypes": [torch.float64]}
TOL = {"rtol": 1e-10, "atol": 1e-11}


@given(spaces(**RIGHT))
def test_agreement_with_geoopt(space):
    x, y, z = (space.points(6, reach=0.8) for _ in range(3))
    v = space.tangents(6, reach=0.6)
    k = torch.tensor(space.k, dtype=space.dtype)
    for ours, theirs in (
        (G.lambda_x(x, k=k), math.lambda_x(x, k=k, keepdim=True)),
        (G.add(x, y, k=k), math.mobius_add(x, y, k=k)),
        (G.sub(x, y, k=k), math.mobius_sub(x, y, k=k)),
        (G.scale(0.7, x, k=k), math.mobius_scalar_mul(torch.tensor(0.7, dtype=x.dtype), x, k=k)),
        (G.dist(x, y, k=k), math.dist(x, y, k=k, keepdim=True)),
        (G.dist0(x, k=k), math.dist0(x, k=k, keepdim=True)),
        (G.expmap(x, v, k=k), math.expmap(x, v, k=k)),
        (G.expmap0(v, k=k), math.expmap0(v, k=k)),
        (G.logmap(x, y, k=k), math.logmap(x, y, k=k)),
        (G.logmap0(x, k=k), math.logmap0(x, k=k)),
        (G.geodesic(0.3, x, y, k=k), math.geodesic(torch.tensor(0.3, dtype=x.dtype), x, y, k=k)),
        (G.gyration(x, y, z, k=k), math.gyration(x, y, z, k=k)),
        (G.transport(x, y, v, k=k), math.parallel_transport(x, y, v, k=k)),
        (G.inner(x, v, y, k=k), math.inner(x, v, y, k=k, keepdim=True)),
        (G.norm(x, v, k=k), math.norm(x, v, k=k, keepdim=True)),
        (G.egrad2rgrad(x, v, k=k), math.egrad2rgrad(x, v, k=k)),
        (G.dist2plane(x, y, v, k=k), math.dist2plane(x, y, v, k=k, signed=True, keepdim=True)),
        (
            G.matmul_right(x, 0.3 * torch.eye(space.dim, dtype=x.dtype), k=k),
            math.mobius_matvec(0.3 * torch.eye(space.dim, dtype=x.dtype), x, k=k),
        ),
    ):
        torch.testing.assert_close(ours, theirs.reshape(ours.shape), **TOL)


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
