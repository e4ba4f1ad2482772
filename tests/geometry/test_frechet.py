import math

import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import ConvergenceWarning, GeometryError, NonUniqueMeanWarning
from kappagcn.testing import assert_same_points, random_isometry
from spaces import NEGATIVE, spaces

N = 6
UNIQUE = 0.75  # below π/4: no two points are a quarter of a great circle apart, wherever between them the mean is


@given(spaces(max_dim=8))
def test_the_weighted_logarithms_cancel(space):
    """The first-order condition Σ α_i log_m(x_i) = 0."""
    x, w = space.points(N, reach=UNIQUE), space.uniform(N) + 0.1
    m = G.frechet_mean(x, w, k=space.k)
    pull = (w / w.sum()) @ G.logmap(m.expand_as(x), x, k=space.k)
    assert G.norm(m, pull, k=space.k) <= space.tol(10)


@given(spaces(max_dim=5, dtypes=[torch.float64]))
def test_no_other_point_is_better(space):
    x, w = space.points(N, reach=UNIQUE), space.uniform(N) + 0.1
    m = G.frechet_mean(x, w, k=space.k)
    cost = lambda p: (w * G.dist(p.unsqueeze(-2), x, k=space.k) ** 2).sum(-1)  # noqa: E731
    others = G.expmap(m.expand(20, -1), 0.05 * space.normal(20, space.dim), k=space.k)
    assert (cost(others) > cost(m)).all()


@given(spaces(kappas=NEGATIVE, max_dim=4, dtypes=[torch.float64]))
def test_points_far_apart_converge(space):
    x, w = space.points(N, reach=8.0), space.uniform(N) ** 3 + 1e-3
    m = G.frechet_mean(x, w, k=space.k)  # a ConvergenceWarning would be an error
    pull = (w / w.sum()) @ G.logmap(m.expand_as(x), x, k=space.k)
    assert G.norm(m, pull, k=space.k) <= 1e-8


@given(spaces(max_dim=6))
def test_mean_of_two_lies_between_by_weight(space):
    x, y = space.points(reach=1.0), space.points(reach=1.0)
    m = G.frechet_mean(torch.stack([x, y]), torch.tensor([3.0, 1.0], dtype=space.dtype), k=space.k)
    assert_same_points(m, G.geodesic(0.25, x, y, k=space.k), k=space.k, atol=space.tol(20))


@given(spaces(max_dim=6))
def test_mean_commutes_with_isometries(space):
    x, w = space.points(N, reach=UNIQUE), space.uniform(N) + 0.1
    f = random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=0.5 / max(1, space.s))
    there = f(G.frechet_mean(x, w, k=space.k).unsqueeze(0)).squeeze(0)
    assert_same_points(G.frechet_mean(f(x), w, k=space.k), there, k=space.k, atol=space.tol(50))


@pytest.mark.parametrize("k", [-1.0, -1e-7, 0.0, 1e-7, 0.8])
def test_gradients_are_those_of_the_solution(k):
    """By differences of the solved mean: points, weights and κ, first and second derivatives."""
    generator = torch.Generator().manual_seed(0)
    x = G.random_uniform(4, 2, radius=1.0, k=k, dtype=torch.float64, generator=generator).requires_grad_()
    w = (torch.rand(4, dtype=torch.float64, generator=generator) + 0.2).requires_grad_()
    kappa = torch.tensor(k, dtype=torch.float64, requires_grad=True)
    f = lambda x, w, k: G.frechet_mean(x, w, k=k)  # noqa: E731
    assert torch.autograd.gradcheck(f, (x, w, kappa))
    assert torch.autograd.gradgradcheck(f, (x, w, kappa))


def test_where_convergence_cannot_be_read_all_steps_are_taken():
    """Far points need more than the two last steps: under vmap the search must not end before it began."""
    generator = torch.Generator().manual_seed(3)
    x = G.random_uniform(4, 5, 3, radius=8.0, k=-1.0, dtype=torch.float64, generator=generator)
    w = torch.rand(4, 5, dtype=torch.float64, generator=generator) ** 3 + 1e-3
    actual = torch.func.vmap(lambda x, w: G.frechet_mean(x, w, k=-1.0))(x, w)
    expected = torch.stack([G.frechet_mean(a, b, k=-1.0) for a, b in zip(x, w, strict=True)])
    assert_same_points(actual, expected, k=-1.0, atol=1e-7)


def test_equal_points_and_zero_weights():
    x = torch.tensor([[0.3, 0.1], [0.3, 0.1], [0.9, 0.0]])
    m = G.frechet_mean(x, torch.tensor([1.0, 2.0, 0.0]), k=-1.0)
    torch.testing.assert_close(m, x[0])


def test_means_that_are_not_unique_give_a_warning():
    angle = torch.tensor([0.0, 2.0, 4.0]) * math.pi / 3
    equator = torch.stack([angle.cos(), angle.sin()], -1)
    with pytest.warns(NonUniqueMeanWarning, match="quarter of a great circle"):
        G.frechet_mean(torch.cat([equator, torch.tensor([[0.5, 0.1]])]), k=1.0)


def test_a_search_that_stops_early_gives_a_warning():
    x = G.random_uniform(5, 3, radius=8.0, k=-1.0, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with pytest.warns(ConvergenceWarning, match="raise steps"):
        G.frechet_mean(x, torch.tensor([1.0, 1e-3, 1e-3, 1e-3, 0.2], dtype=torch.float64), k=-1.0, steps=0)


@pytest.mark.parametrize("w", [[1.0, -1.0], [0.0, 0.0], [2.0, -1.0]])
def test_weights_without_a_mean_are_refused(w):
    with pytest.raises(GeometryError, match="non-negative weights"):
        G.frechet_mean(torch.zeros(2, 2), torch.tensor(w), k=-1.0)
