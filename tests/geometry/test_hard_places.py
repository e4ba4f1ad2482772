"""The places where others return NaN, infinity or a wrong number: right values and finite gradients."""

import math

import pytest
import torch
from mpmath import mpf

import kappagcn.geometry as G
import reference as R
from kappagcn.errors import GeometryError

DTYPES = [torch.float32, torch.float64]
KAPPAS = [-2.0, -1.0, -1e-6, 0.0, 1e-6, 1.0, 2.0]
EACH = pytest.mark.parametrize("dtype", DTYPES)


def gradients(f, *tensors, k):
    """f's value and its gradients by every tensor and by κ, all finite."""
    kappa = torch.tensor(k, dtype=tensors[0].dtype, requires_grad=True)
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    value = f(*leaves, k=kappa)
    grads = torch.autograd.grad(value.sum(), [*leaves, kappa], allow_unused=True)
    assert value.isfinite().all()
    assert all(g is None or g.isfinite().all() for g in grads)
    return value.detach(), grads


@EACH
@pytest.mark.parametrize("k", KAPPAS)
def test_coincident_points(dtype, k):
    x = torch.tensor([[0.3, -0.2, 0.1], [0.0, 0.0, 0.0]], dtype=dtype)
    d, (gx, gy, gk) = gradients(G.dist, x, x, k=k)
    assert (d == 0).all()
    assert (gx == 0).all()
    assert (gy == 0).all()
    assert gk == 0
    v, (gx, gy, _) = gradients(G.logmap, x, x, k=k)
    assert v.abs().max() <= 1e-7
    # Moving y moves the logarithm by as much: the gradient of the sum is 1 per coordinate.
    torch.testing.assert_close(gy, torch.ones_like(x), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gx, -torch.ones_like(x), rtol=1e-5, atol=1e-6)
    gradients(G.cdist, x, x, k=k)
    assert (G.cdist(x, x, k=k).diagonal() == 0).all()
    d, _ = gradients(G.tangent_dist, x, x, k=k)
    assert (d == 0).all()


