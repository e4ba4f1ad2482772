"""Coaddition, pointwise products, functions at the origin and steps: their laws, and digits against mpmath."""

import math

import pytest
import torch
from hypothesis import given
from mpmath import mpf

import kappagcn.geometry as G
import reference as R
from kappagcn.errors import GeometryError
from kappagcn.testing import assert_on_manifold, assert_same_points
from spaces import NEGATIVE, POSITIVE, spaces

N = 8
DTYPES = [torch.float32, torch.float64]
EACH = pytest.mark.parametrize("dtype", DTYPES)


def as_mp(x):
    return [mpf(a) for a in x.tolist()]


def relative_error(actual, expected):
    gap = R.length([mpf(a) - b for a, b in zip(actual.tolist(), expected, strict=True)])
    return float(gap / R.length(expected))


@given(spaces())
def test_coaddition_is_its_definition(space):
    x, y = space.points(N, reach=1.0), space.points(N, reach=1.0)
    for a, b, actual in zip(x, y, G.coadd(x, y, k=space.k), strict=True):
        expected = R.coadd(as_mp(a), as_mp(b), mpf(space.k))
        gap = R.length([mpf(s) - t for s, t in zip(actual.tolist(), expected, strict=True)])
        assert float(gap) <= space.tol()


@EACH
@pytest.mark.parametrize("k", [-1.0, -1e-2, -1e-5, -1e-9, 0.0, 1e-9, 1e-5, 1e-2, 1.0])
def test_the_derivative_of_coaddition_by_the_curvature(dtype, k):
    """Against 50 digits, relative to its own size or to what is left where it nearly cancels: 0.05·|x ⊞ y|·max|x|²."""
    generator = torch.Generator().manual_seed(4)
    x, y = (G.random_uniform(8, 3, radius=1.5, k=-1.0, dtype=dtype, generator=generator) for _ in range(2))
    kappa = torch.full((8,), k, dtype=dtype, requires_grad=True)
    total = G.coadd(x, y, k=kappa)
    slopes = torch.stack([torch.autograd.grad(t.sum(), kappa, retain_graph=True)[0] for t in total.unbind(-1)], -1)
    bound = {torch.float32: 2e-5, torch.float64: 1e-10}[dtype]
    for a, b, value, actual in zip(x, y, total.detach(), slopes, strict=True):
        a, b = as_mp(a), as_mp(b)
        expected = R.slope(lambda c, a=a, b=b: R.coadd(a, b, c), mpf(float(kappa[0].detach())))
        gap = R.length([mpf(s) - t for s, t in zip(actual.tolist(), expected, strict=True)])
        unit = max(R.length(expected), 0.05 * R.length(as_mp(value)) * max(R.dot(a, a), R.dot(b, b)))
        assert float(gap / unit) <= bound


@given(spaces())
def test_coaddition_commutes_and_has_a_neutral_element(space):
    x, y = space.points(N), space.points(N)
    zero = torch.zeros_like(x)
    assert_same_points(G.coadd(x, zero, k=space.k), x, k=space.k, atol=space.tol())
    assert_same_points(G.coadd(zero, x, k=space.k), x, k=space.k, atol=space.tol())
    assert G.coadd(x, -x, k=space.k).abs().max() == 0
    there, back = G.coadd(x, y, k=space.k), G.coadd(y, x, k=space.k)
    assert_on_manifold(there, k=space.k)
    torch.testing.assert_close(there, back, rtol=space.tol(10), atol=space.tol(10))


@given(spaces())
def test_right_cancellation(space):
    x, y = space.points(N, reach=1.0), space.points(N, reach=1.0)
    assert_same_points(G.sub(G.coadd(x, y, k=space.k), y, k=space.k), x, k=space.k, atol=space.tol(10))
    assert_same_points(G.cosub(G.add(x, y, k=space.k), y, k=space.k), x, k=space.k, atol=space.tol(10))


@given(spaces())
def test_coaddition_is_twice_the_midpoint(space):
    x, y = space.points(N, reach=1.0), space.points(N, reach=1.0)
    midpoint = G.midpoint(torch.stack((x, y), -2), k=space.k)
    assert_same_points(G.coadd(x, y, k=space.k), G.scale(2, midpoint, k=space.k), k=space.k, atol=space.tol(10))


