"""Products of vectors: their dtype under autocast, and gradients of very short vectors."""

import pytest
import torch

from kappagcn.geometry.vectors import gram, matmul, norm, unit

DTYPES = [torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_autocast_leaves_products_in_their_dtype(dtype):
    x, y = torch.randn(5, 3, dtype=dtype, requires_grad=True), torch.randn(5, 3, dtype=dtype)
    expected = matmul(x, y.mT)
    (expected_grad,) = torch.autograd.grad(expected.sum(), x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = matmul(x, y.mT)
    (grad,) = torch.autograd.grad(value.sum(), x)
    assert value.dtype == dtype
    assert torch.equal(value, expected)
    assert torch.equal(grad, expected_grad)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e15])
def test_unit_vectors_and_their_gradients_whatever_the_length(dtype, size):
    x = torch.tensor([0.6 * size, 0.8 * size], dtype=dtype, requires_grad=True)
    direction = unit(x)
    torch.testing.assert_close(direction.detach(), torch.tensor([0.6, 0.8], dtype=dtype))
    jacobian = torch.stack([torch.autograd.grad(d, x, retain_graph=True)[0] for d in direction])
    across = torch.tensor([[0.64, -0.48], [-0.48, 0.36]], dtype=dtype)
    torch.testing.assert_close(jacobian * size, across, rtol=1e-5, atol=1e-6)


def test_the_unit_vector_of_nothing_is_nothing():
    assert (unit(torch.zeros(2, 3)) == 0).all()


def test_the_squared_difference_is_smooth_where_the_vectors_meet():
    x = torch.tensor([0.3, 0.2], dtype=torch.float64)
    hessian = torch.func.jacrev(torch.func.jacrev(lambda y: gram(x, y).square.squeeze()))(x.clone())
    torch.testing.assert_close(hessian, 2 * torch.eye(2, dtype=torch.float64))
    assert (torch.func.grad(lambda y: norm(x - y).squeeze())(x.clone()) == 0).all()
