"""Decoders: probabilities and gradients in float32 against float64, for near and far points and as κ → 0."""

import mpmath
import pytest
import torch

from kappagcn import ProductManifold, Stereographic
from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature
from kappagcn.nn import DotDecoder, FermiDiracDecoder

PAIRS = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]])


def probabilities(v, kappa, r, t, dtype):
    """Probabilities of links, and their gradients by points, κ, r and log t."""
    manifold = Stereographic(Curvature(kappa, trainable=True, dtype=dtype), dim=v.shape[1])
    decoder = FermiDiracDecoder(manifold, r=r, t=t).to(dtype)
    v = v.to(dtype).requires_grad_()
    p = decoder(v, PAIRS).sigmoid()
    return p.detach(), *torch.autograd.grad(
        p.sum(), (v, manifold.curvature.raw, decoder.radius, decoder.log_temperature)
    )


@pytest.mark.parametrize("kappa", [-1.0, -0.05, -1e-6, 0.0, 1e-6, 0.05, 0.4])
@pytest.mark.parametrize("radius", [0.05, 0.5, 3.0])
def test_float32_agrees_with_float64(kappa, radius):
    v = radius * torch.randn(6, 4, generator=torch.Generator().manual_seed(3))
    scale = float(4 * radius**2)
    exact = probabilities(v, kappa, scale, scale / 2, torch.float64)
    for single, double in zip(probabilities(v, kappa, scale, scale / 2, torch.float32), exact, strict=True):
        torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-5 * float(double.abs().max()))


@pytest.mark.parametrize("reach", [10.0, 40.0, 80.0])
def test_far_points_in_hyperbolic_space(reach):
    """Points that no ball of float32 holds, and that of float64 only up to 18; t is as wide as their distances."""
    v = reach * torch.nn.functional.normalize(torch.randn(6, 4, generator=torch.Generator().manual_seed(5)))
    v[1] = v[0] * 1.01 + 0.001
    square = (4 * reach) ** 2
    exact = probabilities(v, -1.0, square / 2, square / 4, torch.float64)
    for single, double in zip(probabilities(v, -1.0, square / 2, square / 4, torch.float32), exact, strict=True):
        torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-5 * float(double.abs().max()))


@pytest.mark.parametrize("kappa", [-1.0, -1e-8, 0.7])
def test_probabilities_are_those_of_fifty_digits(kappa):
    v = torch.tensor([[0.3, -0.2], [0.5, 0.9]])
    manifold = Stereographic(kappa, dim=2)
    p = FermiDiracDecoder(manifold, r=2.0, t=0.7, trainable=False)(v, torch.tensor([[0], [1]])).sigmoid().item()
    with mpmath.workdps(50):
        root = mpmath.sqrt(abs(mpmath.mpf(kappa)))
        a, b = (mpmath.matrix([mpmath.mpf(float(x)) for x in row]) for row in v)
        r_a, r_b = 2 * mpmath.norm(a), 2 * mpmath.norm(b)
        angle = mpmath.fdot(a, b) / (mpmath.norm(a) * mpmath.norm(b))
        if kappa < 0:
            cosine = mpmath.cosh(root * r_a) * mpmath.cosh(root * r_b)
            cosine -= mpmath.sinh(root * r_a) * mpmath.sinh(root * r_b) * angle
            distance = mpmath.acosh(cosine) / root
        else:
            cosine = mpmath.cos(root * r_a) * mpmath.cos(root * r_b)
            cosine += mpmath.sin(root * r_a) * mpmath.sin(root * r_b) * angle
            distance = mpmath.acos(cosine) / root
        expected = 1 / (1 + mpmath.exp((distance**2 - 2) / mpmath.mpf("0.7")))
    assert p == pytest.approx(float(expected), rel=1e-6)


def test_points_at_the_origin_get_finite_gradients():
    """Activations put many nodes there."""
    manifold = ProductManifold.from_signature("H2xS2", trainable=True)
    v = torch.zeros(3, 4, requires_grad=True)
    loss = FermiDiracDecoder(manifold)(v, torch.tensor([[0, 1], [1, 2]])).sum()
    loss.backward()
    assert torch.isfinite(v.grad).all()


def test_radius_and_temperature_can_be_fixed_and_are_checked():
    decoder = FermiDiracDecoder(Stereographic(-1.0), r=2, t=1, trainable=False)
    assert not any(p.requires_grad for p in decoder.parameters())
    assert float(decoder.r) == 2
    assert float(decoder.t) == 1
    with pytest.raises(GraphError, match="t above 0, found r = 2"):
        FermiDiracDecoder(Stereographic(-1.0), r=2, t=0)


def test_dot_decoders_are_symmetric_and_start_as_inner_products():
    v, pairs = torch.randn(5, 3), torch.tensor([[0, 1], [2, 4]])
    plain, bilinear = DotDecoder(3), DotDecoder(3, bilinear=True)
    torch.testing.assert_close(plain(v, pairs), (v[pairs[0]] * v[pairs[1]]).sum(1))
    torch.testing.assert_close(bilinear(v, pairs), plain(v, pairs))
    with torch.no_grad():
        bilinear.matrix.normal_()
    torch.testing.assert_close(bilinear(v, pairs), bilinear(v, pairs.flip(0)))