@EACH
@pytest.mark.parametrize("k", KAPPAS)
def test_zero_rows_get_a_gradient(dtype, k):
    """geoopt's logmap0 has a zero Jacobian at 0: zero rows never learn."""
    zero = torch.zeros(2, 3, dtype=dtype)
    for f in (G.logmap0, G.expmap0):
        value, (g, gk) = gradients(f, zero, k=k)
        assert (value == 0).all()
        torch.testing.assert_close(g, torch.ones_like(zero))
        assert gk == 0
    x = torch.tensor([0.3, 0.2, -0.1], dtype=dtype).expand(2, 3)
    value, (_, g, _) = gradients(G.expmap, x, zero, k=k)
    torch.testing.assert_close(value, x)
    torch.testing.assert_close(g, torch.ones_like(zero), rtol=1e-5, atol=1e-6)
    value, (g, _) = gradients(G.lift, zero, k=k)
    torch.testing.assert_close(g, 2 * torch.ones_like(zero))
    # The distance from the origin to x falls fastest towards x.
    d, (g, _, _) = gradients(G.tangent_dist, zero, x, k=k)
    torch.testing.assert_close(g, -2 * x / x.norm(dim=-1, keepdim=True), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(d, 2 * x.norm(dim=-1))


@EACH
@pytest.mark.parametrize("k", KAPPAS)
def test_tiny_vectors(dtype, k):
    v = torch.tensor([[1e-30, 0.0], [6e-31, 8e-31]], dtype=dtype)
    lengths = torch.full((2,), 1e-30, dtype=dtype)
    zero = torch.zeros_like(v)
    tol = {"rtol": 1e-6, "atol": 0.0}
    for f in (G.expmap0, G.logmap0):
        torch.testing.assert_close(gradients(f, v, k=k)[0], v, **tol)
    torch.testing.assert_close(gradients(G.expmap, zero, v, k=k)[0], v, **tol)
    torch.testing.assert_close(gradients(G.logmap, zero, v, k=k)[0], v, **tol)
    torch.testing.assert_close(gradients(G.add, zero, v, k=k)[0], v, **tol)
    torch.testing.assert_close(gradients(G.dist0, v, k=k)[0], 2 * lengths, **tol)
    torch.testing.assert_close(gradients(G.dist, zero, v, k=k)[0], 2 * lengths, **tol)
    torch.testing.assert_close(gradients(G.tangent_dist, zero, v, k=k)[0], 2 * lengths, **tol)
    torch.testing.assert_close(gradients(G.norm, zero, v, k=k)[0], 2 * lengths, **tol)
    torch.testing.assert_close(gradients(G.scale, x_r(v), v, k=k)[0], 0.5 * v, **tol)


def x_r(v):
    return torch.full(v.shape[:-1], 0.5, dtype=v.dtype)


@EACH
@pytest.mark.parametrize("k", [1e-6, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0, 30.0, 1e4])
def test_antipodes(dtype, k, size):
    """geoopt's distance between antipodes (κ = 1) is 0."""
    direction = torch.tensor([[2.0, -1.0, 2.0], [1.0, 0.0, 0.0]], dtype=dtype) / torch.tensor(
        [[3.0], [1.0]], dtype=dtype
    )
    x = size * direction
    y = G.antipode(x, k=k)
    expected = torch.full((2,), math.pi / k**0.5, dtype=dtype)
    tol = {"rtol": 8 * torch.finfo(dtype).eps, "atol": 0.0}
    torch.testing.assert_close(gradients(G.dist, x, y, k=k)[0], expected, **tol)
    torch.testing.assert_close(gradients(G.cdist, x, y, k=k)[0].diagonal(), expected, **tol)
    v, _ = gradients(G.logmap, x, y, k=k)
    torch.testing.assert_close(G.norm(x, v, k=k), expected, rtol=1e-5, atol=0)
    # Wherever the direction points, following it leads to the antipode.
    reached = G.dist(G.expmap(x, v, k=k), y, k=k)
    assert reached.max() <= 2e3 * torch.finfo(dtype).eps / k**0.5


@EACH
def test_the_antipode_of_the_origin(dtype):
    zero = torch.zeros(1, 3, dtype=dtype)
    far = G.antipode(zero, k=1.0)
    assert far.isfinite().all()
    torch.testing.assert_close(G.dist0(far, k=1.0), torch.full((1,), math.pi, dtype=dtype), rtol=1e-6, atol=0)
    torch.testing.assert_close(G.dist(zero, far, k=1.0), torch.full((1,), math.pi, dtype=dtype), rtol=1e-6, atol=0)
    total, _ = gradients(G.add, torch.tensor([[1.0, 0.0]], dtype=dtype), torch.tensor([[1.0, 0.0]], dtype=dtype), k=1.0)
    torch.testing.assert_close(G.dist0(total, k=1.0), torch.full((1,), math.pi, dtype=dtype), rtol=1e-6, atol=0)
    v = torch.tensor([[math.pi / 2, 0.0]], dtype=dtype)
    x, _ = gradients(G.expmap0, v, k=1.0)
    torch.testing.assert_close(G.dist0(x, k=1.0), torch.full((1,), math.pi, dtype=dtype), rtol=1e-6, atol=0)


@EACH
@pytest.mark.parametrize("size", [0.999, 1.0, 1.001, 4.0, 1e4])
def test_on_and_beyond_the_equator(dtype, size):
    """Values against mpmath; the equator of κ = 1 is |x| = 1."""
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(20, 3, dtype=dtype, generator=generator) for _ in range(2))
    x = size * x / x.norm(dim=-1, keepdim=True)
    v = 0.4 * y * (1 + size**2) / 2
    eps = torch.finfo(dtype).eps
    as_mp = lambda t: [[mpf(a) for a in row] for row in t.tolist()]  # noqa: E731
    d, _ = gradients(G.dist, x, y, k=1.0)
    for a, b, actual in zip(as_mp(x), as_mp(y), d.tolist(), strict=True):
        assert actual == pytest.approx(float(R.dist(a, b, mpf(1))), rel=8 * eps)
    for f, exact, second in ((G.logmap, R.logmap, y), (G.expmap, R.expmap, v)):
        value, _ = gradients(f, x, second, k=1.0)
        for a, b, actual in zip(as_mp(x), as_mp(second), value.tolist(), strict=True):
            expected = exact(a, b, mpf(1))
            gap = R.length([mpf(s) - t for s, t in zip(actual, expected, strict=True)])
            # Points measured on the sphere, where a coordinate of 1e4 is 2e-4 from the pole.
            unit = 2 / (1 + R.dot(expected, expected)) if f is G.expmap else 1 / R.length(expected)
            assert float(gap * unit) <= 200 * eps


