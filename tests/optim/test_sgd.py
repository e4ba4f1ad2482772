"""RiemannianSGD: torch.optim.SGD on ordinary parameters, Fréchet means on points, geoopt where it agrees."""

import pytest
import torch
from torch import nn

import kappagcn.geometry as G
from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.optim import ManifoldParameter, RiemannianSGD

SETTINGS = {
    "plain": {},
    "decay": {"weight_decay": 0.1},
    "momentum": {"momentum": 0.9},
    "dampened": {"momentum": 0.9, "dampening": 0.3},
    "nesterov": {"momentum": 0.8, "nesterov": True, "weight_decay": 0.05},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("maximize", [False, True])
def test_ordinary_parameters_move_as_in_torch(settings, maximize):
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(7, 3, dtype=torch.float64, generator=generator)
    matrix = torch.randn(7, 7, dtype=torch.float64, generator=generator)
    results = []
    for optimizer in (RiemannianSGD, torch.optim.SGD):
        w = nn.Parameter(start.clone())
        step = optimizer([w], lr=0.01, maximize=maximize, **settings)
        for _ in range(40):
            step.zero_grad()
            (matrix @ w).tanh().square().sum().backward()
            step.step()
        results.append(w.detach())
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [-2.0, -1e-4, 0.0, 1e-4, 1.0])
@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5}, {"retraction": True}], ids=str)
def test_it_finds_the_frechet_mean(k, settings):
    generator = torch.Generator().manual_seed(1)
    x = G.random_uniform(12, 3, radius=1.2 / max(1, abs(k)) ** 0.5, k=k, dtype=torch.float64, generator=generator)
    space = Stereographic(k).double()
    mean = ManifoldParameter(torch.full((3,), 0.3, dtype=torch.float64), manifold=space)
    optimizer = RiemannianSGD([mean], lr=0.2, **settings)
    for _ in range(100):
        optimizer.zero_grad()
        space.dist2(mean, x).mean().backward()
        optimizer.step()
    torch.testing.assert_close(mean.detach(), G.frechet_mean(x, k=k), rtol=0, atol=1e-9)


def test_a_step_follows_the_geodesic_and_transports_momentum():
    space = ProductManifold.from_signature("H2xS3", dtype=torch.float64)
    start = space.random_uniform(4, generator=torch.Generator().manual_seed(2))
    x = ManifoldParameter(start.clone(), manifold=space)
    optimizer = RiemannianSGD([x], lr=0.1, momentum=0.9)
    x.grad = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    direction = space.egrad2rgrad(start, x.grad)
    optimizer.step()
    expected = space.expmap(start, -0.1 * direction)
    torch.testing.assert_close(x.detach(), expected)
    moved = optimizer.state[x]["momentum_buffer"]
    torch.testing.assert_close(moved, space.transport(start, expected, direction))
    # Along a geodesic the velocity is transported into itself.
    torch.testing.assert_close(space.expmap(expected, -0.1 * moved), space.expmap(start, -0.2 * direction))


@pytest.mark.parametrize("k", [-1.0, 1.0])
@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "dampened"])
def test_agreement_with_geoopt(k, name):
    """With retraction, and geoopt's momentum begun at zero: of itself it begins with the Euclidean gradient."""
    settings = SETTINGS[name]  # but for dampening, which geoopt has from its first step and torch has not
    geoopt = pytest.importorskip("geoopt")
    generator = torch.Generator().manual_seed(4)
    start, goal = (G.random_uniform(6, 3, radius=0.8, k=k, dtype=torch.float64, generator=generator) for _ in range(2))
    theirs = geoopt.Stereographic(torch.tensor(k, dtype=torch.float64))
    ours = Stereographic(k).double()
    x, y = ManifoldParameter(start.clone(), manifold=ours), geoopt.ManifoldParameter(start.clone(), manifold=theirs)
    step = RiemannianSGD([x], lr=0.02, retraction=True, **settings)
    their_step = geoopt.optim.RiemannianSGD([y], lr=0.02, **settings)
    if "momentum" in settings:
        their_step.state[y]["momentum_buffer"] = torch.zeros_like(start)
    for _ in range(20):
        for parameter, optimizer in ((x, step), (y, their_step)):
            optimizer.zero_grad()
            ours.dist2(parameter, goal).sum().backward()
            optimizer.step()
    assert (x.detach() - start).norm() > 0.1
    torch.testing.assert_close(x.detach(), y.detach(), rtol=0, atol=1e-10)
