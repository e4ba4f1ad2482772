"""Steps at unit speed and by retraction."""

import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from kappagcn.testing import assert_on_manifold, assert_same_points
from spaces import NEGATIVE, spaces

N = 8


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


def test_arguments_that_do_not_fit_are_refused():
    x = torch.zeros(2)
    with pytest.raises(GeometryError, match="t: expected a finite number, found nan"):
        G.geodesic_unit(float("nan"), x, x + 1, k=1.0)
    with pytest.raises(GeometryError, match="same last axis"):
        G.retract(x, torch.zeros(3), k=1.0)
