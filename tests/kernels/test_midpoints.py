"""Midpoints over a sparse matrix in float32, with some rows far out, against the same in float64."""

import pytest
import torch

from kappagcn.geometry import ProductManifold
from kappagcn.kernels import midpoints
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import SparseMatrix, aggregate

N = 40
DIMS = {"H3(-1)": [3], "S3(1)": [3], "H2(-1)xS2(0.5)xE1": [2, 2, 1], "H2(-1)xH3(-0.5)": [2, 3]}


def rows(far, dim):
    """Short rows; those from `far` on lie at radii up to 10, near each other, so that their sums are far too."""
    v = 0.2 * torch.randn(N, dim)
    v[far:] = torch.linspace(1.5, 5, N - far)[:, None] * (torch.ones(dim) + 0.1 * torch.randn(N - far, dim)) / dim**0.5
    return v


def matrix(far, negative):
    """Ten entries a row; far rows are mixed among themselves."""
    cols = torch.cat([torch.randint(far, (far, 10)), torch.randint(min(far, N - 1), N, (N - far, 10))])
    values = torch.rand(N, 10) + 0.1
    values[::3] *= -1.0 if negative else 1.0
    return SparseMatrix(torch.arange(N).repeat_interleave(10), cols.flatten(), values.flatten() / 10, (N, N))


def values_and_gradients(v, space, adjacency, target):
    manifold = ProductManifold.from_signature(space, trainable=True).to(v.dtype)
    v = v.clone().requires_grad_()
    out = aggregate(v, adjacency, manifold)
    by_v, *by_k = torch.autograd.grad((out * target).sum(), [v, *manifold.parameters()])
    return out.detach(), by_v, torch.stack([g.reshape(()) for g in by_k])


@pytest.fixture(params=[midpoints.SMALL, 0], ids=["in float64", "far sums again"])
def _small(request, monkeypatch):
    monkeypatch.setattr(midpoints, "SMALL", request.param)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("far", [N, N - 8, 5])
@pytest.mark.parametrize("space", DIMS)
def test_far_rows_have_the_digits_of_float64(space, far, negative):
    torch.manual_seed(0)
    v, target, adjacency = rows(far, sum(DIMS[space])), torch.randn(N, sum(DIMS[space])), matrix(far, negative)
    single = values_and_gradients(v, space, adjacency, target)
    with torch_only():
        double = values_and_gradients(v.double(), space, adjacency.to(torch.float64), target.double())
    for ours, exact in zip(single, double, strict=True):
        assert torch.allclose(ours.double(), exact, rtol=2e-5, atol=2e-5 * float(exact.abs().max()))


@pytest.mark.usefixtures("_small")
def test_rows_too_long_for_float32_have_a_midpoint():
    torch.manual_seed(0)
    v, adjacency = torch.full((N, 3), 30.0, requires_grad=True), matrix(N, negative=False)
    out = aggregate(v, adjacency, ProductManifold.from_signature("H3(-1)"))
    out.sum().backward()
    assert torch.isfinite(out).all()
    assert torch.isfinite(v.grad).all()


@pytest.mark.parametrize("space", DIMS)
def test_a_bias_is_added_with_its_gradients(space):
    torch.manual_seed(0)
    dim, adjacency = sum(DIMS[space]), matrix(N, negative=False).to(torch.float64)
    v, bias = (0.2 * torch.randn(N, dim)).double().requires_grad_(), torch.randn(dim).double().requires_grad_()
    manifold = ProductManifold.from_signature(space).double()

    def shifted(v, bias):
        return aggregate(v, adjacency, manifold, bias=bias)

    assert torch.allclose(shifted(v, bias), aggregate(v, adjacency, manifold) + bias)
    assert torch.autograd.gradcheck(shifted, (v, bias), fast_mode=True)
    assert torch.autograd.gradgradcheck(shifted, (v, bias), fast_mode=True)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("far", [N, N - 8])
def test_a_retained_graph_gives_the_same_gradients_again(far):
    torch.manual_seed(0)
    v, adjacency = rows(far, 3).requires_grad_(), matrix(far, negative=True)
    out = aggregate(v, adjacency, ProductManifold.from_signature("H3(-1)"), bias=torch.ones(3)).relu_()
    first, second = (torch.autograd.grad(out.square().sum(), v, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
