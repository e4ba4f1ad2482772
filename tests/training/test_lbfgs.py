"""L-BFGS on functions whose minimum is known."""

import itertools
import math

import pytest
import torch

from kappagcn.training.lbfgs import LBFGS

DOUBLE = torch.float64


def minimise(function, start, steps, **options):
    def evaluate(position):
        x = position.clone().requires_grad_()
        value = function(x)
        return float(value.detach()), torch.autograd.grad(value, x)[0]

    minimum = LBFGS(evaluate, torch.as_tensor(start, dtype=DOUBLE), **options)
    values = [minimum.value]
    for _ in range(steps):
        if not minimum.step():
            break
        values.append(minimum.value)
    return minimum, values


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_a_curved_valley_is_followed_to_its_end():
    minimum, values = minimise(rosenbrock, [-1.2, 1.0, -0.5, 0.8], 200)
    torch.testing.assert_close(minimum.position, torch.ones(4, dtype=DOUBLE), rtol=0, atol=1e-5)
    assert all(after < before for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_scale_of_the_function_does_not_matter(scale):
    """Absolute thresholds would stop on small values."""
    minimum, _ = minimise(lambda x: scale * rosenbrock(x), [-1.2, 1.0], 100)
    torch.testing.assert_close(minimum.position, torch.ones(2, dtype=DOUBLE), rtol=0, atol=1e-4)


def test_kinks_are_no_obstacle():
    weights = torch.tensor([1.0, 10.0, 100.0], dtype=DOUBLE)
    minimum, _ = minimise(lambda x: (weights * (x - 1).abs()).sum() + (x[0] - x[1]) ** 2, [5.0, -3.0, 2.0], 200)
    torch.testing.assert_close(minimum.position, torch.ones(3, dtype=DOUBLE), rtol=0, atol=1e-3)


def test_values_that_are_not_finite_are_too_far():
    minimum, _ = minimise(lambda x: (x - torch.log(x)).sum(), [5.0, 0.1], 50, largest_step=100.0)
    torch.testing.assert_close(minimum.position, torch.ones(2, dtype=DOUBLE), rtol=0, atol=1e-6)


def test_no_coordinate_moves_farther_than_the_largest_step():
    positions = [torch.tensor([0.0, 0.0], dtype=DOUBLE)]
    minimum, _ = minimise(lambda x: ((x - 10) ** 2).sum(), positions[0], 0, largest_step=0.5)
    for _ in range(5):
        minimum.step()
        positions.append(minimum.position)
    moved = [float((b - a).abs().max()) for a, b in itertools.pairwise(positions)]
    assert max(moved) <= 0.5 * (1 + 1e-12)
    assert moved[-1] == pytest.approx(0.5)


def test_at_the_minimum_no_step_is_left_and_nothing_changes():
    minimum, _ = minimise(lambda x: (x**2).sum(), [0.0, 0.0], 0)
    assert not minimum.step()
    assert minimum.value == 0


def test_a_loaded_state_continues_to_the_same_numbers():
    whole, values = minimise(rosenbrock, [-1.2, 1.0], 30)
    half, _ = minimise(rosenbrock, [-1.2, 1.0], 12)
    other, _ = minimise(rosenbrock, [3.0, 3.0], 0)
    other.load({name: t.clone() for name, t in half.tensors().items()})
    for expected in values[13:]:
        other.step()
        assert other.value == expected
    assert torch.equal(other.position, whole.position)
    assert math.isfinite(whole.value)
