import pytest
import torch

import kappagcn.geometry as G
from cases import CALLS, arguments, tensors
from kappagcn.errors import GeometryError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic

FUNCTIONS = [n for n in G.__all__ if n[0].islower() and n not in ("parse_signature", "to_geoopt", "from_geoopt")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_a_method(name):
    assert callable(getattr(Stereographic, name))
    assert callable(getattr(ProductManifold, name))


@pytest.mark.parametrize("k", [-0.8, 0.0, 0.8])
@pytest.mark.parametrize("name", CALLS)
def test_methods_are_the_functions(name, k):
    args = arguments(name, tensors(torch.float32), k)
    expected = G.neg(*args) if name == "neg" else getattr(G, name)(*args, k=k)
    torch.testing.assert_close(getattr(Stereographic(k), name)(*args), expected, equal_nan=name == "antipode")


@pytest.mark.parametrize("k", [-0.8, 0.0, 0.8])
@pytest.mark.parametrize("name", CALLS)
def test_a_product_of_one_factor_is_the_factor(name, k):
    args = arguments(name, tensors(torch.float32), k)
    space = Stereographic(k, dim=3)
    actual, expected = getattr(ProductManifold([space]), name)(*args), getattr(space, name)(*args)
    if name == "lambda_x":
        actual = actual.squeeze(-1)
    if name == "dist2plane":  # a product's has no sign
        expected = expected.abs()
    torch.testing.assert_close(actual, expected, equal_nan=name == "antipode")


def test_curvature_learns_through_every_method():
    """κ gets a gradient wherever the result depends on it."""
    for name in CALLS:
        if name in ("neg", "project", "retract", "antipode", "lower", "from_ambient"):
            continue
        space = Stereographic(Curvature(-0.8, trainable=True))
        value = getattr(space, name)(*arguments(name, tensors(torch.float32), -0.8))
        (value * torch.arange(value.numel()).reshape(value.shape)).sum().backward()
        assert space.curvature.raw.grad.abs() > 1e-6, name


def test_sampling():
    space = Stereographic(-1.0, dim=3)
    x = space.random_uniform(5, radius=2.0, generator=torch.Generator().manual_seed(0))
    assert x.shape == (5, 3)
    assert space.random_wrapped_normal(x, std=0.1).shape == (5, 3)
    with pytest.raises(GeometryError, match=r"known dimension, found none; build it with Stereographic\(κ, dim=D\)"):
        Stereographic(-1.0).random_uniform(5)
    with pytest.raises(GeometryError, match="positive dimension, found 0"):
        Stereographic(-1.0, dim=0)


def test_moves_between_dtypes_and_saves():
    space = Stereographic(Curvature(-0.5, trainable=True)).double()
    assert space.k.dtype == torch.float64
    space.dist0(torch.zeros(2, 3, dtype=torch.float64))
    other = Stereographic(Curvature(1.0, trainable=True))
    other.load_state_dict(space.state_dict())
    assert other.curvature.value == pytest.approx(-0.5)


@pytest.mark.parametrize("space", [Stereographic(-1.0, dim=3), ProductManifold.from_signature("H2xS1")])
def test_origin_and_checks(space):
    zero = space.double().origin(2, 4)
    assert zero.shape == (2, 4, 3)
    assert zero.dtype == torch.float64
    assert (zero == 0).all()
    assert space.check_point(zero)
    assert not space.check_point(zero + 2)
    assert space.check_vector(zero, zero + 2)
    assert not space.check_vector(zero + 2, zero)
    torch.testing.assert_close(
        space.component_inner(zero, zero + 1, zero + 2).expand_as(zero)[..., 0],
        space.inner(zero, zero + 1, zero + 2) * {1: 1.0, 2: 2 / 3}[getattr(space, "num_factors", 1)],
    )
