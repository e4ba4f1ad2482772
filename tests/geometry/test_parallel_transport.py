"""Gyration and transport where their textbook forms lose all digits: close far points, and antipodes."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

import kappagcn.geometry as G
import reference as R
from kappagcn.errors import GeometryError
from spaces import NEGATIVE, POSITIVE, spaces

N = 8
DTYPES = [torch.float32, torch.float64]


def exactly(x):
    return [mpf(a) for a in x.tolist()]


def test_a_short_way_near_the_boundary_keeps_the_length():
    """Where 1 + 2κ⟨x, y⟩ + κ²|x|²|y|² is taken for the denominator, 1.10 becomes 3.4e7 in float32."""
    x, y, v = torch.tensor([[-0.9537496, 0.3003], [-0.95374393, 0.300318], [1e-4, 0.0]])
    moved = G.transport(x, y, v, k=-1.0)
    expected = torch.tensor([float(a) for a in R.transport(exactly(x), exactly(y), exactly(v), mpf(-1))])
    # 1 + κ|x|² is 2e-4 there: a rounding of the points is worth a thousandth of a per cent.
    torch.testing.assert_close(moved, expected, rtol=0, atol=2e-3 * float(expected.norm()))
    assert float(G.norm(y, moved, k=-1.0)) == pytest.approx(float(G.norm(x, v, k=-1.0)), rel=2e-3)


@given(spaces(kappas=NEGATIVE), st.sampled_from([4.0, 6.0, 8.0]))
def test_close_far_points_keep_lengths_and_angles(space, radius):
    zero = torch.zeros(N, space.dim, dtype=space.dtype)
    x = G.geodesic_unit(radius / space.s, zero, space.normal(N, space.dim), k=space.k)
    y = G.geodesic_unit(0.3 / space.s, x, space.normal(N, space.dim), k=space.k)
    u, v = space.vectors(N), space.vectors(N)
    rounding = 40 * torch.finfo(space.dtype).eps * math.cosh(radius / 2) ** 2
    moved = [G.transport(x, y, t, k=space.k) for t in (u, v)]
    for a, b, p, q in ((u, v, *moved), (u, u, moved[0], moved[0])):
        sizes = G.norm(x, a, k=space.k) * G.norm(x, b, k=space.k)
        change = G.inner(y, p, q, k=space.k) - G.inner(x, a, b, k=space.k)
        assert (change.abs() <= rounding * sizes).all()
    turned = G.gyration(y, -x, v, k=space.k)
    assert ((turned.norm(dim=-1) - v.norm(dim=-1)).abs() <= rounding * v.norm(dim=-1)).all()


@given(spaces(kappas=POSITIVE), st.sampled_from([1e-1, 1e-3, 1e-6, 0.0]))
def test_near_antipodes_rotations_keep_lengths(space, gap):
    x = space.points(N, reach=2.5)
    y = G.antipode(x, k=space.k)
    if gap:
        y = G.geodesic_unit(gap / space.s, y, space.normal(N, space.dim), k=space.k)
    w = space.vectors(N)
    turned = G.gyration(y, -x, w, k=space.k)
    torch.testing.assert_close(turned.norm(dim=-1), w.norm(dim=-1), rtol=20 * torch.finfo(space.dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_the_antipode_vectors_go_along_the_geodesic_that_the_logarithm_takes(dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 3, dtype=dtype, generator=generator)
    y = G.antipode(x, k=1.0)
    v = G.logmap(x, y, k=1.0)
    arrived = G.transport(x, y, v, k=1.0)
    # A turn of π from x along v leads to y, and on for another π back to x.
    onwards = G.expmap(y, arrived, k=1.0)
    assert G.dist(onwards, x, k=1.0).max() <= 1e4 * torch.finfo(dtype).eps


@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_from_and_to_the_origin_nothing_turns(k):
    generator = torch.Generator().manual_seed(0)
    x, w = (0.2 * torch.randn(20, 3, dtype=torch.float64, generator=generator) for _ in range(2))
    zero = torch.zeros_like(x)
    torch.testing.assert_close(G.gyration(x, zero, w, k=k), w)
    torch.testing.assert_close(G.gyration(zero, x, w, k=k), w)
    # Beyond the equator too, from where on the two reflections take over.
    far = 100 * x
    if k >= 0:
        torch.testing.assert_close(G.gyration(far, zero, w, k=k), w)
        torch.testing.assert_close(G.gyration(zero, far, w, k=k), w)


@pytest.mark.parametrize("size", [0.3, 3.0])
def test_gradients_on_both_sides_of_the_change_of_form(size):
    """Additive form and reflections are one function: values and gradients agree across the border."""
    generator = torch.Generator().manual_seed(1)
    x, w = (torch.randn(6, 3, dtype=torch.float64, generator=generator) for _ in range(2))
    x = size * x / x.norm(dim=-1, keepdim=True)
    k = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    quarter = math.pi / 2
    for turn in (quarter - 1e-9, quarter + 1e-9, 3.0):
        y = G.geodesic_unit(turn, x, w, k=1.0)
        inputs = tuple(t.detach().clone().requires_grad_() for t in (x, y, w))
        f = lambda x, y, w, k: G.transport(x, y, w, k=k)  # noqa: E731
        assert torch.autograd.gradcheck(f, (*inputs, k), fast_mode=True)


@given(spaces())
def test_transport_from_and_to_the_origin(space):
    y, v = space.points(N), space.vectors(N)
    zero = torch.zeros_like(y)
    moved = G.transport0(y, v, k=space.k)
    close = {"rtol": space.tol(), "atol": space.tol()}
    torch.testing.assert_close(moved, G.transport(zero, y, v, k=space.k), **close)
    torch.testing.assert_close(G.transport0back(y, moved, k=space.k), v, **close)
    torch.testing.assert_close(G.transport0back(y, v, k=space.k), G.transport(y, zero, v, k=space.k), **close)
    torch.testing.assert_close(G.norm(y, moved, k=space.k), G.norm(zero, v, k=space.k), **close)


def test_transport_at_the_boundary_is_finite():
    on = torch.tensor([1.0, 0.0])
    v = torch.tensor([0.3, 0.4])
    assert G.transport0(on, v, k=-1.0).norm() > 0
    assert G.transport0back(on, v, k=-1.0).isfinite().all()


@pytest.mark.parametrize("f", [G.transport0, G.transport0back])
def test_vectors_that_are_not_finite_are_refused(f):
    with pytest.raises(GeometryError, match="v: expected finite vectors"):
        f(torch.zeros(2), torch.tensor([torch.inf, 0.0]), k=1.0)
