"""Every call of geoopt's has one of ours with the same value; where they differ on purpose, how."""

import re
from pathlib import Path

import pytest
import torch

import kappagcn.geometry as G
from geoopt_calls import CALLS, table
from kappagcn.errors import GeometryError
from kappagcn.geometry import ProductManifold, Stereographic

geoopt = pytest.importorskip("geoopt")
math = geoopt.manifolds.stereographic.math
TOL = {"rtol": 1e-10, "atol": 1e-10}
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "geometry.md"


def arguments(space):
    """Float64 points within 0.8 of the origin, tangent vectors, weights, and the rest that calls name."""
    generator = torch.Generator().manual_seed(7)
    space = space.double()
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=generator)  # noqa: E731
    points = {name: space.random_uniform(6, radius=0.8, generator=generator) for name in "xyp"}
    vectors = {name: 0.3 * draw(6, space.dim) for name in "uvwa"}
    n = draw(6).abs() + 0.5
    number = lambda value: torch.tensor(value, dtype=torch.float64)  # noqa: E731
    return points | vectors | {
        "n": n / n.sum(), "m": 0.5 * draw(space.dim, space.dim), "r": number(0.7), "t": number(0.4),
        "f": torch.tanh, "g": torch.relu, "e": space.to_ambient(points["x"]),
    }  # fmt: skip


def evaluate(call, owner, given):
    return eval(call, {name: getattr(owner, name) for name in re.findall(r"(?<![.\w])[a-z]\w+(?=\()", call)} | given)


def with_k(call):
    """A call of functions, each of which takes κ."""
    return re.sub(r"(?<![.\w])([a-z]\w+)\(([^()]*)\)", r"\1(\2, k=k)", call)


def compare(actual, expected):
    if isinstance(expected, bool):
        assert bool(actual) is expected
    else:
        torch.testing.assert_close(actual, expected.detach().as_subclass(torch.Tensor).double(), **TOL)


# Away from κ = 0 (geoopt is wrong there), before the equator (there too), in float64 (its project cuts float32). Its
# ambient coordinates are ours for |κ| = 1 alone, and its retractions from far out end elsewhere.
EVERYWHERE = [(call, k) for call in CALLS for k in (-1.0, 1.0)]
EVERYWHERE += [(c, k) for c in CALLS for k in (-4.0, -0.5, 0.5) if not re.search("ambient|retract", c.ours)]


@pytest.mark.parametrize(("call", "k"), [(call, k) for call, k in EVERYWHERE if call.sign * k >= 0], ids=str)
def test_the_same_values(call, k):
    ours, theirs = Stereographic(k, dim=3).double(), geoopt.Stereographic(torch.tensor(k, dtype=torch.float64))
    given = arguments(ours)
    compare(evaluate(call.ours, ours, given), evaluate(call.method, theirs, given))
    if call.function is not None:
        given["k"] = torch.tensor(k, dtype=torch.float64)
        compare(evaluate(with_k(call.ours), G, given), evaluate(with_k(call.function), math, given))


@pytest.mark.parametrize("call", [c for c in CALLS if c.in_products], ids=lambda call: call.ours)
def test_the_same_values_in_products(call):
    ours = ProductManifold.from_signature("H2xS3", dtype=torch.float64)
    ball, sphere = (geoopt.Stereographic(torch.tensor(k, dtype=torch.float64)) for k in (-1.0, 1.0))
    theirs = geoopt.StereographicProductManifold((ball, 2), (sphere, 3))
    given = arguments(ours)
    compare(evaluate(call.ours, ours, given), evaluate(call.method, theirs, given))


def test_the_page_shows_the_table():
    assert table() in PAGE.read_text(), "put the output of python tests/geometry/geoopt_calls.py there"


@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_weights_that_are_all_zero(k):
    """geoopt's midpoint is the origin then; ours is refused, and their linear combination is the origin."""
    x, zero = 0.3 * torch.ones(4, 3), torch.zeros(4)
    theirs = math.weighted_midpoint(x, zero, k=torch.tensor(k), reducedim=[0])
    assert (theirs == 0).all()
    with pytest.raises(GeometryError):
        G.midpoint(x, zero, k=k)
    assert (G.matmul_left(zero[None], x, k=k) == 0).all()


def test_antipodes_without_a_sphere():
    x = torch.tensor([0.3, 0.4])
    torch.testing.assert_close(math.antipode(x, k=torch.tensor(-1.0)), -x)
    assert G.antipode(x, k=-1.0).isnan().all()


def test_unit_speed_in_a_product():
    """geoopt moves by t in every factor: √2 times as far for two."""
    ball = geoopt.Stereographic(torch.tensor(-1.0))
    theirs = geoopt.StereographicProductManifold((ball, 2), (ball, 2))
    ours = ProductManifold.from_signature("H2xH2")
    x, v = torch.zeros(4), torch.tensor([0.1, 0.2, 0.3, -0.1])
    there, here = theirs.geodesic_unit(torch.tensor(0.5), x, v), ours.geodesic_unit(0.5, x, v)
    torch.testing.assert_close(ours.dist(x, there), torch.tensor(0.5 * 2**0.5))
    torch.testing.assert_close(ours.dist(x, here), torch.tensor(0.5))


def test_normal_samples_have_the_same_spread():
    """random_normal(n, d, std=s) is random_wrapped_normal about the origin with std=2s/√d."""
    ball, space = geoopt.PoincareBall(), Stereographic(-1.0, dim=3)
    torch.manual_seed(0)
    theirs = space.logmap0(ball.random_normal(4000, 3, std=0.5).as_subclass(torch.Tensor).detach())
    ours = space.logmap0(space.random_wrapped_normal(space.origin(4000), std=2 * 0.5 / 3**0.5))
    assert float(theirs.std() / ours.std()) == pytest.approx(1, abs=0.05)
