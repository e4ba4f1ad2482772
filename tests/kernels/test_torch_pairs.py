"""Sums over pairs by torch beside the compiled ones, where blocks end, directions are close or many pairs are near."""

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import pair_loss
from kappagcn.geometry import ProductManifold
from kappagcn.kernels import torch_pairs
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn.point_distances import distances_from
from kappagcn.objectives import PAIR_OBJECTIVES

N = 70


def points(dim, spread, close=0.1):
    generator = torch.Generator().manual_seed(5)
    v = spread * torch.randn(N, dim, generator=generator, dtype=torch.float64)
    v[N // 2 :] = v[: N // 2] * (1 + close * torch.randn(N // 2, dim, generator=generator, dtype=torch.float64))
    return v


def lengths():
    generator = torch.Generator().manual_seed(6)
    whole = torch.randint(1, 9, (N, N), generator=generator).triu(1)
    return whole + whole.T


def value_and_gradients(v, signature, objective, sources=None):
    manifold = ProductManifold.from_signature(signature, trainable=True).double()
    v, rows = v.clone().requires_grad_(), lengths() if sources is None else lengths()[sources]
    loss = pair_loss(v, manifold, GraphDistances(rows, sources), objective)
    loss.backward()
    kappas = [factor.curvature.raw.grad for factor in manifold.factors if factor.curvature.raw.grad is not None]
    return loss.detach(), v.grad, *kappas


@pytest.mark.parametrize("block", [1, 100, 2**15])
@pytest.mark.parametrize("objective", PAIR_OBJECTIVES)
@pytest.mark.parametrize("signature", ["H4", "S4", "E4", "H4(-1e-6)", "S2(1e-3)xH2(-3)"])
def test_blocks_give_the_compiled_sums(monkeypatch, signature, objective, block):
    monkeypatch.setattr(torch_pairs, "BLOCK", block)
    for sources in (None, torch.tensor([3, 69, 0])):
        expected = value_and_gradients(points(4, 0.4), signature, objective, sources)
        with torch_only():
            actual = value_and_gradients(points(4, 0.4), signature, objective, sources)
        for one, other in zip(actual, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("close", [1e-3, 1e-7])
@pytest.mark.parametrize("spread", [0.3, 5.0])
def test_close_directions_are_taken_by_differences(monkeypatch, spread, close):
    """With points a factor e^20 out, and when all of a block is taken by differences."""
    expected = value_and_gradients(points(4, spread, close), "H4", "relative")
    for many in (1, N * N):
        monkeypatch.setattr(torch_pairs, "MANY", many)
        with torch_only():
            actual = value_and_gradients(points(4, spread, close), "H4", "relative")
        for one, other in zip(actual, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9 * float(other.abs().max()))


def test_gaps_are_those_of_the_differences():
    u = torch.nn.functional.normalize(points(3, 1.0, 1e-9), dim=1)
    u[0] = 0
    expected = (u[:, None] - u[None]).square().sum(-1)
    torch.testing.assert_close(torch_pairs._gaps(u, u)[0], expected, rtol=1e-11, atol=0)


def test_distances_from_some_points_are_those_of_the_space():
    v, manifold = points(4, 1.0), ProductManifold.from_signature("H2xS2").double()
    with torch_only():
        result = distances_from(v, manifold, [0, 5])
    torch.testing.assert_close(result, manifold.tangent_dist(v[[0, 5], None], v[None]), rtol=1e-9, atol=1e-12)
    assert result[0, 0] == result[1, 5] == 0


def test_coincident_points_do_not_pull_each_other():
    """Their distance has no derivative, and rounding must not make up a large one."""
    v, whole = points(4, 0.5, close=0.0), lengths()
    without = whole.clone()
    without[torch.arange(N // 2), torch.arange(N // 2, N)] = -1
    without[torch.arange(N // 2, N), torch.arange(N // 2)] = -1
    gradients = []
    for each in (whole, without):
        manifold, x = ProductManifold.from_signature("H2xS2").double(), v.clone().requires_grad_()
        with torch_only():
            pair_loss(x, manifold, GraphDistances(each), "relative", row_norm=1.0).backward()
        gradients.append(x.grad)
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)
