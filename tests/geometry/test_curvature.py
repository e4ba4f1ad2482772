import pytest
import torch

from kappagcn.errors import GeometryError
from kappagcn.geometry import Curvature, Stereographic


@pytest.mark.parametrize("bounds", [{}, {"lower": -3.0}, {"upper": 0.5}, {"lower": -3.0, "upper": 0.5}])
@pytest.mark.parametrize("value", [-2.0, -1e-3, 0.0, 0.3])
def test_starts_at_the_given_value(bounds, value):
    assert Curvature(value, **bounds).value == pytest.approx(value, abs=1e-6)


def test_without_bounds_a_step_of_the_optimiser_is_a_step_of_kappa_through_zero():
    c = Curvature(0.05, trainable=True)
    optimiser = torch.optim.SGD(c.parameters(), lr=0.1)
    for expected in (-0.05, -0.15):
        optimiser.zero_grad()
        c().backward()
        optimiser.step()
        assert c.value == pytest.approx(expected)
    assert c.sign == -1


def test_bounds_are_never_crossed():
    for direction, least, most in ((1, -2.0, -1.9), (-1, -0.1, 0.0)):
        c = Curvature(-1.0, trainable=True, lower=-2.0, upper=0.0)
        optimiser = torch.optim.SGD(c.parameters(), lr=5.0)
        for _ in range(200):
            optimiser.zero_grad()
            (direction * c()).backward()
            optimiser.step()
            assert -2.0 <= c.value <= 0.0
        assert least <= c.value <= most
    for side in ({"lower": -1.0}, {"upper": 1.0}):
        c = Curvature(0.0, trainable=True, **side)
        with torch.no_grad():
            c.raw.fill_(-50.0 if "lower" in side else 50.0)
        assert c.value == pytest.approx(next(iter(side.values())))


def test_fixed_curvatures_are_no_parameters_but_are_saved():
    c = Curvature(-0.7)
    assert list(c.parameters()) == []
    other = Curvature(0.0)
    other.load_state_dict(c.state_dict())
    assert other.value == pytest.approx(-0.7)


@pytest.mark.parametrize(("value", "sign"), [(-1.0, -1), (0.0, 0), (2.0, 1)])
def test_reports_its_sign(value, sign):
    assert Curvature(value).sign == sign


def test_representation():
    assert repr(Curvature(-1.0, trainable=True, upper=0.0)) == "Curvature(-1, trainable, upper=0)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": float("nan")}, "finite number, found nan"),
        ({"value": 1.0, "upper": 0.5}, "strictly between its bounds -inf and 0.5, found 1"),
        ({"value": 0.0, "upper": 0.0}, "strictly between"),
    ],
)
def test_impossible_starts_are_refused(arguments, message):
    with pytest.raises(GeometryError, match=message):
        Curvature(**arguments)


def test_one_curvature_may_serve_several_spaces():
    c = Curvature(-1.0, trainable=True)
    a, b = Stereographic(c), Stereographic(c)
    (a.k * b.k).backward()
    assert c.raw.grad == -2.0
    assert len(list(torch.nn.ModuleList([a, b]).parameters())) == 1


def test_kappa_has_no_axes_and_its_parameter_has_one():
    for bounds in ({}, {"upper": 0.5}):
        c = Curvature(-1.0, trainable=True, **bounds)
        assert c.raw.shape == (1,)
        assert c().shape == ()
        c.load_state_dict({"raw": torch.tensor(-3.0)})  # as in version 0.2
        assert c.raw.tolist() == [-3.0]


@pytest.mark.parametrize("bounds", [{}, {"upper": 0.5}, {"lower": -3.0, "upper": 0.5}])
def test_after_the_meta_device_kappa_is_reset_to_its_initial_value(bounds):
    with torch.device("meta"):
        c = Curvature(-0.7, trainable=True, **bounds)
    assert repr(c).startswith("Curvature(-0.7, trainable")
    c.to_empty(device="cpu").reset_parameters()
    assert c.value == pytest.approx(-0.7)
