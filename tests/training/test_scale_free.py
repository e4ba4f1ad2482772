"""Curvatures in units of the data."""

import itertools
import math

import pytest
import torch

from kappagcn.training.scale_free import CurvatureAdam, ScaleFreeCurvatures


@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("u", [-8.0, -1e-3, 0.0, 0.5, 8.0])
def test_the_coordinate_and_its_slope(radius, u):
    kappas = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (0.0, 1.0)]
    scaled = ScaleFreeCurvatures(kappas, radius)
    scaled.write(torch.tensor([u, -u], dtype=torch.float64))
    assert kappas[0].item() == -kappas[1].item() == pytest.approx(math.sinh(u) / radius**2, rel=1e-12)
    assert scaled.read().tolist() == pytest.approx([u, -u], rel=1e-9, abs=1e-12)
    kappas[0].grad = torch.tensor(3.0, dtype=torch.float64)
    assert scaled.gradient().tolist() == pytest.approx([3 * math.cosh(u) / radius**2, 0], rel=1e-9)


def test_adam_crosses_zero_and_never_runs_off():
    kappa = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    adam = CurvatureAdam([kappa], radius=2.0, lr=0.2)
    path = [float(kappa.detach())]
    for step in range(60):
        kappa.grad = torch.tensor(-1e12 if step < 30 else 1e12, dtype=torch.float64)
        adam.step(1.0)
        path.append(float(kappa.detach()))
    u = [math.asinh(4 * each) for each in path]
    assert max(path) > 0 > path[0]
    assert max(abs(b - a) for a, b in itertools.pairwise(u)) < 0.5


def test_a_loaded_state_continues_to_the_same_numbers():
    def fresh():
        kappa = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
        return kappa, CurvatureAdam([kappa], radius=1.0, lr=0.1)

    def run(kappa, adam, steps):
        for step in steps:
            kappa.grad = torch.tensor(math.sin(step), dtype=torch.float64)
            adam.step(1.0)

    whole, adam = fresh()
    run(whole, adam, range(20))
    half, first = fresh()
    run(half, first, range(8))
    other, second = fresh()
    second.load({name: t.clone() for name, t in first.tensors().items()})
    run(other, second, range(8, 20))
    assert torch.equal(other, whole)
