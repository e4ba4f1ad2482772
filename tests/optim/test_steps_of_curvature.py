"""The order of points and curvatures, and what the optimisers share."""

import copy

import pytest
import torch
from torch import nn

import kappagcn.geometry as G
from kappagcn.errors import ConfigError, GeometryError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.optim import ManifoldParameter, RiemannianAdam, RiemannianSGD

OPTIMIZERS = {
    "sgd": lambda params, lr, **settings: RiemannianSGD(params, lr=lr, **settings),
    "momentum": lambda params, lr, **settings: RiemannianSGD(params, lr=lr, momentum=0.9, **settings),
    "adam": lambda params, lr, **settings: RiemannianAdam(params, lr=lr, **settings),
}
EACH = pytest.mark.parametrize("build", OPTIMIZERS.values(), ids=OPTIMIZERS)


def points(space, *size, radius=1.0, seed=0):
    return space.random_uniform(*size, radius=radius, generator=torch.Generator().manual_seed(seed))


@EACH
@pytest.mark.parametrize("first", ["points", "curvature"])
def test_a_point_that_a_step_of_the_curvature_leaves_outside_comes_back(build, first):
    """κ from −1 to about −2.2, |x| = 0.9: outside. It keeps the distance from the origin that it had; others stay."""
    space = Stereographic(Curvature(-1.0, trainable=True)).double()
    start = torch.tensor([[0.9, 0.0], [0.1, 0.2]], dtype=torch.float64)
    x = ManifoldParameter(start, manifold=space)
    groups = [{"params": [x], "lr": 1e-4}, {"params": list(space.parameters()), "lr": 1.2}]
    optimizer = build(groups if first == "points" else groups[::-1], lr=1.0)
    before = space.dist0(x).detach()
    (1e-3 * x.sum() + space.k).backward()
    optimizer.step()
    assert space.curvature.value < -2
    assert space.check_point(x.detach())
    assert (space.project(x) == x).all()
    torch.testing.assert_close(space.dist0(x)[0].detach(), before[0], rtol=1e-3, atol=0)
    torch.testing.assert_close(x[1].detach(), start[1], rtol=0, atol=1e-3)
    # The next steps go on from there.
    for _ in range(3):
        optimizer.zero_grad()
        space.dist0(x).sum().backward()
        optimizer.step()
        assert x.isfinite().all()


@EACH
def test_momentum_comes_back_with_its_point(build):
    """As long as before, in the same direction; so does momentum of a point that stays where λ grows."""
    space = Stereographic(Curvature(-1.0, trainable=True)).double()
    x = ManifoldParameter(torch.tensor([[0.9, 0.0], [0.67, 0.0]], dtype=torch.float64), manifold=space)
    optimizer = build([{"params": [x], "lr": 1e-6}, {"params": list(space.parameters()), "lr": 1.2}], lr=1.0)
    ((x @ torch.tensor([3.0, 4.0], dtype=torch.float64)).sum() + space.k).backward()
    expected = G.norm(x.detach(), G.egrad2rgrad(x.detach(), x.grad, k=-1.0), k=-1.0)
    optimizer.step()
    if optimizer.momentum_key in optimizer.state[x]:
        momentum = optimizer.state[x][optimizer.momentum_key]
        share = 0.1 if isinstance(optimizer, RiemannianAdam) else 1.0
        torch.testing.assert_close(space.norm(x, momentum).detach(), share * expected, rtol=1e-4, atol=0)
        direction = momentum / momentum.norm(dim=-1, keepdim=True)
        torch.testing.assert_close(direction, torch.tensor([[0.6, 0.8]] * 2).double(), rtol=1e-4, atol=0)