@EACH
def test_points_of_very_different_norm(dtype):
    x, y = torch.tensor([[1e4, 0.0]], dtype=dtype), torch.tensor([[1e-4, 0.0]], dtype=dtype)
    for sign in (1, -1):
        expected = float(R.dist([mpf(1e4), mpf(0)], [sign * mpf(float(y[0, 0])), mpf(0)], mpf(1)))
        actual, _ = gradients(G.dist, x, sign * y, k=1.0)
        assert float(actual) == pytest.approx(expected, rel=8 * torch.finfo(dtype).eps)
        assert float(G.cdist(x, sign * y, k=1.0)) == pytest.approx(expected, rel=8 * torch.finfo(dtype).eps)


@EACH
@pytest.mark.parametrize("k", [0.0, 1e-30, -1e-30])
@pytest.mark.parametrize("size", [1.0, 1e4, 1e7])
def test_large_separations_in_flat_space(dtype, k, size):
    x, zero = torch.tensor([[0.6 * size, 0.8 * size]], dtype=dtype), torch.zeros(1, 2, dtype=dtype)
    expected = torch.full((1,), 2 * size, dtype=dtype)
    tol = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 0.0}
    for f in (G.dist, G.tangent_dist, lambda x, y, k: G.cdist(x, y, k=k).squeeze(0)):
        torch.testing.assert_close(gradients(f, x, zero, k=k)[0], expected, **tol)


@EACH
@pytest.mark.parametrize("k", [-5.0, -1.0, -1e-4])
def test_the_boundary_of_the_ball(dtype, k):
    radius = abs(k) ** -0.5
    on = torch.tensor([[radius, 0.0], [0.6 * radius, 0.8 * radius]], dtype=dtype)
    inside = torch.tensor([[0.3 * radius, 0.1 * radius], [0.0, 0.0]], dtype=dtype)
    least = {torch.float32: 14.0, torch.float64: 33.0}[dtype] * radius
    for f in (G.dist, lambda x, y, k: G.dist0(x, k=k)):
        d, _ = gradients(f, on, inside, k=k)
        assert (d > least).all()
    for f in (G.logmap, G.add, G.expmap):
        gradients(f, on, inside, k=k)
        gradients(f, inside, on, k=k)
    gradients(G.logmap0, on, k=k)
    # Large tangent vectors end inside, and far from the origin.
    v = 1000 * radius * torch.eye(2, dtype=dtype)
    x, _ = gradients(G.expmap0, v, k=k)
    assert (1 + k * x.square().sum(-1) > 0).all()
    assert (G.dist0(x, k=k) > least).all()
    x, _ = gradients(G.expmap, inside, v, k=k)
    assert (1 + k * x.square().sum(-1) > 0).all()


def test_projection_resolves_more_than_a_tree():
    """geoopt's project caps float32 distances at 12.4/√−κ: at κ = −5 below a depth-5 tree's diameter of 10."""
    x = G.project(torch.tensor([[1.0, 0.0]]), k=-5.0)
    assert float(G.dist(x, -x, k=-5.0)) > 10


