"""Midpoints of far rows, compiled and by torch: against 50 digits as far as float64 reaches, and capped beyond it."""

import math
from contextlib import nullcontext

import pytest
import torch

from graph_samples import DOUBLE, random_graph
from kappagcn.kernels.dispatch import torch_only
from kappagcn.models import KappaGCN
from kappagcn.nn.midpoints import count_edge_rows, midpoints, midpoints_backward, midpoints_operation
from kappagcn.sparse import SparseMatrix
from layers import exact_midpoint

PATHS = {"compiled": nullcontext, "torch": torch_only}


BOTH = pytest.mark.parametrize("path", PATHS)


DTYPES = pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])


EYE = SparseMatrix.from_tensor(torch.eye(1))


def far_graph(radius, dtype, seed=0, rows=12, dim=3):
    """Rows around radius from the origin, in a few close directions, and weights of sparse sums of them."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(3, dim, generator=generator)
    v = centres[torch.arange(rows) % 3] + 0.1 / math.sinh(min(radius, 30)) * torch.randn(rows, dim, generator=generator)
    v = v / v.norm(dim=1, keepdim=True) * (radius - 0.3 * torch.rand(rows, 1, generator=generator)) / 2
    weights = torch.rand(8, rows, generator=generator) * (torch.rand(8, rows, generator=generator) < 0.4)
    weights[torch.arange(8), torch.arange(8)] = 0.7
    weights[::2] *= torch.arange(rows) % 3 == torch.arange(0, 8, 2).unsqueeze(1) % 3  # all in one direction: as far out
    return v.to(dtype), weights.to(dtype), torch.randn(8, dim, generator=generator).to(dtype)


def computed(v, weights, kappa, grad, path):
    """Midpoints, their gradients by v and by κ, in float64."""
    x, k = v.clone().requires_grad_(), torch.tensor([kappa], dtype=v.dtype, requires_grad=True)
    with PATHS[path]():
        out = midpoints(x, SparseMatrix.from_tensor(weights), k, [v.shape[1]])
        grads = torch.autograd.grad((out * grad).sum(), (x, k))
    return [t.detach().double() for t in (out, *grads)]


@BOTH
@DTYPES
@pytest.mark.parametrize("radius", [3.0, 5.0, 8.0, 11.0])
def test_far_midpoints_are_those_of_fifty_digits(radius, dtype, path):
    """In float32 they were a fifth off at radius 10."""
    v, weights, grad = far_graph(radius, dtype)
    actual = computed(v, weights, -1.0, grad, path)[0]
    want = [exact_midpoint(row[row > 0].tolist(), v[row > 0].tolist(), -1.0) for row in weights]
    error = (actual - torch.tensor(want, dtype=DOUBLE)).norm(dim=1) / torch.tensor(want, dtype=DOUBLE).norm(dim=1)
    assert error.max() < 8 * torch.finfo(dtype).eps + 4 * torch.finfo(DOUBLE).eps * math.cosh(radius) ** 2


@BOTH
@pytest.mark.parametrize("radius", [0.5, 2.1, 2.3, 4.0, 8.0, 12.0])
def test_float32_gradients_far_out_are_those_of_float64(radius, path):
    for seed in range(5):
        v, weights, grad = far_graph(radius, torch.float32, seed)
        single = computed(v, weights, -1.0, grad, path)
        double = computed(v.double(), weights.double(), -1.0, grad.double(), path)
        # Parts of ∂/∂κ cancel for points near each other; beside this it is small.
        scale = double[0].norm() * grad.norm() * v.norm(dim=1).max() ** 2
        for actual, want, slack in zip(single, double, (0, 0, 2e-6 * scale), strict=True):
            assert (actual - want).norm() < 2e-5 * want.norm() + slack


@BOTH
@DTYPES
def test_a_row_alone_far_out_has_the_gradient_of_the_identity(dtype, path):
    """Without numba it was 5.7e7 in float32."""
    v = torch.tensor([[5.0, 3.0, 1.0]], dtype=dtype, requires_grad=True)
    with PATHS[path]():
        out = midpoints(v, EYE.to(dtype), torch.tensor([-1.0], dtype=dtype), [3])
        jacobian = torch.stack([torch.autograd.grad(out[0, i], v, retain_graph=True)[0][0] for i in range(3)])
    assert torch.allclose(out, v, rtol=1e-5)
    assert torch.allclose(jacobian, torch.eye(3, dtype=dtype), atol=1e-5)


@DTYPES
@pytest.mark.parametrize("kappa", [-1.0, -2.0])
@pytest.mark.parametrize("radius", [1.0, 2.2, 4.0, 8.0, 12.0, 15.0, 17.0, 20.0, 35.0, 45.0, 100.0, 400.0, 1e4])
def test_compiled_and_torch_agree_at_every_radius(radius, kappa, dtype):
    """A row that float64 no longer resolves is capped by both; before it, errors grow as ε·cosh²."""
    v, weights, grad = far_graph(radius, dtype)
    v = v / (-kappa) ** 0.5
    if radius > 17:  # one row each: sums of several are capped or not by their last digit
        weights = torch.eye(8, v.shape[0], dtype=dtype)
    # Rows that are not far are summed in their dtype, far ones in float64; a capped one loses nothing more.
    near, far = math.cosh(min(radius, 2.2)) ** 2, math.cosh(radius) ** 2 if radius <= 17 else 0.0
    tolerance = 64 * (torch.finfo(dtype).eps * near + torch.finfo(DOUBLE).eps * far)
    ours, theirs = (computed(v, weights, kappa, grad, path) for path in PATHS)
    for one, other in zip(ours, theirs, strict=True):
        assert torch.isfinite(one).all()
        assert (one - other).norm() < tolerance * (other.norm() + (1 + radius) * grad.norm())


@BOTH
@DTYPES
@pytest.mark.parametrize("radius", [40.0, 100.0, 1e3])
def test_rows_beyond_float64_are_capped_and_have_the_gradient_of_that(radius, dtype, path):
    """They keep their direction: radial derivatives are 0, others those of the point they count as."""
    farthest = math.atanh(1 - 4 * torch.finfo(DOUBLE).eps)
    v = torch.tensor([[0.6 * radius / 2, 0.8 * radius / 2]], dtype=dtype, requires_grad=True)
    k = torch.tensor([-1.0], dtype=dtype)
    with PATHS[path]():
        out = midpoints(v, EYE.to(dtype), k, [2])
        jacobian = torch.stack([torch.autograd.grad(out[0, i], v, retain_graph=True)[0][0] for i in range(2)])
        assert count_edge_rows(v.detach(), EYE, k, [2]) >= 1
    assert torch.allclose(out, torch.tensor([[0.3, 0.4]], dtype=dtype) * farthest, rtol=1e-6)
    across = torch.tensor([-0.8, 0.6], dtype=dtype)
    assert torch.allclose(jacobian, farthest / radius * torch.outer(across, across), atol=1e-6)


@DTYPES
def test_far_rows_beside_near_ones_and_other_factors(dtype):
    """Far rows take a way of their own; those of other nodes and factors must not feel it."""
    generator = torch.Generator().manual_seed(1)
    v = torch.randn(30, 6, generator=generator, dtype=DOUBLE).to(dtype)
    v[::3] *= 2
    weights = (torch.rand(20, 30, generator=generator) * (torch.rand(20, 30, generator=generator) < 0.1)).to(dtype)
    weights[0], weights[:, 0] = 0, 0.1
    kappas, dims, grad = [-1.0, 1.0, -0.3], [2, 1, 3], torch.randn(20, 6, generator=generator).to(dtype)
    results = []
    for path in PATHS.values():
        x, k = v.clone().requires_grad_(), torch.tensor(kappas, dtype=dtype, requires_grad=True)
        with path():
            out = midpoints(x, SparseMatrix.from_tensor(weights), k, dims)
            results.append([out.detach(), *torch.autograd.grad((out * grad).sum(), (x, k))])
    tolerance = 2e-5 if dtype == torch.float32 else 1e-7
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, rtol=tolerance, atol=tolerance)


def test_rows_too_far_to_lift_are_counted():
    """Far rows in all directions have midpoints near the origin: what goes in must be looked at too."""
    edge_index, _, generator = random_graph(50, 200, 0)
    x = torch.randn(50, 3, generator=generator)
    model = KappaGCN(3, 2, "H3(-1)")
    assert model.capped_rows(0.1 * x, edge_index) == 0
    assert model.capped_rows(1000 * x, edge_index) > 20


def with_arrays(matrix, dtype=DOUBLE):
    matrix = matrix.to(dtype)
    return *matrix.csr(), *matrix.csr_transpose(), matrix.row_sums()


@pytest.mark.parametrize(("radius", "dtype"), [(1.0, DOUBLE), (1.0, torch.float32), (6.0, torch.float32)])
def test_the_operation_keeps_the_rules_of_torch(radius, dtype):
    v, weights, grad = far_graph(radius, dtype)
    arrays = with_arrays(SparseMatrix.from_tensor(weights), dtype)
    v, k = v.requires_grad_(), torch.tensor([-1.0], dtype=DOUBLE, requires_grad=True)
    utils = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(midpoints_operation, (v, k, [3], *arrays), test_utils=utils)
    out = midpoints_operation(v, k, [3], *arrays)
    torch.library.opcheck(midpoints_backward, (grad, v.detach(), k.detach(), [3], *arrays), test_utils=utils)
    wanted = midpoints(v, SparseMatrix.from_tensor(weights), k, [3])
    assert torch.equal(out, wanted)
    for one, other in zip(*(torch.autograd.grad(rows, (v, k), grad) for rows in (out, wanted)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("radius", "dtype"), [(1.0, DOUBLE), (1.0, torch.float32), (8.0, torch.float32)])
@pytest.mark.parametrize("kappa", [-1.0, 0.0, 0.5])
def test_gradients_of_weights_by_compiled_loops_are_those_of_torch(kappa, radius, dtype):
    v, weights, grad = far_graph(radius, dtype)
    results = []
    for path in PATHS.values():
        entries = SparseMatrix.from_tensor(weights)
        values = entries.values.clone().requires_grad_()
        x, k = v.clone().requires_grad_(), torch.tensor([kappa], dtype=dtype, requires_grad=True)
        with path():
            out = midpoints(x, entries.with_values(values), k, [3])
            results.append((out, *torch.autograd.grad(out, (x, k, values), grad)))
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, rtol=1e-4 if dtype == torch.float32 else 1e-8, atol=1e-5)
    assert "Midpoints" in type(results[0][0].grad_fn).__name__


def test_weights_of_zero_and_second_derivatives_by_weights():
    weights = torch.tensor([0.0, 0.0, 0.3, 0.7], dtype=DOUBLE, requires_grad=True)
    v = torch.tensor([[0.3, 0.1], [-0.2, 0.4], [0.1, 0.1]], dtype=DOUBLE, requires_grad=True)
    rows, cols = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1, 2])

    def computed(v, k, weights):
        return midpoints(v, SparseMatrix(rows, cols, weights, (3, 3)), k, [2])

    k = torch.tensor([-1.0], dtype=DOUBLE, requires_grad=True)
    assert torch.isfinite(torch.autograd.grad(computed(v, k, weights).sum(), weights)[0]).all()
    positive = weights.detach().clamp(min=0.1).requires_grad_()
    assert torch.autograd.gradcheck(computed, (v, k, positive))
    assert torch.autograd.gradgradcheck(computed, (v, k, positive))