@EACH
@pytest.mark.parametrize("signature", ["H2(-0.5)xS2(0.3)", "U2xU2", "S4(0.2)"])
def test_points_stay_in_the_space_while_curvatures_are_trained(build, signature):
    """Both the points and κ are pulled outwards, far beyond where they began."""
    space = ProductManifold.from_signature(signature, trainable=True)
    x = ManifoldParameter(points(space, 6, radius=0.8), manifold=space)
    optimizer = build([x, *space.parameters()], lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        (space.k.sum() - space.dist(x, x.flip(0).detach()).sum()).backward()
        optimizer.step()
        assert space.check_point(x.detach())
    assert (space.k < 0).all()


def test_points_without_a_gradient_come_back_too():
    space = Stereographic(Curvature(-1.0, trainable=True))
    x = ManifoldParameter(torch.tensor([[0.9, 0.0]]), manifold=space)
    optimizer = RiemannianAdam([x, *space.parameters()], lr=1.5)
    space.k.backward()
    optimizer.step()
    assert x.grad is None
    assert space.check_point(x.detach())
    torch.testing.assert_close(space.dist0(x).detach(), G.dist0(torch.tensor([[0.9, 0.0]]), k=-1.0))


@EACH
@pytest.mark.parametrize("k", [-1.0, 0.0, 0.5])
def test_steps_end_in_the_space_from_anywhere(build, k):
    """From the boundary, the origin and far out, by gradients small and huge, with both kinds of steps."""
    space = Stereographic(k)
    on = {-1.0: 1.0, 0.0: 1e3, 0.5: 1e4}[k]
    start = torch.tensor([[on, 0.0], [0.0, 0.0], [0.6 * on, -0.8 * on], [0.1, 0.2]])
    for retraction in (False, True):
        for size in (0.0, 1e-20, 1.0, 1e4):  # of the Riemannian gradient
            x = ManifoldParameter(start.clone(), manifold=space)
            optimizer = build([x], lr=0.1, retraction=retraction)
            for _ in range(3):
                direction = torch.tensor([[1.0, 1.0], [-1.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
                x.grad = size * space.lambda_x(x).unsqueeze(-1).detach() * direction
                optimizer.step()
                assert space.check_point(x.detach())
            assert all(t.isfinite().all() for t in optimizer.state[x].values())


@EACH
def test_closures_and_groups(build):
    space = Stereographic(1.0, dim=2)
    x, w = ManifoldParameter(points(space, 3), manifold=space), nn.Parameter(torch.ones(2))
    frozen = nn.Parameter(torch.ones(2))
    optimizer = build([{"params": [x], "lr": 0.01}, {"params": [w, frozen]}], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = space.dist2(x, torch.zeros(2)).sum() + w.square().sum()
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure).detach()) for _ in range(5)]
    assert losses[-1] < losses[0]
    assert (frozen == 1).all()
    assert frozen not in optimizer.state or not optimizer.state[frozen]
    assert optimizer.step() is None
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.005, 0.05]


@EACH
def test_maximising_is_minimising_the_negative(build):
    space = Stereographic(-1.0, dim=3).double()
    results = []
    for maximize in (False, True):
        x = ManifoldParameter(points(space, 4), manifold=space)
        optimizer = build([x], lr=0.05, maximize=maximize, weight_decay=0.0)
        for _ in range(5):
            optimizer.zero_grad()
            loss = space.dist2(x, torch.full((3,), 0.3, dtype=torch.float64)).sum()
            (-loss if maximize else loss).backward()
            optimizer.step()
        results.append(x.detach())
    torch.testing.assert_close(results[0], results[1], rtol=1e-13, atol=1e-14)


@EACH
def test_weight_decay_is_a_penalty_on_coordinates(build):
    space = Stereographic(-1.0, dim=3).double()
    results = []
    for decay in (0.0, 0.3):
        x = ManifoldParameter(points(space, 4), manifold=space)
        optimizer = build([x], lr=0.05, weight_decay=decay)
        for _ in range(5):
            optimizer.zero_grad()
            (x.sum() + (0.3 - decay) / 2 * x.square().sum()).backward()
            optimizer.step()
        results.append(x.detach())
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-13)


@EACH
@pytest.mark.parametrize("signature", ["H3", "H2xS2"])
def test_loaded_states_continue_training(build, signature):
    """Saved after five steps and loaded into a new optimiser: the next five are the same."""
    space = ProductManifold.from_signature(signature, trainable=True, dtype=torch.float64)
    goal = points(space, 4, seed=1).detach()

    def train(x, w, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (space.dist2(x, goal) * w).sum().backward()
            optimizer.step()

    x = ManifoldParameter(points(space, 4), manifold=space)
    w = nn.Parameter(torch.ones(4, dtype=torch.float64))
    optimizer = build([x, w], lr=0.02)
    train(x, w, optimizer, 5)
    state = copy.deepcopy(optimizer.state_dict())
    y, v = ManifoldParameter(x.detach().clone(), manifold=space), nn.Parameter(w.detach().clone())
    train(x, w, optimizer, 5)
    other = build([y, v], lr=1.0)
    other.load_state_dict(state)
    train(y, v, other, 5)
    torch.testing.assert_close(y.detach(), x.detach(), rtol=0, atol=0)
    torch.testing.assert_close(v.detach(), w.detach(), rtol=0, atol=0)


def test_what_is_refused():
    w = nn.Parameter(torch.zeros(2))
    with pytest.raises(ConfigError, match="lr: expected a number that is not negative, found -1"):
        RiemannianSGD([w], lr=-1)
    with pytest.raises(ConfigError, match="momentum: expected a number that is not negative"):
        RiemannianSGD([w], momentum=-0.1)
    with pytest.raises(ConfigError, match=r"nesterov: expected a momentum and no dampening, found momentum=0\.0"):
        RiemannianSGD([w], nesterov=True)
    with pytest.raises(ConfigError, match=r"betas: .* found 1\.0 in position 1"):
        RiemannianAdam([w], betas=(0.9, 1.0))
    w.grad = torch.zeros(2).to_sparse()
    with pytest.raises(ConfigError, match=r"dense gradients, found torch\.sparse_coo"):
        RiemannianAdam([w]).step()
    x = ManifoldParameter(torch.zeros(2), manifold=Stereographic(-1.0))
    x.grad = torch.tensor([torch.nan, 0.0])
    with pytest.raises(GeometryError, match="grad: expected finite vectors"):
        RiemannianAdam([x]).step()