@EACH
def test_curvature_moves_while_points_stay(dtype):
    """|x| = 0.9 is inside for κ = −1 and outside for κ = −2: said, not computed with."""
    x = torch.tensor([[0.9, 0.0], [0.1, 0.2]], dtype=dtype)
    for f in (G.lambda_x, G.dist0, G.logmap0):
        f(x, k=-1.0)
        with pytest.raises(GeometryError, match=r"1 of 2 .* project"):
            f(x, k=-2.0)
    kept, _ = gradients(G.project, x, k=-2.0)
    d, _ = gradients(G.dist, kept, kept.flip(0), k=-2.0)
    assert (d > 0).all()
    # Tangent vectors move with κ and never leave.
    v = G.logmap0(x, k=-1.0)
    d, _ = gradients(lambda v, k: G.dist0(G.expmap0(v, k=k), k=k), v, k=-2.0)
    torch.testing.assert_close(d, 2 * v.norm(dim=-1), rtol=1e-5, atol=0)


@pytest.mark.parametrize("k", [-4.0, -1.0, -0.01])
def test_distances_up_to_sixty_from_tangent_vectors_in_float32(k):
    generator = torch.Generator().manual_seed(2)
    s = abs(k) ** 0.5
    direction = torch.randn(60, 4, generator=generator)
    radius = torch.linspace(0.5, 15, 60)[:, None] / s  # half the distance from the origin
    u = radius * direction / direction.norm(dim=-1, keepdim=True)
    v = u.flip(0)
    close = u * (1 + torch.linspace(-0.1, 0.1, 60)[:, None]) + 1e-4 * v  # far out, in nearly the same direction
    for other in (v, close):
        d, (g, _, _) = gradients(G.tangent_dist, u, other, k=k)
        assert d.max() > 3
        for a, b, actual, slope in zip(u.tolist(), other.tolist(), d.tolist(), g.tolist(), strict=True):
            a, b = [mpf(t) for t in a], [mpf(t) for t in b]
            assert actual == pytest.approx(float(R.tangent_dist(a, b, mpf(k))), rel=2e-6)
            step = lambda h, a=a, b=b: R.tangent_dist([a[0] + h, *a[1:]], b, mpf(k))  # noqa: E731
            assert slope[0] == pytest.approx(float(R.slope(step, mpf(0))), rel=2e-5, abs=2e-6)
    assert float(G.tangent_dist(u[-1], -u[-1], k=k)) == pytest.approx(60 / s, rel=1e-6)


def test_distances_from_tangent_vectors_end_in_a_cap_not_in_infinity():
    u = torch.tensor([[150.0, 0.0], [170.0, 0.0], [150.0, 0.0], [1e4, 0.0]])
    v = torch.tensor([[145.0, 0.0], [-2.5, 0.0], [-150.0, 0.0], [0.0, 1e4]])
    d, _ = gradients(G.tangent_dist, u, v, k=-1.0)
    torch.testing.assert_close(d[:3], torch.tensor([10.0, 345.0, 600.0]), rtol=1e-6, atol=0)
    assert d[3] > 680


@EACH
def test_points_on_the_equator_parallel_to_the_normal(dtype):
    """geoopt's unclamped arcsine gives NaN there."""
    a = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=dtype)
    zero = torch.zeros_like(a)
    d, _ = gradients(lambda x, a, k: G.dist2plane(x, zero, a, k=k), a, a, k=1.0)
    torch.testing.assert_close(
        d, torch.full((2,), math.pi / 2, dtype=dtype), rtol=0, atol=4 * torch.finfo(dtype).eps ** 0.5
    )
    value, _ = gradients(lambda x, a, k: G.logits(x, zero, a, k=k), a, a, k=1.0)
    torch.testing.assert_close(
        value.diagonal(),
        torch.full((2,), math.pi, dtype=dtype),
        rtol=0,
        atol=8 * torch.finfo(dtype).eps ** 0.5,
    )


