"""κ-logits: the geometry's on points, gradients, and hard places."""

import math
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph_samples import DOUBLE, draw, space
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import (
    KappaLogits,
    logits,
)
from kappagcn.nn.layers import hyperplane_logits

PATHS = {"compiled": nullcontext, "torch": torch_only}


KAPPAS = [-2.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0]


@pytest.mark.parametrize("path", PATHS)
@given(st.sampled_from([*KAPPAS, "H2xS1", "S2xE1xH1", "U3"]), st.integers(1, 4), st.integers(0, 50))
def test_logits_are_the_geometrys(path, signature, classes, seed):
    generator = torch.Generator().manual_seed(seed)
    manifold = space(signature)
    dim = manifold.dim or 3
    v, p, a = draw(generator, 7, dim), draw(generator, classes, dim), draw(generator, classes, dim, size=1.0)
    want = manifold.logits(manifold.expmap0(v), manifold.expmap0(p), a)
    with PATHS[path]():
        assert torch.allclose(logits(v, p, a, manifold), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("signature", [-1.0, 0.0, 1e-8, 0.8, "H2xS2"])
def test_gradients_of_logits(signature, path):
    generator = torch.Generator().manual_seed(2)
    manifold = space(signature)
    dims = [2, 2] if manifold.dim else [3]
    k = manifold.k.detach().reshape(-1).requires_grad_()
    v, p, a = (draw(generator, n, sum(dims)).requires_grad_() for n in (4, 2, 2))
    with PATHS[path]():
        assert torch.autograd.gradcheck(lambda *args: hyperplane_logits(*args, dims), (v, p, a, k))
    layer = KappaLogits(sum(dims), 2, manifold).double()
    layer(v).square().sum().backward()
    for name, parameter in layer.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kappa", [-1.0, 1.0])
@pytest.mark.parametrize("size", [1e-30, 1.0, 5.0, 20.0, 1e3])
def test_logits_are_finite_wherever_points_and_planes_lie(kappa, size, path):
    generator = torch.Generator().manual_seed(3)
    manifold = space(kappa, torch.float32)
    v, p = (draw(generator, n, 3, size=size).float().requires_grad_() for n in (20, 4))
    a = torch.ones(4, 3).index_fill_(0, torch.tensor([0, 3]), 0.0 if size <= 5 else 0.1)  # some planes have no normal
    a.requires_grad_()
    with PATHS[path]():
        result = logits(v, p, a, manifold)
        result.tanh().sum().backward()
    for tensor in (result, v.grad, a.grad, p.grad, manifold.curvature.raw.grad):
        assert torch.isfinite(tensor).all()
    assert size > 5 or (result[:, [0, 3]] == 0).all()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_logits_of_a_plane_through_the_antipode_of_the_origin_vanish(path, dtype):
    generator = torch.Generator().manual_seed(4)
    k = torch.tensor([2.0928], dtype=dtype, requires_grad=True)
    beyond = torch.tensor([0.0, 1e-9, -1e-7, 1e-6, 1e-4], dtype=DOUBLE)
    directions = torch.nn.functional.normalize(draw(generator, 5, 3, size=1.0), dim=1)
    p = (directions * ((math.pi / 2 + beyond) / k.item() ** 0.5)[:, None]).to(dtype).requires_grad_()
    v, a = (draw(generator, n, 3, size=1.0).to(dtype).requires_grad_() for n in (20, 5))
    with PATHS[path]():
        result = hyperplane_logits(v, p, a, k, [3])
        result.sum().backward()
    assert result.abs().max() < 1e-4
    for tensor in (v, p, a, k):
        assert torch.isfinite(tensor.grad).all()
        assert tensor.grad.abs().max() < 1
