"""Every law of the κ-stereographic model, over random sign, size, dimension and dtype."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mpf

import kappagcn.geometry as G
import reference as R
from kappagcn.testing import assert_isometry, assert_on_manifold, assert_same_points, random_isometry
from spaces import NEGATIVE, POSITIVE, spaces

N = 8
KAPPAS = [-2.0, -1.0, -1e-6, 0.0, 1e-6, 1.0, 2.0]
EACH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@given(spaces())
def test_conformal_factor(space):
    x = space.points(N)
    expected = 2 / (1 + space.k * x.square().sum(-1))
    torch.testing.assert_close(G.lambda_x(x, k=space.k), expected)


@given(spaces())
def test_addition_is_the_papers_formula(space):
    x, y = space.points(N, reach=1.0), space.points(N, reach=1.0)
    k, xx, xy, yy = space.k, *((a * b).sum(-1, keepdim=True) for a, b in ((x, x), (x, y), (y, y)))
    expected = ((1 - 2 * k * xy - k * yy) * x + (1 + k * xx) * y) / (1 - 2 * k * xy + k * k * xx * yy)
    torch.testing.assert_close(G.add(x, y, k=k), expected, rtol=space.tol(), atol=space.tol())


@given(spaces())
def test_the_sum_lies_in_the_space(space):
    assert_on_manifold(G.add(space.points(N, reach=3.0), space.points(N, reach=3.0), k=space.k), k=space.k)


@given(spaces())
def test_neutral_and_inverse_elements(space):
    x = space.points(N)
    zero = torch.zeros_like(x)
    assert torch.equal(G.add(zero, x, k=space.k), x)
    assert torch.equal(G.add(x, zero, k=space.k), x)
    assert G.add(G.neg(x), x, k=space.k).abs().max() <= space.tol()
    torch.testing.assert_close(G.sub(x, x, k=space.k), zero, atol=space.tol(), rtol=0)


@given(spaces())
def test_left_cancellation(space):
    x, y = space.points(N), space.points(N)
    back = G.add(x, G.add(-x, y, k=space.k), k=space.k)
    assert_same_points(back, y, k=space.k, atol=space.tol(10))


@given(spaces(kappas=POSITIVE))
def test_definiteness_of_addition(space):
    """Theorem 1: the denominator vanishes just where κ > 0 and x = y/(κ|y|²); the sum is then the point at infinity."""
    y = space.points(N, reach=1.0)
    x = y / (space.k * y.square().sum(-1, keepdim=True))
    assume(bool(x.isfinite().all()))
    total = G.add(x, y, k=space.k)
    assert total.isfinite().all()
    to_antipode_of_origin = math.pi / space.s - G.dist0(total, k=space.k)
    assert to_antipode_of_origin.abs().max() <= space.tol(10) * max(1, 1 / space.s)


@given(spaces(), st.floats(-2, 2))
def test_scaling_multiplies_the_distance_from_the_origin(space, r):
    x = space.points(N, reach=1.0)
    lengths = G.dist0(G.scale(r, x, k=space.k), k=space.k)
    torch.testing.assert_close(lengths, abs(r) * G.dist0(x, k=space.k), rtol=space.tol(), atol=space.tol())


@given(spaces(), st.floats(-1, 1), st.floats(-1, 1))
def test_scaling_is_associative_and_distributes_along_a_line(space, r, t):
    x = space.points(N, reach=1.0)
    k = space.k
    assert_same_points(G.scale(r, G.scale(t, x, k=k), k=k), G.scale(r * t, x, k=k), k=k, atol=space.tol())
    assert_same_points(
        G.add(G.scale(r, x, k=k), G.scale(t, x, k=k), k=k), G.scale(r + t, x, k=k), k=k, atol=space.tol(10)
    )


@given(spaces())
def test_distance_is_a_metric(space):
    x, y, z = (space.points(N) for _ in range(3))
    d = lambda a, b: G.dist(a, b, k=space.k)  # noqa: E731
    assert (d(x, x) == 0).all()
    torch.testing.assert_close(d(x, y), d(y, x), rtol=space.tol(), atol=0)
    assert (d(x, z) <= d(x, y) + d(y, z) + space.tol()).all()
    torch.testing.assert_close(d(torch.zeros_like(x), x), G.dist0(x, k=space.k), rtol=space.tol(), atol=0)


@given(spaces())
def test_distance_is_the_length_of_the_gyrovector(space):
    x, y = space.points(N, reach=1.2), space.points(N, reach=1.2)
    torch.testing.assert_close(
        G.dist(x, y, k=space.k),
        G.dist0(G.add(-x, y, k=space.k), k=space.k),
        rtol=space.tol(),
        atol=space.tol(),
    )


@given(spaces())
def test_distance_is_the_length_of_the_logarithm(space):
    x, y = space.points(N), space.points(N)
    v = G.logmap(x, y, k=space.k)
    torch.testing.assert_close(G.norm(x, v, k=space.k), G.dist(x, y, k=space.k), rtol=space.tol(), atol=space.tol())


@given(spaces())
def test_exponential_and_logarithm_are_inverse(space):
    x, y = space.points(N), space.points(N, reach=1.0)
    assert_same_points(G.expmap(x, G.logmap(x, y, k=space.k), k=space.k), y, k=space.k, atol=space.tol(20))
    v = space.tangents(N, reach=2.0) / G.lambda_x(x, k=space.k, keepdim=True)
    back = G.logmap(x, G.expmap(x, v, k=space.k), k=space.k)
    assert G.norm(x, back - v, k=space.k).max() <= space.tol(20)


@given(spaces())
def test_maps_at_the_origin_are_the_maps_at_zero(space):
    v = space.tangents(N)
    x = G.expmap0(v, k=space.k)
    zero = torch.zeros_like(v)
    assert_same_points(x, G.expmap(zero, v, k=space.k), k=space.k, atol=space.tol())
    torch.testing.assert_close(G.logmap0(x, k=space.k), v, rtol=space.tol(), atol=space.tol())
    torch.testing.assert_close(G.logmap(zero, x, k=space.k), v, rtol=space.tol(), atol=space.tol())
    torch.testing.assert_close(G.dist0(x, k=space.k), 2 * v.norm(dim=-1), rtol=space.tol(), atol=space.tol())


@given(spaces(), st.floats(-0.5, 1.5))
def test_geodesics_have_constant_speed_and_end_where_they_should(space, t):
    x, y = space.points(N, reach=0.8), space.points(N, reach=0.8)
    k, length = space.k, G.dist(x, y, k=space.k)
    at = lambda s: G.geodesic(s, x, y, k=k)  # noqa: E731
    assert_same_points(at(0.0), x, k=k, atol=space.tol(10))
    assert_same_points(at(1.0), y, k=k, atol=space.tol(10))
    torch.testing.assert_close(G.dist(x, at(t), k=k), abs(t) * length, rtol=space.tol(10), atol=space.tol(10))
    formula = G.add(x, G.scale(t, G.add(-x, y, k=k), k=k), k=k)
    assert_same_points(at(t), formula, k=k, atol=space.tol(20))


@given(spaces())
def test_gyration_is_its_definition(space):
    u, v, w = (space.points(N, reach=0.5) for _ in range(3))
    k = space.k
    definition = G.add(-G.add(u, v, k=k), G.add(u, G.add(v, w, k=k), k=k), k=k)
    torch.testing.assert_close(G.gyration(u, v, w, k=k), definition, rtol=space.tol(10), atol=space.tol(10))


@given(spaces(), st.floats(-2, 2))
def test_gyration_laws(space, c):
    """Lemma 1: linear (i), u⊕v = gyr[u,v](v⊕u) (ii), −(z⊕u)⊕(z⊕v) = gyr[z,u](−u⊕v) (iii), norm-preserving (iv)."""
    u, v, w, z = (space.points(N, reach=0.7) for _ in range(4))
    k, tol = space.k, {"rtol": space.tol(10), "atol": space.tol(10)}
    gyr = lambda t: G.gyration(u, v, t, k=k)  # noqa: E731
    torch.testing.assert_close(gyr(w + c * z), gyr(w) + c * gyr(z), **tol)
    torch.testing.assert_close(G.add(u, v, k=k), gyr(G.add(v, u, k=k)), **tol)
    left = G.add(-G.add(z, u, k=k), G.add(z, v, k=k), k=k)
    torch.testing.assert_close(left, G.gyration(z, u, G.add(-u, v, k=k), k=k), **tol)
    torch.testing.assert_close(gyr(w).norm(dim=-1), w.norm(dim=-1), **tol)


@given(spaces())
def test_translations_and_rotations_are_isometries(space):
    f = random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=1 / max(1, space.s))
    assert_isometry(f, space.points(N), space.points(N), k=space.k, atol=space.tol(20))


@given(spaces())
def test_rotations_commute_with_addition(space):
    x, y = space.points(N, reach=1.0), space.points(N, reach=1.0)
    r, _ = torch.linalg.qr(space.normal(space.dim, space.dim))
    assert_same_points(
        G.add(x @ r.mT, y @ r.mT, k=space.k), G.add(x, y, k=space.k) @ r.mT, k=space.k, atol=space.tol(10)
    )


@given(spaces())
def test_transport_keeps_inner_products_and_follows_geodesics(space):
    x, y = space.points(N, reach=1.0), space.points(N, reach=1.0)
    u, v = space.vectors(N), space.vectors(N)
    k, tol = space.k, {"rtol": space.tol(10), "atol": space.tol(10) * space.dim}
    pu, pv = G.transport(x, y, u, k=k), G.transport(x, y, v, k=k)
    torch.testing.assert_close(G.inner(y, pu, pv, k=k), G.inner(x, u, v, k=k), **tol)
    torch.testing.assert_close(G.transport(x, y, G.logmap(x, y, k=k), k=k), -G.logmap(y, x, k=k), **tol)
    torch.testing.assert_close(G.transport(y, x, pv, k=k), v, **tol)
    torch.testing.assert_close(G.transport(x, x, v, k=k), v, **tol)


@given(spaces())
def test_inner_product_norm_and_gradient_conversion(space):
    x, u, v = space.points(N), space.vectors(N), space.vectors(N)
    factor = G.lambda_x(x, k=space.k)
    torch.testing.assert_close(
        G.inner(x, u, v, k=space.k), factor**2 * (u * v).sum(-1), rtol=space.tol(), atol=space.tol()
    )
    torch.testing.assert_close(
        G.norm(x, v, k=space.k) ** 2, G.inner(x, v, v, k=space.k), rtol=space.tol(), atol=space.tol()
    )
    # The Riemannian gradient is the one whose inner product is the differential.
    torch.testing.assert_close(
        G.inner(x, G.egrad2rgrad(x, u, k=space.k), v, k=space.k),
        (u * v).sum(-1),
        rtol=space.tol(),
        atol=space.tol(),
    )


@given(spaces(kappas=POSITIVE))
def test_antipodes_are_half_a_great_circle_away(space):
    x = space.points(N, reach=2.5)
    opposite = G.antipode(x, k=space.k)
    expected = torch.full((N,), math.pi / space.s, dtype=space.dtype)
    torch.testing.assert_close(G.dist(x, opposite, k=space.k), expected, rtol=space.tol(10), atol=0)
    assert_same_points(G.antipode(opposite, k=space.k), x, k=space.k, atol=space.tol(10) * max(1, 1 / space.s))


@given(spaces(kappas=[*NEGATIVE, 0.0]))
def test_flat_and_hyperbolic_spaces_have_no_antipode(space):
    assert G.antipode(space.points(N), k=space.k).isnan().all()


@given(spaces(kappas=NEGATIVE), st.floats(0.5, 5))
def test_projection_brings_points_back_and_leaves_the_others(space, size):
    direction = space.normal(N, space.dim)
    x = size / space.s * direction / direction.norm(dim=-1, keepdim=True)
    y = G.project(x, k=space.k)
    assert_on_manifold(y, k=space.k)
    if size < 0.99:
        assert torch.equal(x, y)
    elif size > 1:
        torch.testing.assert_close(y.norm(dim=-1), torch.full((N,), 1 / space.s, dtype=space.dtype), rtol=1e-5, atol=0)
        torch.testing.assert_close(y / y.norm(dim=-1, keepdim=True), x / x.norm(dim=-1, keepdim=True))


@given(spaces(kappas=[0.0]))
def test_zero_curvature_is_euclidean_to_the_last_bit_or_two(space):
    x, y, v = space.vectors(N), space.vectors(N), space.vectors(N)
    tol = {"rtol": 8 * torch.finfo(space.dtype).eps, "atol": 8 * torch.finfo(space.dtype).eps}
    zero = {"k": 0.0}
    torch.testing.assert_close(G.add(x, y, **zero), x + y, **tol)
    torch.testing.assert_close(G.dist(x, y, **zero), 2 * (x - y).norm(dim=-1), **tol)
    torch.testing.assert_close(G.dist0(x, **zero), 2 * x.norm(dim=-1), **tol)
    torch.testing.assert_close(G.expmap(x, v, **zero), x + v, **tol)
    torch.testing.assert_close(G.logmap(x, y, **zero), y - x, **tol)
    torch.testing.assert_close(G.expmap0(v, **zero), v, **tol)
    torch.testing.assert_close(G.logmap0(v, **zero), v, **tol)
    torch.testing.assert_close(G.scale(0.3, x, **zero), 0.3 * x, **tol)
    torch.testing.assert_close(G.geodesic(0.3, x, y, **zero), 0.7 * x + 0.3 * y, **tol)
    torch.testing.assert_close(G.gyration(x, y, v, **zero), v, **tol)
    torch.testing.assert_close(G.transport(x, y, v, **zero), v, **tol)
    torch.testing.assert_close(G.lambda_x(x, **zero), torch.full((N,), 2.0, dtype=space.dtype), **tol)
    torch.testing.assert_close(G.project(x, **zero), x, **tol)


OPERATIONS = {
    "add": lambda x, y, v, k: G.add(x, y, k=k),
    "dist": lambda x, y, v, k: G.dist(x, y, k=k),
    "dist0": lambda x, y, v, k: G.dist0(x, k=k),
    "expmap": lambda x, y, v, k: G.expmap(x, v, k=k),
    "logmap": lambda x, y, v, k: G.logmap(x, y, k=k),
    "expmap0": lambda x, y, v, k: G.expmap0(v, k=k),
    "logmap0": lambda x, y, v, k: G.logmap0(x, k=k),
    "scale": lambda x, y, v, k: G.scale(0.7, x, k=k),
    "geodesic": lambda x, y, v, k: G.geodesic(0.3, x, y, k=k),
    "gyration": lambda x, y, v, k: G.gyration(x, y, v, k=k),
    "transport": lambda x, y, v, k: G.transport(x, y, v, k=k),
    "lift": lambda x, y, v, k: G.lift(v, k=k),
    "lower": lambda x, y, v, k: G.lower(G.lift(v, k=k) + 0.5 * G.lift(x, k=k), k=k),
    "tangent_dist": lambda x, y, v, k: G.tangent_dist(x, v, k=k),
    "midpoint": lambda x, y, v, k: G.midpoint(torch.stack([x, y, v], -2), k=k),
    "tangential_mean": lambda x, y, v, k: G.tangential_mean(torch.stack([x, y], -2), k=k, base=v),
    "frechet_mean": lambda x, y, v, k: G.frechet_mean(torch.stack([x, y, v], -2), k=k),
    "dist2plane": lambda x, y, v, k: G.dist2plane(x, y, v, k=k),
    "logits": lambda x, y, v, k: G.logits(x, y, v, k=k),
    "cdist": lambda x, y, v, k: G.cdist(x, y, k=k),
    "matmul_right": lambda x, y, v, k: G.matmul_right(x, torch.eye(x.shape[-1], dtype=x.dtype) * 0.7, k=k),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_limits_from_both_sides_meet_with_one_slope(name):
    """Theorem 3: value and derivative by κ at 0⁻ and 0⁺ are those at 0."""
    generator = torch.Generator().manual_seed(3)
    x, y, v = (0.4 * torch.randn(5, 4, dtype=torch.float64, generator=generator) for _ in range(3))
    f = lambda k: OPERATIONS[name](x, y, v, k)  # noqa: E731

    def value_and_slope(kappa):
        k = torch.tensor(kappa, dtype=torch.float64)
        return f(k), torch.func.jacrev(f)(k)

    flat, slope = value_and_slope(0.0)
    for kappa in (-1e-6, 1e-6, -1e-9, 1e-9, -1e-13, 1e-13):
        value, there = value_and_slope(kappa)
        torch.testing.assert_close(value, flat + kappa * slope, rtol=0, atol=100 * kappa**2 + 1e-14)
        torch.testing.assert_close(there, slope, rtol=1e-9, atol=100 * abs(kappa) + 1e-11)
    # ... and the slope is the difference quotient's.
    h = 1e-4
    quotient = (f(torch.tensor(h, dtype=torch.float64)) - f(torch.tensor(-h, dtype=torch.float64))) / (2 * h)
    torch.testing.assert_close(slope, quotient, rtol=1e-5, atol=1e-7)


@given(spaces(kappas=[0.0], dtypes=[torch.float64]), st.sampled_from([1e-5, -1e-5, 1e-7, -1e-7]))
def test_first_order_expansion_of_the_distance(space, k):
    """d ≈ 2|x−y| − 2κ(|x−y|³/3 + (x·y)|x−y|): the paper's, with |x−y| in the last term where it prints |x−y|²."""
    x, y = space.points(N), space.points(N)
    gap = (x - y).norm(dim=-1)
    expected = 2 * gap - 2 * k * (gap**3 / 3 + (x * y).sum(-1) * gap)
    torch.testing.assert_close(G.dist(x, y, k=k), expected, rtol=0, atol=200 * k * k + 1e-14)