@EACH
@pytest.mark.parametrize("k", KAPPAS)
def test_second_derivatives_are_finite_where_they_exist(dtype, k):
    x = torch.tensor([[0.3, -0.2], [0.0, 0.0]], dtype=dtype, requires_grad=True)
    y = torch.tensor([[0.1, 0.2], [0.3, 0.1]], dtype=dtype, requires_grad=True)
    kappa = torch.tensor(k, dtype=dtype, requires_grad=True)
    for f in (G.add, G.dist, G.expmap, G.logmap, G.cdist):
        first = torch.autograd.grad(f(x, y, k=kappa).square().sum(), [x, y, kappa], create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), [x, y, kappa])
        assert all(g.isfinite().all() for g in second), f


@EACH
def test_a_hundred_thousand_antipodes(dtype):
    """Rounding leaves some pairs just short of antipodal: the length of their logarithm is right all the same."""
    generator = torch.Generator().manual_seed(0)
    spread = torch.randn(100_000, 1, dtype=dtype, generator=generator).exp()
    x = spread * torch.randn(100_000, 3, dtype=dtype, generator=generator)
    y = G.antipode(x, k=1.0)
    length = G.norm(x, G.logmap(x, y, k=1.0), k=1.0)
    assert (length - math.pi).abs().max() <= 64 * torch.finfo(dtype).eps
    assert G.dist(G.geodesic(1.0, x, y, k=1.0), y, k=1.0).max() <= 64 * torch.finfo(dtype).eps


SECOND = {
    "add": lambda q, x, k: G.add(-q, x, k=k)[0],
    "logmap": lambda q, x, k: G.logmap(q, x, k=k)[0],
    "dist2": lambda q, x, k: G.dist2(q, x, k=k),
    "cdist2": lambda q, x, k: G.cdist2(q[None], x[None], k=k).squeeze(),
}


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_second_derivatives_where_points_coincide(name, k):
    q = torch.tensor([0.3, 0.2], dtype=torch.float64)
    f = lambda x: SECOND[name](q, x, k)  # noqa: E731
    hessian = torch.func.jacrev(torch.func.jacrev(f))(q.clone())
    slope, h = torch.func.grad(f), 1e-5
    steps = h * torch.eye(2, dtype=torch.float64)
    quotients = torch.stack([(slope(q + step) - slope(q - step)) / (2 * h) for step in steps])
    torch.testing.assert_close(hessian, quotients, rtol=1e-6, atol=1e-8)
    if "dist2" in name:
        metric = 2 * float(G.lambda_x(q, k=k)) ** 2 * torch.eye(2, dtype=torch.float64)
        torch.testing.assert_close(hessian, metric)


@pytest.mark.parametrize("k", [1e-6, 1e-10, 1e-14, 1e-20, 1e-24])
@EACH
def test_half_a_turn_however_large_the_sphere(dtype, k):
    half = math.pi / (2 * k**0.5)
    for x in (torch.tensor([0.3, 0.2], dtype=dtype), torch.zeros(2, dtype=dtype)):
        v = torch.tensor([half, 0.0], dtype=dtype) * 2 / G.lambda_x(x, k=k)
        if k >= 1e-20:  # on larger spheres float32 does not hold the point's derivative by κ, about 1/κ²
            gradients(lambda x, v, k: G.expmap(x, v, k=k), x, v, k=k)
        y = G.expmap(x, v, k=k)
        away = math.pi / k**0.5 - float(G.dist(x, y, k=k))
        assert abs(away) <= 16 * torch.finfo(dtype).eps * half


@pytest.mark.parametrize(("dtype", "k"), [(torch.float32, 1e-30), (torch.float64, 1e-280)])
def test_a_quarter_turn_on_a_sphere_whose_points_do_not_fit_the_dtype(dtype, k):
    v = torch.tensor([math.pi / (2 * k**0.5), 0.0], dtype=dtype)
    for x in (
        G.expmap0(v, k=k),
        G.expmap(torch.zeros_like(v), v, k=k),
        torch.vmap(lambda v: G.expmap0(v, k=k))(v[None]),
    ):
        assert G.dist0(x, k=k).isfinite().all()