@EACH
@pytest.mark.parametrize("radius", [1.0, 4.0, 8.0])
def test_coaddition_near_the_boundary(dtype, radius):
    """The error is that of the points' own rounding, ε·cosh²(r/2); of close points a few ε."""
    generator = torch.Generator().manual_seed(3)
    u, w = (torch.randn(20, 3, dtype=torch.float64, generator=generator) for _ in range(2))
    x, apart, close = (
        G.expmap0(radius / 2 * v / v.norm(dim=-1, keepdim=True), k=-1.0).to(dtype) for v in (u, w, u + 1e-3 * w)
    )
    for y, bound in ((apart, 2 * math.cosh(radius / 2) ** 2), (close, 8)):
        for a, b, actual in zip(x, y, G.coadd(x, y, k=-1.0), strict=True):
            expected = R.coadd(as_mp(a), as_mp(b), mpf(-1))
            assert relative_error(actual, expected) <= bound * torch.finfo(dtype).eps


@EACH
def test_nearly_opposite_points_keep_their_digits(dtype):
    x = torch.tensor([0.7, -0.2, 0.1], dtype=dtype)
    y = -x * (1 + torch.tensor([3e-6, -2e-6, 1e-6], dtype=dtype))
    for k in (-1.0, 0.0, 1.0):
        expected = R.coadd(as_mp(x), as_mp(y), mpf(k))
        assert relative_error(G.coadd(x, y, k=k), expected) <= 8 * torch.finfo(dtype).eps


@EACH
@pytest.mark.parametrize("k", [0.3, 1.0, 5.0])
def test_sums_at_infinity(dtype, k):
    """|x||y| = 1/κ in different directions: the antipode of the origin, as a large point."""
    s = k**0.5
    x, y = torch.tensor([0.5 / s, 0.0], dtype=dtype), torch.tensor([0.0, 2 / s], dtype=dtype)
    total = G.coadd(x, y, k=k)
    torch.testing.assert_close(G.dist0(total, k=k), torch.tensor(math.pi / s, dtype=dtype), rtol=1e-6, atol=0)


@given(spaces(kappas=POSITIVE))
def test_antipodes_have_a_finite_sum_and_gradient(space):
    x = space.points(N, reach=1.0)
    x = x + 0.1 * x.sign() + (x == 0) * 0.1
    y = G.antipode(x, k=space.k).detach().requires_grad_()
    total = G.coadd(x, y, k=space.k)
    assert total.isfinite().all()
    (gradient,) = torch.autograd.grad(total.sum(), y)
    assert gradient.isfinite().all()


@EACH
def test_exact_antipodes_satisfy_right_cancellation(dtype):
    x = torch.tensor([[0.5, 0.0], [0.0, -0.25]], dtype=dtype)
    y = G.antipode(x, k=1.0)
    total = G.coadd(x, y, k=1.0)
    torch.testing.assert_close(total, (x + y) / 2)
    torch.testing.assert_close(G.sub(total, y, k=1.0), x)


@given(spaces())
def test_pointwise_products(space):
    x, w = space.points(N, reach=1.0), space.uniform(N, space.dim) + 0.1
    ones = torch.ones_like(w)
    tol = space.tol(10)
    assert_same_points(G.pointwise_mul(ones, x, k=space.k), x, k=space.k, atol=tol)
    assert_same_points(G.pointwise_mul(0.7 * ones, x, k=space.k), G.scale(0.7, x, k=space.k), k=space.k, atol=tol)
    assert (G.pointwise_mul(0 * ones, x, k=space.k) == 0).all()
    diagonal = G.matmul_right(x, w[0].diag(), k=space.k)
    assert_same_points(G.pointwise_mul(w[0], x, k=space.k), diagonal, k=space.k, atol=tol)
    twice = G.pointwise_mul(w, G.pointwise_mul(1 / w, x, k=space.k), k=space.k)
    if space.k <= 0:
        assert_same_points(twice, x, k=space.k, atol=space.tol(100))


@given(spaces())
def test_functions_at_the_origin(space):
    x = space.points(N, reach=1.0)
    half = lambda v: v / 2  # noqa: E731
    tol = space.tol(10)
    assert_same_points(G.fn_apply(x, half, k=space.k), G.scale(0.5, x, k=space.k), k=space.k, atol=tol)
    assert_same_points(G.fn_apply(x, k=space.k), x, k=space.k, atol=tol)
    chain = G.fn_apply(G.fn_apply(x, half, k=space.k), torch.tanh, k=space.k)
    assert_same_points(G.fn_apply(x, half, torch.tanh, k=space.k), chain, k=space.k, atol=tol)
    wider = G.fn_apply(x, lambda v: torch.cat((v, v), -1), k=space.k)
    assert wider.shape == (N, 2 * space.dim)


