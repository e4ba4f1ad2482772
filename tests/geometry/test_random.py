import math

import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from kappagcn.testing import assert_on_manifold
from spaces import spaces


@given(spaces())
def test_uniform_points_stay_in_their_ball(space):
    x = space.points(50, reach=2.0)
    assert_on_manifold(x, k=space.k)
    assert G.dist0(x, k=space.k).max() <= 2.0 / max(1, space.s) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("k", "dim", "share"),
    [
        (0.0, 2, 0.25),  # area of half the radius
        (0.0, 5, 0.5**5),
        (-1.0, 2, (math.cosh(1.5) - 1) / (math.cosh(3) - 1)),
        (1.0, 2, (1 - math.cos(1.5)) / (1 - math.cos(3))),
        (1.0, 1, 0.5),
    ],
)
def test_uniform_points_are_uniform_by_volume(k, dim, share):
    n = 40_000
    x = G.random_uniform(n, dim, radius=3.0, k=k, generator=torch.Generator().manual_seed(0))
    inner = float((G.dist0(x, k=k) < 1.5).double().mean())
    assert abs(inner - share) < 4 * math.sqrt(share * (1 - share) / n)
    assert G.logmap0(x, k=k).mean(0).abs().max() < 0.05  # no direction preferred


def test_uniform_points_of_several_curvatures_at_once():
    k = torch.tensor([-1.0, 0.0, 1.0])
    x = G.random_uniform(20_000, 3, 2, radius=3.0, k=k, generator=torch.Generator().manual_seed(0))
    inner = (G.dist0(x, k=k) < 1.5).double().mean(0)
    shares = [(math.cosh(1.5) - 1) / (math.cosh(3) - 1), 0.25, (1 - math.cos(1.5)) / (1 - math.cos(3))]
    torch.testing.assert_close(inner, torch.tensor(shares, dtype=torch.float64), rtol=0, atol=0.015)


def test_wrapped_normal_has_the_deviation_asked_for():
    for k in (-1.0, 0.0, 1.0):
        mean = G.expmap0(torch.tensor([0.2, -0.3, 0.1]), k=k).expand(20_000, 3)
        x = G.random_wrapped_normal(mean, std=0.2, k=k, generator=torch.Generator().manual_seed(1))
        v = G.lambda_x(mean, k=k, keepdim=True) * G.logmap(mean, x, k=k)
        torch.testing.assert_close(v.std(0), torch.full((3,), 0.2), rtol=0.03, atol=0)
        assert v.mean(0).abs().max() < 0.01


def test_wrapped_normal_is_reparametrised():
    mean, std = torch.zeros(5, 2, requires_grad=True), torch.tensor(0.3, requires_grad=True)
    k = torch.tensor(-1.0, requires_grad=True)
    x = G.random_wrapped_normal(mean, std=std, k=k, generator=torch.Generator().manual_seed(2))
    assert all(g.abs().max() > 0 for g in torch.autograd.grad(x.square().sum(), [mean, std, k]))


def test_the_same_seed_gives_the_same_points():
    draw = lambda: G.random_uniform(4, 3, k=-1.0, generator=torch.Generator().manual_seed(5))  # noqa: E731
    assert torch.equal(draw(), draw())


def test_wrong_arguments():
    with pytest.raises(GeometryError, match="positive, finite geodesic radius, found -1"):
        G.random_uniform(2, 3, radius=-1.0, k=0.0)
    with pytest.raises(GeometryError, match="dimension D"):
        G.random_uniform(k=0.0)