@EACH
@pytest.mark.parametrize("k", [-1e6, 1e6])
def test_vectors_so_long_that_their_squares_times_curvature_overflow(dtype, k):
    v = torch.tensor([[2.1e17, 2.8e17]] if dtype == torch.float32 else [[2.1e152, 2.8e152]], dtype=dtype)
    x, _ = gradients(G.expmap0, v, k=k)
    if k < 0:
        torch.testing.assert_close(x, torch.tensor([[0.6e-3, 0.8e-3]], dtype=dtype), rtol=1e-5, atol=0)
    lifted = G.lift(v, k=k)
    assert lifted.isfinite().all()
    if k < 0:
        assert lifted.abs().min() >= 1e28


@pytest.mark.parametrize(("dtype", "radius"), [(torch.float32, 6.0), (torch.float64, 15.0)])
@pytest.mark.parametrize("k", [-4.0, -1.0, -0.01])
def test_steps_across_the_ball_are_not_cut(dtype, radius, k):
    """A step of 2·radius is longer than any distance from the origin that the dtype's ball resolves in one step."""
    s = abs(k) ** 0.5
    direction = torch.tensor([0.6, -0.8, 0.0], dtype=dtype)
    x = G.expmap0(-radius / (2 * s) * direction, k=k)
    y, _ = gradients(lambda x, k: G.geodesic_unit(4 * radius / s, x, direction, k=k), x, k=k)
    assert float(G.dist0(y, k=k)) * s >= 2.2 * radius
    back = G.geodesic_unit(2 * radius / s, x, direction, k=k)
    # A rounding of the direction grows with the hyperbolic sine of the way.
    assert float(G.dist(back, -x, k=k)) <= 4 * torch.finfo(dtype).eps * math.sinh(2 * radius) / s


@EACH
@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_adding_the_origin_changes_nothing_but_the_last_digit(dtype, k):
    generator = torch.Generator().manual_seed(0)
    x = 0.5 * torch.rand(1000, 3, dtype=dtype, generator=generator)
    zero = torch.zeros_like(x)
    tol = {"rtol": 2 * torch.finfo(dtype).eps, "atol": 0.0}
    torch.testing.assert_close(G.add(zero, x, k=k), x, **tol)
    torch.testing.assert_close(G.add(x, zero, k=k), x, **tol)


@EACH
def test_a_plane_through_a_point_far_beyond_the_equator(dtype):
    k = float(torch.tensor(0.01, dtype=dtype))
    p, a = torch.tensor([4e4, 0.0], dtype=dtype), torch.tensor([1.0, 1.0], dtype=dtype)
    for x in ([4e4 + 4, 16.0], [1.0, 2.0], [30.0, -8.0], [-0.5, 0.25]):
        x = torch.tensor(x, dtype=dtype)
        expected = R.dist2plane(*([mpf(t) for t in v.tolist()] for v in (x, p, a)), mpf(k))
        assert float(G.dist2plane(x, p, a, k=k)) == pytest.approx(float(expected), rel=64 * torch.finfo(dtype).eps)


@EACH
def test_the_gradient_by_a_very_short_normal(dtype):
    x, p = torch.tensor([0.3, 0.2], dtype=dtype), torch.tensor([0.1, 0.1], dtype=dtype)
    slopes = []
    for size in (1.0, 1e-30):
        a = torch.tensor([0.6 * size, 0.8 * size], dtype=dtype)
        _, (g, _) = gradients(lambda a, k: G.dist2plane(x, p, a, k=k), a, k=-1.0)
        slopes.append(g * size)
    torch.testing.assert_close(*slopes, rtol=1e-5, atol=1e-7)


def test_a_point_too_long_for_its_square_is_said_to_be_that():
    x = torch.tensor([1e20, 0.0])
    with pytest.raises(GeometryError, match=r"squared norms fit torch.float32, found 1 of 1 .* use float64"):
        G.dist0(x, k=0.0)
    assert float(G.dist0(x.double(), k=0.0)) == pytest.approx(2e20)
