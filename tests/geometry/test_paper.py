"""What the paper's proofs and appendices state beyond the laws of test_stereographic and test_aggregation."""

import math

import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.geometry.numerics import cos_k, sin_k
from kappagcn.testing import assert_same_points, random_isometry
from spaces import POSITIVE, spaces

N = 8


@given(spaces())
def test_exponential_map_by_sine_and_cosine(space):
    """Proof of theorem 2: exp_x(v) from the geodesic of the sphere, written with sin_κ and cos_κ for every sign."""
    x = space.points(N, reach=1.0)
    v = space.tangents(N, reach=1.0) / G.lambda_x(x, k=space.k, keepdim=True)
    k = torch.tensor(space.k, dtype=space.dtype)
    factor = G.lambda_x(x, k=space.k, keepdim=True)
    length = v.norm(dim=-1, keepdim=True)
    alpha, beta = cos_k(factor * length, k=k), sin_k(factor * length, k=k) / length
    inner = (x * v).sum(-1, keepdim=True)
    numerator = factor * (alpha - k * beta * inner) * x + beta * v
    expected = numerator / (1 + (factor - 1) * alpha - k * factor * inner * beta)
    assert_same_points(G.expmap(x, v, k=space.k), expected, k=space.k, atol=space.tol(20))


@given(spaces())
def test_gradient_of_the_conformal_factor(space):
    """∇λ = −κλ²x."""
    x = space.points(N).requires_grad_()
    factor = G.lambda_x(x, k=space.k, keepdim=True)
    (grad,) = torch.autograd.grad(factor.sum(), x)
    expected = -space.k * factor.detach() ** 2 * x.detach()
    torch.testing.assert_close(grad, expected, rtol=space.tol(10), atol=space.tol(10))


@given(spaces())
def test_every_composition_of_isometries_is_a_rotation_and_a_translation(space):
    """Theorem 7: φ(x) = z ⊕ Rx with z = φ(0) and R orthogonal, for φ a composition of two such maps too."""
    f, g = (
        random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=0.5 / max(1, space.s))
        for _ in range(2)
    )
    zero = torch.zeros(1, space.dim, dtype=space.dtype)
    z = f(g(zero))
    x = space.points(3 * space.dim + 3, reach=0.7)
    rotated = G.add(-z.expand_as(x), f(g(x)), k=space.k)
    r = torch.linalg.lstsq(x.double(), rotated.double()).solution
    tol = {"rtol": 0, "atol": space.tol(400) * max(1, space.s)}
    torch.testing.assert_close(r.mT @ r, torch.eye(space.dim, dtype=torch.float64), **tol)
    torch.testing.assert_close(x.double() @ r, rotated.double(), **tol)


@given(spaces(kappas=POSITIVE))
def test_the_lift_is_the_papers_sphere(space):
    """Φ⁻¹(x) = (λx, (λ−1)/√κ) lies on the sphere of radius 1/√κ, and Φ(x') = x'/(1 + √κ·x'_last) brings it back."""
    x = space.points(N, reach=2.5)
    factor = G.lambda_x(x, k=space.k, keepdim=True)
    on = torch.cat([factor * x, (factor - 1) / space.s], -1)
    radius = torch.full((N,), 1 / space.s, dtype=space.dtype)
    torch.testing.assert_close(on.norm(dim=-1), radius, rtol=space.tol(10) * max(1, space.s), atol=0)
    ours = G.to_ambient(x, k=space.k)
    torch.testing.assert_close(torch.cat([ours[:, :-1], ours[:, -1:] / space.s], -1), on, rtol=1e-5, atol=0)
    back = on[:, :-1] / (1 + space.s * on[:, -1:])
    assert_same_points(back, x, k=space.k, atol=space.tol(50) * max(1, 1 / space.s))


def test_metric_is_pulled_back_from_the_sphere():
    """The differential of the lift stretches every direction by λ."""
    x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)
    jacobian = torch.func.jacrev(lambda x: G.to_ambient(x, k=0.8) * torch.tensor([1, 1, 1, 0.8**-0.5]).double())(x)
    expected = G.lambda_x(x, k=0.8) ** 2 * torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(jacobian.mT @ jacobian, expected)


def distortion(lengths, paths):
    """The paper's D: largest over smallest ratio of embedded to graph distance."""
    i, j = torch.triu_indices(len(paths), len(paths), 1)
    ratio = lengths[i, j] / paths[i, j]
    return float(ratio.max() / ratio.min())


def test_the_three_star_fits_the_hyperbolic_plane_and_not_the_euclidean_one():
    """Appendix: three leaves at 120° reach distortion 1 + ε in the disk; in any R^n at least 2/√3."""
    angle = 2 * math.pi / 3 * torch.arange(3, dtype=torch.float64)
    leaves = torch.stack([angle.cos(), angle.sin()], -1)
    paths = torch.tensor([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=torch.float64)
    results = []
    for reach in (1.0, 5.0, 15.0):  # tangent vectors, so that "r → 1" may go far
        v = torch.cat([torch.zeros(1, 2, dtype=torch.float64), reach * leaves])
        results.append(distortion(G.tangent_dist(v[:, None], v[None], k=-1.0), paths))
        # sin(60°) is exactly what the Euclidean star loses.
        assert distortion(G.tangent_dist(v[:, None], v[None], k=0.0), paths) == pytest.approx(2 / math.sqrt(3))
    assert results[0] > results[1] > results[2]
    assert results[2] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("n", [3, 4, 7, 12])
def test_cycles_fit_the_circle(n):
    """Appendix: a cycle embeds in one spherical dimension with distortion 1; the square loses √2 in the plane."""
    position = torch.arange(n, dtype=torch.float64)
    steps = (position[:, None] - position[None]).abs()
    paths = torch.minimum(steps, n - steps)
    v = (math.pi * position / n)[:, None]  # half of the angle 2πi/n
    assert distortion(G.tangent_dist(v[:, None], v[None], k=1.0), paths) == pytest.approx(1, abs=1e-12)
    if n == 4:
        corners = torch.tensor([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=torch.float64)
        assert distortion(G.cdist(corners, corners, k=0.0), paths) == pytest.approx(math.sqrt(2))
