import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from kappagcn.geometry import numerics, vectors

mp.dps = 50
FUNCTIONS = {
    "tanc": (mp.tan, mp.tanh),
    "artanc": (mp.atan, mp.atanh),
    "sinc": (mp.sin, mp.sinh),
    "cosc": (mp.cos, mp.cosh),
    "arsinc": (mp.asin, mp.asinh),
}


def exact(name, z):
    if z == 0:
        return mpf(1)
    s = mp.sqrt(abs(z))
    value = FUNCTIONS[name][0 if z > 0 else 1](s)
    return value if name == "cosc" else value / s


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.floats(-0.9, 0.9), st.integers(-14, 0))
def test_values_and_derivatives_on_both_sides_of_zero(name, dtype, mantissa, exponent):
    z = torch.tensor(mantissa * 10.0**exponent, dtype=dtype, requires_grad=True)
    value = getattr(numerics, name)(z)
    slope = torch.autograd.grad(value, z)[0]
    at = mpf(float(z.detach()))
    h = mpf(10) ** -17
    expected = (exact(name, at + h) - exact(name, at - h)) / (2 * h)
    eps = torch.finfo(dtype).eps
    assert float(value.detach()) == pytest.approx(float(exact(name, at)), rel=8 * eps)
    assert float(slope) == pytest.approx(float(expected), rel=150 * eps)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivative_does_not_jump_where_the_series_takes_over(name):
    for dtype, border in numerics.SERIES_BELOW.items():
        for sign in (-1, 1):
            z = torch.tensor([border * (1 - 1e-3), border * (1 + 1e-3)], dtype=dtype).mul(sign).requires_grad_()
            below, above = torch.autograd.grad(getattr(numerics, name)(z).sum(), z)[0].tolist()
            assert below == pytest.approx(above, rel=3e-3 * border + 200 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivative(name):
    z = torch.tensor([-0.7, -0.02, -0.005, -1e-9, 0.0, 1e-9, 0.005, 0.02, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(getattr(numerics, name), z)


def test_inverse_functions():
    r = torch.linspace(0.05, 0.6, 12, dtype=torch.float64)
    for k in (-1.5, -1e-9, 0.0, 1e-9, 1.5):
        k = torch.tensor(k, dtype=torch.float64)
        t = r * numerics.tanc(k * r * r)
        torch.testing.assert_close(t * numerics.artanc(k * t * t), r, rtol=1e-14, atol=0)
        torch.testing.assert_close(numerics.arsin_k(numerics.sin_k(r, k=k), k=k), r, rtol=1e-14, atol=0)
        one = k * numerics.sin_k(r, k=k) ** 2 + numerics.cos_k(r, k=k) ** 2
        torch.testing.assert_close(one, torch.ones_like(r), rtol=1e-14, atol=0)


def test_arsinh_of_large_arguments():
    """geoopt's float32 arsinh of −1e4 is −34.5; the true value is −9.90."""
    r = torch.tensor([-1e4, -1e6, 1e4])
    actual = numerics.arsin_k(r, k=torch.tensor(-1.0))
    torch.testing.assert_close(actual.double(), r.double().asinh(), rtol=2e-7, atol=0)


def test_arsin_beyond_its_domain_is_the_end_of_its_domain():
    r = torch.tensor([1.0, 1.0 + 1e-7, 2.0, -1.0], requires_grad=True)
    actual = numerics.arsin_k(r, k=torch.tensor(1.0))
    torch.testing.assert_close(actual, math.pi / 2 * torch.tensor([1.0, 1.0, 1.0, -1.0]), rtol=1e-6, atol=0)
    assert torch.autograd.grad(actual.sum(), r)[0].isfinite().all()


def test_norm_neither_underflows_nor_overflows_where_it_need_not():
    x = torch.tensor([[3e-30, 4e-30], [3e-38, 4e-38], [3e18, 4e18], [0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    length = vectors.norm(x)
    torch.testing.assert_close(length.squeeze(-1), torch.tensor([5e-30, 5e-38, 5e18, 0.0, 5.0]))
    grad = torch.autograd.grad(length.sum(), x)[0]
    unit = torch.tensor([0.6, 0.8])
    torch.testing.assert_close(grad, torch.stack([unit, unit, unit, 0 * unit, unit]))
