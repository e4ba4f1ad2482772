import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from kappagcn.geometry.ambient import tangent_cdist
from kappagcn.geometry.numerics import LARGEST_EXPONENT, ball_gap
from kappagcn.testing import assert_same_points
from spaces import NEGATIVE, POSITIVE, spaces

N = 8


def distance_from_the_unit_quadric(v, k):
    """|κ|n|² + h² − 1| of lifts (n, h), and what rounding alone explains; both (N,), in float64.

    With u the unit roundoff and r = 2√|κ||v|: r² has a relative error of (D + 3)u, which moves sin_κ and cos_κ by r/2
    times as much, to which each adds a few u of its own. A sum of squares doubles a relative error. All of that is in
    units of |κ||n|² + h², which is 1 on the sphere, even where h = 0, and cosh 2r on the hyperboloid.
    """
    e = G.lift(v, k=k).double()
    n, h = k * e[:, :-1].square().sum(-1), e[:, -1].square()
    r = 2 * abs(k) ** 0.5 * v.double().norm(dim=-1)
    return (n + h - 1).abs(), (n.abs() + h) * rounding(r, v.shape[-1], v.dtype)


def rounding(r, dim, dtype):
    """Of the squared norm of a lift from radius r, relative to |κ||n|² + h²."""
    return torch.finfo(dtype).eps / 2 * (8 + (dim + 3) * (2 + r))


@given(spaces())
def test_lifts_lie_on_the_sphere_plane_or_hyperboloid(space):
    distance, bound = distance_from_the_unit_quadric(space.vectors(N, size=0.5 / max(1, space.s)), space.k)
    assert (distance <= bound).all()


@given(spaces(kappas=POSITIVE))
def test_lifts_from_the_equator_lie_on_the_sphere(space):
    """Where the last coordinate is 0, and no bound in units of it would hold."""
    direction = space.normal(N, space.dim)
    v = math.pi / 4 / space.s * direction / direction.norm(dim=-1, keepdim=True)
    distance, bound = distance_from_the_unit_quadric(v, space.k)
    assert (distance <= bound).all()
    assert (G.lift(v, k=space.k)[:, -1].abs() <= space.tol()).all()


@given(spaces())
def test_lifting_a_point_or_its_tangent_vector_is_the_same(space):
    x = space.points(N)
    torch.testing.assert_close(
        G.to_ambient(x, k=space.k),
        G.lift(G.logmap0(x, k=space.k), k=space.k),
        rtol=space.tol(),
        atol=space.tol(5),
    )


@given(spaces())
def test_stereographic_projection_and_its_inverse(space):
    x = space.points(N, reach=2.5)
    e = G.to_ambient(x, k=space.k)
    assert_same_points(G.from_ambient(e, k=space.k), x, k=space.k, atol=space.tol(20))
    n, h = e[:, :-1], e[:, -1:]
    if space.k <= 0:
        torch.testing.assert_close(n / (1 + h), x, rtol=space.tol(), atol=space.tol())


@given(spaces(), st.floats(0.1, 10))
def test_lower_inverts_lift_at_any_scale(space, c):
    v = space.tangents(N)
    torch.testing.assert_close(G.lower(c * G.lift(v, k=space.k), k=space.k), v, rtol=space.tol(10), atol=space.tol(10))


@given(spaces(kappas=POSITIVE))
def test_lower_beyond_the_equator(space):
    direction = space.normal(N, space.dim)
    radius = (math.pi / 2) * (0.5 + 0.45 * space.uniform(N, 1)) / space.s  # up to 0.95 of the way to the pole
    v = radius * direction / direction.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(
        G.lower(G.lift(v, k=space.k), k=space.k), v, rtol=space.tol(100) * max(1, space.s), atol=0
    )


@given(spaces())
def test_tangent_distance_is_the_distance(space):
    u, v = space.tangents(N), space.tangents(N)
    expected = G.dist(G.expmap0(u, k=space.k), G.expmap0(v, k=space.k), k=space.k)
    torch.testing.assert_close(G.tangent_dist(u, v, k=space.k), expected, rtol=space.tol(5), atol=space.tol(5))


