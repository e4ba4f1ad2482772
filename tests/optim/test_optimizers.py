"""RiemannianSGD and RiemannianAdam: torch's on ordinary parameters, Fréchet means on points, geoopt where it agrees."""

import copy

import geoopt
import pytest
import torch
from torch import nn

import kappagcn.geometry as G
from kappagcn.geometry import ProductManifold, Stereographic, to_geoopt
from kappagcn.optim import ManifoldParameter, RiemannianAdam, RiemannianSGD
from kappagcn.testing import random_isometry

OURS = {"SGD": RiemannianSGD, "Adam": RiemannianAdam}
SETTINGS = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"momentum": 0.8, "nesterov": True, "weight_decay": 0.05}),
    ("Adam", {}),
    ("Adam", {"weight_decay": 0.1}),
    ("Adam", {"betas": (0.5, 0.9), "eps": 1e-3}),
    ("Adam", {"amsgrad": True, "betas": (0.9, 0.5)}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
@pytest.mark.parametrize("maximize", [False, True])
def test_ordinary_parameters_move_as_in_torch(name, settings, maximize):
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(7, 3, dtype=torch.float64, generator=generator)
    matrix = torch.randn(7, 7, dtype=torch.float64, generator=generator)
    results = []
    for optimizer in (OURS[name], getattr(torch.optim, name)):
        w = nn.Parameter(start.clone())
        step = optimizer([w], lr=0.01, maximize=maximize, **settings)
        for _ in range(40):
            step.zero_grad()
            (matrix @ w).tanh().square().sum().backward()
            step.step()
        results.append(w.detach())
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-12)


MEANS = [
    ("SGD", {"lr": 0.2}, 1.0, 100, 1e-9),
    ("SGD", {"lr": 0.2, "momentum": 0.5}, 1.0, 100, 1e-9),
    ("SGD", {"lr": 0.2, "retraction": True}, 1.0, 100, 1e-9),
    ("Adam", {"lr": 0.1, "betas": (0.9, 0.9)}, 0.97, 300, 1e-5),  # to 2e-7 for each of 20 seeds
    ("Adam", {"lr": 0.1, "betas": (0.9, 0.9), "retraction": True}, 0.97, 300, 1e-5),
]


@pytest.mark.parametrize("k", [-2.0, -1e-4, 0.0, 1e-4, 1.0])
@pytest.mark.parametrize(("name", "settings", "decay", "steps", "atol"), MEANS, ids=str)
def test_it_finds_the_frechet_mean(k, name, settings, decay, steps, atol):
    generator = torch.Generator().manual_seed(1)
    x = G.random_uniform(12, 3, radius=1.2 / max(1, abs(k)) ** 0.5, k=k, dtype=torch.float64, generator=generator)
    space = Stereographic(k).double()
    mean = ManifoldParameter(torch.full((3,), 0.3, dtype=torch.float64), manifold=space)
    optimizer = OURS[name]([mean], **settings)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, decay)
    for _ in range(steps):
        optimizer.zero_grad()
        space.dist2(mean, x).mean().backward()
        optimizer.step()
        scheduler.step()
    torch.testing.assert_close(mean.detach(), G.frechet_mean(x, k=k), rtol=0, atol=atol)


@pytest.mark.parametrize(("name", "settings"), [s for s in SETTINGS if "dampening" not in s[1]], ids=str)
@pytest.mark.parametrize("signature", ["H3", "S3", "H2xS3"])
def test_agreement_with_geoopt(signature, name, settings):
    """With retraction, which is how geoopt steps; its momentum begins at zero here, of itself with another gradient.

    Dampening is left out: geoopt has it from its first step and torch has not.
    """
    ours = ProductManifold.from_signature(signature, dtype=torch.float64)
    start, goal = (ours.random_uniform(6, radius=0.8, generator=torch.Generator().manual_seed(i)) for i in (4, 5))
    x = ManifoldParameter(start.clone(), manifold=ours)
    y = geoopt.ManifoldParameter(start.clone(), manifold=to_geoopt(ours))
    step = OURS[name]([x], lr=0.02, retraction=True, **settings)
    their_step = getattr(geoopt.optim, f"Riemannian{name}")([y], lr=0.02, **settings)
    if "momentum" in settings:
        their_step.state[y]["momentum_buffer"] = torch.zeros_like(start)
    for _ in range(20):
        for parameter, optimizer in ((x, step), (y, their_step)):
            optimizer.zero_grad()
            ours.dist2(parameter, goal).sum().backward()
            optimizer.step()
    assert (x.detach() - start).norm() > 0.1
    torch.testing.assert_close(x.detach(), y.detach(), rtol=0, atol=1e-10)


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


def test_a_state_of_torchs_can_be_gone_on_with():
    w, v = (nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64)) for _ in range(2))
    theirs, ours = torch.optim.Adam([w], lr=0.1), RiemannianAdam([v], lr=0.1)
    for _ in range(3):
        w.grad = w.detach().clone()
        theirs.step()
    with torch.no_grad():
        v.copy_(w)
    state = copy.deepcopy(theirs.state_dict())
    state["param_groups"] = ours.state_dict()["param_groups"]
    ours.load_state_dict(state)
    for p, optimizer in ((w, theirs), (v, ours)):
        p.grad = p.detach().clone()
        optimizer.step()
    torch.testing.assert_close(v, w, rtol=1e-14, atol=0)


@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_steps_commute_with_isometries(k):
    """Nothing depends on coordinates: Adam at moved points, towards moved goals, takes moved steps."""
    generator = torch.Generator().manual_seed(5)
    space = Stereographic(k).double()
    isometry = random_isometry(3, k=k, dtype=torch.float64, generator=generator)
    start, goal = (G.random_uniform(6, 3, radius=0.8, k=k, dtype=torch.float64, generator=generator) for _ in range(2))
    results = []
    for x, y in ((start, goal), (isometry(start), isometry(goal))):
        point = ManifoldParameter(x, manifold=space)
        optimizer = RiemannianAdam([point], lr=0.05)
        for _ in range(20):
            optimizer.zero_grad()
            space.dist2(point, y).sum().backward()
            optimizer.step()
        results.append(point.detach())
    torch.testing.assert_close(isometry(results[0]), results[1], rtol=0, atol=1e-9)


def test_points_and_factors_have_second_moments_of_their_own():
    space = ProductManifold.from_signature("H2xS3", dtype=torch.float64)
    x = ManifoldParameter(space.origin(4), manifold=space)
    x.grad = torch.ones(4, 5, dtype=torch.float64) * torch.tensor([1.0, 1.0, 100.0, 100.0, 100.0])
    optimizer = RiemannianAdam([x], lr=0.1)
    optimizer.step()
    torch.testing.assert_close(space.factor_dists(x, space.origin(4)).detach(), torch.full((4, 2), 0.1).double())
