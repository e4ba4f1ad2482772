"""The squared distance: values against mpmath, and derivatives up to the second where points coincide."""

import math

import pytest
import torch
from hypothesis import given
from mpmath import mpf

import kappagcn.geometry as G
from kappagcn.testing import reference as R
from spaces import spaces

DTYPES = [torch.float32, torch.float64]
KAPPAS = [-2.0, -1.0, -1e-6, 0.0, 1e-6, 1.0, 2.0]
EACH = pytest.mark.parametrize("dtype", DTYPES)


@given(spaces())
def test_it_is_the_square_of_the_distance(space):
    x, y = space.points(8), space.points(8)
    for a, b, found in zip(x.tolist(), y.tolist(), G.dist2(x, y, k=space.k).tolist(), strict=True):
        expected = R.dist([mpf(s) for s in a], [mpf(t) for t in b], mpf(space.k)) ** 2
        assert found == pytest.approx(float(expected), rel=64 * torch.finfo(space.dtype).eps)


@EACH
@pytest.mark.parametrize("k", [-1.0, -1e-2, -1e-5, -1e-9, 0.0, 1e-9, 1e-5, 1e-2, 1.0])
def test_the_derivative_by_the_curvature(dtype, k):
    """Against 50 digits, relative to its own size or to what is left where it nearly cancels: 0.05·d²·max|x|²."""
    generator = torch.Generator().manual_seed(4)
    x, y = (G.random_uniform(12, 3, radius=1.5, k=-1.0, dtype=dtype, generator=generator) for _ in range(2))
    kappa = torch.full((12,), k, dtype=dtype, requires_grad=True)
    square = G.dist2(x, y, k=kappa)
    (slopes,) = torch.autograd.grad(square.sum(), kappa)
    bound = {torch.float32: 2e-5, torch.float64: 1e-10}[dtype]
    for a, b, value, found in zip(x.tolist(), y.tolist(), square.tolist(), slopes.tolist(), strict=True):
        a, b = [mpf(t) for t in a], [mpf(t) for t in b]
        expected = float(R.slope(lambda c, a=a, b=b: R.dist(a, b, c) ** 2, mpf(float(kappa[0].detach()))))
        unit = max(abs(expected), 0.05 * value * float(max(R.dot(a, a), R.dot(b, b))))
        assert abs(found - expected) <= bound * unit


@given(spaces(dtypes=[torch.float64]))
def test_gradients_are_those_of_the_square(space):
    x, y = space.points(8), space.points(8)
    k = torch.tensor(space.k, dtype=x.dtype, requires_grad=True)
    leaves = [x.requires_grad_(), y.requires_grad_(), k]
    found = torch.autograd.grad(G.dist2(x, y, k=k).sum(), leaves)
    expected = torch.autograd.grad(G.dist(x, y, k=k).square().sum(), leaves)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


@EACH
@pytest.mark.parametrize("k", KAPPAS)
@pytest.mark.parametrize("point", [[0.3, -0.2, 0.1], [0.0, 0.0, 0.0], [0.5, 0.4, 0.0]])
def test_the_hessian_at_coincident_points_is_twice_the_metric(dtype, k, point):
    x = torch.tensor(point, dtype=dtype)
    expected = 2 * G.lambda_x(x, k=k) ** 2 * torch.eye(3, dtype=dtype)
    close = {"rtol": 16 * torch.finfo(dtype).eps, "atol": 16 * torch.finfo(dtype).eps}
    by_y = torch.autograd.functional.hessian(lambda y: G.dist2(x, y, k=k), x.clone())
    by_x = torch.autograd.functional.hessian(lambda y: G.dist2(y, x, k=k), x.clone())
    torch.testing.assert_close(by_y, expected, **close)
    torch.testing.assert_close(by_x, expected, **close)
    mixed = torch.autograd.functional.hessian(lambda a, b: G.dist2(a, b, k=k), (x.clone(), x.clone()))[0][1]
    torch.testing.assert_close(mixed, -expected, **close)


@EACH
@pytest.mark.parametrize("k", KAPPAS)
def test_coincident_points_have_distance_and_gradients_zero(dtype, k):
    x = torch.tensor([[0.3, -0.2], [0.0, 0.0]], dtype=dtype, requires_grad=True)
    kappa = torch.tensor(k, dtype=dtype, requires_grad=True)
    square = G.dist2(x, x.detach(), k=kappa)
    assert (square == 0).all()
    for gradient in torch.autograd.grad(square.sum(), [x, kappa]):
        assert (gradient == 0).all()


@EACH
@pytest.mark.parametrize("k", [1e-6, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_antipodes(dtype, k, size):
    x = size * torch.tensor([[2.0, -1.0, 2.0], [1.0, 0.0, 0.0]], dtype=dtype) / 3
    x.requires_grad_()
    square = G.dist2(x, G.antipode(x, k=k).detach(), k=k)
    expected = torch.full((2,), math.pi**2 / k, dtype=dtype)
    torch.testing.assert_close(square, expected, rtol=16 * torch.finfo(dtype).eps, atol=0)
    assert torch.autograd.grad(square.sum(), x)[0].isfinite().all()


@EACH
def test_the_boundary_of_the_ball(dtype):
    on = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=dtype, requires_grad=True)
    inside = torch.tensor([[0.3, 0.1], [0.0, 0.0]], dtype=dtype)
    square = G.dist2(on, inside, k=-1.0)
    torch.testing.assert_close(square, G.dist(on, inside, k=-1.0).square(), rtol=1e-5, atol=0)
    assert torch.autograd.grad(square.sum(), on)[0].isfinite().all()


def test_the_axis_can_be_kept():
    assert G.dist2(torch.zeros(4, 3), torch.zeros(3), k=1.0).shape == (4,)
    assert G.dist2(torch.zeros(4, 3), torch.zeros(3), k=1.0, keepdim=True).shape == (4, 1)