@given(spaces(kappas=[0.3, 1.0, 5.0], dtypes=[torch.float64]), st.floats(0.1, 6))
def test_tangent_distance_wraps_round_the_sphere(space, size):
    u, v = space.vectors(N, size=size / space.s), space.vectors(N, size=size / space.s)
    cosine = (
        G.lift(u, k=space.k) * G.lift(v, k=space.k) * torch.tensor([space.k] * space.dim + [1.0], dtype=torch.float64)
    ).sum(-1)
    expected = cosine.clamp(-1, 1).acos() / space.s
    u.requires_grad_()
    actual = G.tangent_dist(u, v, k=space.k)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)
    # Away from the same and the farthest point no distance changes faster than a tangent vector's point moves.
    (slope,) = torch.autograd.grad(actual.sum(), u)
    along = (slope * u).sum(-1) / u.norm(dim=-1)
    smooth = (actual > 0.1) & (actual < math.pi / space.s - 0.1)
    assert (along.abs() <= 2 + 1e-6)[smooth].all()


@given(spaces(kappas=NEGATIVE))
def test_lowering_out_of_range_is_capped_not_infinite(space):
    """Rounding of the lift and of its lowering, relative to 2h² each, hides 1/h² = 1 − tanh² of farther rows."""
    direction = space.normal(N, space.dim)
    for r in (12.0, 40.0, 600.0):
        v = (r / (2 * space.s) * direction / direction.norm(dim=-1, keepdim=True)).requires_grad_()
        back = G.lower(G.lift(v, k=space.k), k=space.k)
        assert back.isfinite().all()
        assert torch.autograd.grad(back.sum(), v)[0].isfinite().all()
        hidden = 4 * rounding(min(r, LARGEST_EXPONENT[space.dtype]), space.dim, space.dtype) + math.cosh(r) ** -2
        reached = 2 * space.s * back.norm(dim=-1)
        assert (reached > 0.999 * math.atanh(math.sqrt(1 - hidden))).all()
        assert (reached < 1.001 * 2 * math.atanh(1 - ball_gap(v))).all()


@pytest.mark.parametrize(
    ("k", "e"),
    [(-1.0, [1.0, 0.5]), (-1.0, [0.1, -1.0]), (0.0, [1.0, 0.0]), (0.0, [1.0, -1.0]), (1.0, [0.0, 0.0])],
)
def test_vectors_that_point_nowhere_are_refused(k, e):
    for f in (G.lower, G.from_ambient):
        with pytest.raises(GeometryError, match="no direction"):
            f(torch.tensor([e]), k=k)
        # Where values cannot be read, the row is NaN and the others are right.
        good = G.lift(torch.tensor([0.2]), k=k)
        both = torch.func.vmap(lambda t, f=f: f(t, k=k))(torch.stack([torch.tensor(e), good]))
        assert both[0].isnan().all()
        torch.testing.assert_close(both[1], f(good, k=k))


@pytest.mark.parametrize("k", [-2.0, -1e-9, 0.0, 1e-9, 1.3])
def test_all_tangent_distances_are_those_of_pairs(k):
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(n, 3, dtype=torch.float64, generator=generator) for n in (7, 9))
    u[0], u[1], v[2] = 0, v[3], 300 * v[2]
    actual = tangent_cdist(u, v, k=k)
    torch.testing.assert_close(actual, G.tangent_dist(u.unsqueeze(1), v, k=k), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kappa", [-1.0, 0.0, 0.7])
def test_capped_vectors_are_the_same_inside_and_the_farthest_points_at_the_edge(kappa):
    v = torch.randn(20, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    e = 2.5 * G.lift(v, k=kappa)
    lowered = G.lower(e, k=kappa, on_edge="cap")
    assert torch.allclose(lowered, G.lower(e, k=kappa), rtol=1e-9, atol=1e-12)
    outside = G.lower(torch.tensor([3.0, 4.0, 1.0], dtype=torch.float64), k=-1.0, on_edge="cap")
    assert torch.allclose(outside, torch.tensor([0.6, 0.8], dtype=torch.float64) * 8.8376, rtol=1e-4)
    with pytest.raises(GeometryError, match="on_edge"):
        G.lower(e, k=kappa, on_edge="clip")