def test_factors_of_different_sign_share_a_call():
    k = torch.tensor([-1.0, 0.0, 0.7], dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    x, y = (0.3 * torch.randn(5, 3, 4, dtype=torch.float64, generator=generator) for _ in range(2))
    for f in (G.add, G.dist, G.expmap, G.logmap):
        together = f(x, y, k=k)
        for i, kappa in enumerate(k.tolist()):
            torch.testing.assert_close(together[:, i], f(x[:, i], y[:, i], k=kappa), rtol=1e-14, atol=1e-14)


@given(spaces())
def test_squared_distance_is_the_square_of_the_distance(space):
    x, y = space.points(8), space.points(8)
    for a, b, actual in zip(x.tolist(), y.tolist(), G.dist2(x, y, k=space.k).tolist(), strict=True):
        expected = R.dist([mpf(s) for s in a], [mpf(t) for t in b], mpf(space.k)) ** 2
        assert actual == pytest.approx(float(expected), rel=64 * torch.finfo(space.dtype).eps)


@EACH
@pytest.mark.parametrize("k", [-1.0, -1e-2, -1e-5, -1e-9, 0.0, 1e-9, 1e-5, 1e-2, 1.0])
def test_derivative_of_the_squared_distance_by_the_curvature(dtype, k):
    """Against 50 digits, relative to its own size or to what is left where it nearly cancels: 0.05·d²·max|x|²."""
    generator = torch.Generator().manual_seed(4)
    x, y = (G.random_uniform(12, 3, radius=1.5, k=-1.0, dtype=dtype, generator=generator) for _ in range(2))
    kappa = torch.full((12,), k, dtype=dtype, requires_grad=True)
    square = G.dist2(x, y, k=kappa)
    (slopes,) = torch.autograd.grad(square.sum(), kappa)
    bound = {torch.float32: 2e-5, torch.float64: 1e-10}[dtype]
    for a, b, value, actual in zip(x.tolist(), y.tolist(), square.tolist(), slopes.tolist(), strict=True):
        a, b = [mpf(t) for t in a], [mpf(t) for t in b]
        expected = float(R.slope(lambda c, a=a, b=b: R.dist(a, b, c) ** 2, mpf(float(kappa[0].detach()))))
        unit = max(abs(expected), 0.05 * value * float(max(R.dot(a, a), R.dot(b, b))))
        assert abs(actual - expected) <= bound * unit


@given(spaces(dtypes=[torch.float64]))
def test_gradients_of_the_squared_distance_are_those_of_the_square(space):
    x, y = space.points(8), space.points(8)
    k = torch.tensor(space.k, dtype=x.dtype, requires_grad=True)
    leaves = [x.requires_grad_(), y.requires_grad_(), k]
    actual = torch.autograd.grad(G.dist2(x, y, k=k).sum(), leaves)
    expected = torch.autograd.grad(G.dist(x, y, k=k).square().sum(), leaves)
    for a, b in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


@EACH
@pytest.mark.parametrize("k", KAPPAS)
@pytest.mark.parametrize("point", [[0.3, -0.2, 0.1], [0.0, 0.0, 0.0], [0.5, 0.4, 0.0]])
def test_hessian_of_the_squared_distance_at_coincident_points_is_twice_the_metric(dtype, k, point):
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
def test_coincident_points_have_squared_distance_and_gradients_zero(dtype, k):
    x = torch.tensor([[0.3, -0.2], [0.0, 0.0]], dtype=dtype, requires_grad=True)
    kappa = torch.tensor(k, dtype=dtype, requires_grad=True)
    square = G.dist2(x, x.detach(), k=kappa)
    assert (square == 0).all()
    for gradient in torch.autograd.grad(square.sum(), [x, kappa]):
        assert (gradient == 0).all()


@EACH
@pytest.mark.parametrize("k", [1e-6, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_squared_distance_of_antipodes(dtype, k, size):
    x = size * torch.tensor([[2.0, -1.0, 2.0], [1.0, 0.0, 0.0]], dtype=dtype) / 3
    x.requires_grad_()
    square = G.dist2(x, G.antipode(x, k=k).detach(), k=k)
    expected = torch.full((2,), math.pi**2 / k, dtype=dtype)
    torch.testing.assert_close(square, expected, rtol=16 * torch.finfo(dtype).eps, atol=0)
    assert torch.autograd.grad(square.sum(), x)[0].isfinite().all()


@EACH
def test_squared_distance_at_the_boundary_of_the_ball(dtype):
    on = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=dtype, requires_grad=True)
    inside = torch.tensor([[0.3, 0.1], [0.0, 0.0]], dtype=dtype)
    square = G.dist2(on, inside, k=-1.0)
    torch.testing.assert_close(square, G.dist(on, inside, k=-1.0).square(), rtol=1e-5, atol=0)
    assert torch.autograd.grad(square.sum(), on)[0].isfinite().all()


def test_the_axis_of_squared_distances_can_be_kept():
    assert G.dist2(torch.zeros(4, 3), torch.zeros(3), k=1.0).shape == (4,)
    assert G.dist2(torch.zeros(4, 3), torch.zeros(3), k=1.0, keepdim=True).shape == (4, 1)
