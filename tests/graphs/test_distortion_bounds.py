"""The paper's appendix: the star K₁,₃ and the cycle C₄ cannot be embedded in any Rᵏ without distortion."""

import math

import pytest
import torch

from kappagcn.graphs import cycle, shortest_paths, star


def least_distortion(data, dim, starts=12, steps=3000):
    """The smallest worst-case distortion, max ratio over min ratio of distances, found by descent from many starts."""
    n = data.num_nodes
    i, j = torch.triu_indices(n, n, 1)
    want = shortest_paths(data)[i, j].double()
    points = torch.randn(starts, n, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points.requires_grad_()
    optimiser = torch.optim.Adam([points], lr=0.02)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.998)
    best = math.inf
    for step in range(steps):
        optimiser.zero_grad()
        ratio = (points[:, i] - points[:, j]).norm(dim=-1).clamp_min(1e-9).log() - want.log()
        best = min(best, float((ratio.amax(dim=1) - ratio.amin(dim=1)).detach().min().exp()))
        sharp = 20 * 1.0025**step  # a smooth maximum that sharpens
        spread = (torch.logsumexp(sharp * ratio, dim=1) + torch.logsumexp(-sharp * ratio, dim=1)) / sharp
        spread.sum().backward()
        optimiser.step()
        schedule.step()
    return best


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize(("data", "bound"), [(star(3), 2 / math.sqrt(3)), (cycle(4), math.sqrt(2))])
def test_the_bound_holds_and_is_attained(data, bound, dim):
    found = least_distortion(data, dim)
    assert bound - 1e-9 <= found <= bound + 2e-3


@pytest.mark.parametrize(("data", "bound"), [(star(3), 2 / math.sqrt(3)), (cycle(4), math.sqrt(2))])
def test_on_a_line_it_is_worse(data, bound):
    assert least_distortion(data, 1) > bound + 0.1