def test_curvatures_of_different_sign_share_a_call():
    k = torch.tensor([-1.0, 0.0, 0.7], dtype=torch.float64)
    x, y = (0.3 * torch.randn(5, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
    for f in (G.coadd, G.cosub, G.pointwise_mul):
        together = f(x, y, k=k)
        for i, kappa in enumerate(k.tolist()):
            torch.testing.assert_close(together[:, i], f(x[:, i], y[:, i], k=kappa), rtol=1e-14, atol=1e-14)


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(GeometryError, match="same last axis"):
        G.coadd(torch.zeros(3), torch.zeros(2), k=1.0)
    with pytest.raises(GeometryError, match="w: expected a torch"):
        G.pointwise_mul(2.0, torch.zeros(2), k=1.0)
    with pytest.raises(GeometryError, match="y: expected finite points"):
        G.coadd(torch.zeros(2), torch.ones(2), k=-1.0)


@given(spaces())
def test_the_distance_travelled_is_t(space):
    x, v = space.points(N, reach=1.0), space.vectors(N) + 0.1
    t = (0.1 + space.uniform(N)) / max(space.s, 1.0)
    reached = G.geodesic_unit(t, x, v, k=space.k)
    torch.testing.assert_close(G.dist(x, reached, k=space.k), t, rtol=space.tol(10), atol=space.tol(10))
    along = v * (t / G.norm(x, v, k=space.k)).unsqueeze(-1)
    assert_same_points(reached, G.expmap(x, along, k=space.k), k=space.k, atol=space.tol())


@given(spaces())
def test_the_length_of_the_direction_does_not_matter(space):
    x, v = space.points(N, reach=1.0), space.vectors(N) + 0.1
    t = 0.5 / max(space.s, 1.0)
    reached = G.geodesic_unit(t, x, v, k=space.k)
    for factor in (1e-25, 1e3):
        assert_same_points(G.geodesic_unit(t, x, factor * v, k=space.k), reached, k=space.k, atol=space.tol())
    assert_same_points(G.geodesic_unit(-t, x, -v, k=space.k), reached, k=space.k, atol=space.tol())


@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_no_direction_stays_with_finite_gradients(k):
    x = torch.tensor([[0.3, 0.2], [0.0, 0.0]], requires_grad=True)
    v = torch.zeros(2, 2, requires_grad=True)
    t, kappa = torch.tensor(0.7, requires_grad=True), torch.tensor(k, requires_grad=True)
    reached = G.geodesic_unit(t, x, v, k=kappa)
    torch.testing.assert_close(reached, x)
    gradients = torch.autograd.grad(reached.sum(), [x, v, t, kappa])
    assert all(g.isfinite().all() for g in gradients)


def test_half_a_turn_ends_at_the_antipode():
    x = torch.tensor([[0.5, 0.2], [0.1, -1.3]], dtype=torch.float64)
    v = torch.tensor([[1.0, 0.3], [0.2, 2.0]], dtype=torch.float64)
    reached = G.geodesic_unit(torch.pi, x, v, k=1.0)
    assert_same_points(reached, G.antipode(x, k=1.0), k=1.0, atol=1e-12)


@given(spaces())
def test_retraction_agrees_with_the_exponential_map_to_first_order(space):
    x, v = space.points(N, reach=1.0).double(), space.vectors(N).double()
    steps = (1e-3 * v, 5e-4 * v)
    gaps = [(G.retract(x, u, k=space.k) - G.expmap(x, u, k=space.k)).norm(dim=-1).max() for u in steps]
    assert gaps[1] <= 0.3 * gaps[0] + 1e-15  # halving the step quarters the gap


@given(spaces(kappas=NEGATIVE))
def test_a_long_step_ends_inside_the_ball(space):
    y = G.retract(space.points(N), 1e3 / space.s * space.vectors(N), k=space.k)
    assert_on_manifold(y, k=space.k)


def test_steps_of_arguments_that_do_not_fit_are_refused():
    x = torch.zeros(2)
    with pytest.raises(GeometryError, match="t: expected a finite number, found nan"):
        G.geodesic_unit(float("nan"), x, x + 1, k=1.0)
    with pytest.raises(GeometryError, match="same last axis"):
        G.retract(x, torch.zeros(3), k=1.0)
