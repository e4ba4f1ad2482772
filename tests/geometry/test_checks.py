"""Bad input: errors that name expected, found and remedy; NaN rows, never silent garbage, where values are hidden."""

import pytest
import torch

import kappagcn.geometry as G
from kappagcn.errors import GeometryError, OutsideBallError

X = torch.tensor([[0.1, 0.2], [0.3, 0.1]])
NAN = torch.tensor([[float("nan"), 0.0], [0.3, 0.1]])
OUTSIDE = torch.tensor([[1.5, 0.0], [0.3, 0.1]])
TWO = {"add": G.add, "dist": G.dist, "logmap": G.logmap, "cdist": G.cdist}
POINTS = {
    "lambda_x": G.lambda_x,
    "dist0": G.dist0,
    "logmap0": G.logmap0,
    "to_ambient": G.to_ambient,
    "scale": lambda x, k: G.scale(0.5, x, k=k),
    "add": lambda x, k: G.add(x, X, k=k),
    "add right": lambda x, k: G.add(X, x, k=k),
    "dist": lambda x, k: G.dist(x, X, k=k),
    "logmap": lambda x, k: G.logmap(X, x, k=k),
    "expmap": lambda x, k: G.expmap(x, X, k=k),
    "transport": lambda x, k: G.transport(X, x, X, k=k),
    "inner": lambda x, k: G.inner(x, X, X, k=k),
    "norm": lambda x, k: G.norm(x, X, k=k),
    "egrad2rgrad": lambda x, k: G.egrad2rgrad(x, X, k=k),
    "dist2plane": lambda x, k: G.dist2plane(x, X, X, k=k),
    "cdist": lambda x, k: G.cdist(x, X, k=k),
    "midpoint": lambda x, k: G.midpoint(x, k=k),
    "matmul_left": lambda x, k: G.matmul_left(torch.ones(2, 2), x, k=k),
    "matmul_right": lambda x, k: G.matmul_right(x, torch.eye(2), k=k),
    "tangential_mean": lambda x, k: G.tangential_mean(x, k=k),
    "frechet_mean": lambda x, k: G.frechet_mean(x, k=k),
    "logits": lambda x, k: G.logits(x, X, X, k=k),
}
ROWWISE = [
    name
    for name in POINTS
    if name not in ("midpoint", "matmul_left", "tangential_mean", "frechet_mean", "cdist", "logits")
]


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("bad", [NAN, OUTSIDE], ids=["nan", "outside"])
def test_bad_points_are_refused(name, bad):
    with pytest.raises(OutsideBallError, match=r"expected finite points .* found 1 of 2 .* project"):
        POINTS[name](bad, k=-1.0)


@pytest.mark.parametrize("name", ROWWISE)
@pytest.mark.parametrize("bad", [NAN, OUTSIDE], ids=["nan", "outside"])
def test_where_values_cannot_be_read_bad_rows_are_nan_and_others_right(name, bad):
    f = lambda x: POINTS[name](x, k=-1.0)  # noqa: E731
    row = lambda x: f(x.expand(2, 2))[0] if name not in ("lambda_x",) else f(x)  # noqa: E731
    if name in ("lambda_x", "dist0", "logmap0", "to_ambient", "scale", "matmul_right"):
        found = torch.func.vmap(f)(bad)
        assert found[0].isnan().any()
        torch.testing.assert_close(found[1], f(bad[1:])[0])
    else:
        found = torch.func.vmap(row)(bad)
        assert found[0].isnan().any()
        torch.testing.assert_close(found[1], row(bad[1]))


@pytest.mark.parametrize("f", [G.expmap0, G.lift], ids=["expmap0", "lift"])
def test_bad_tangent_vectors_are_refused(f):
    with pytest.raises(GeometryError, match=r"v: expected finite vectors, found 1 of 2 rows"):
        f(NAN, k=-1.0)
    with pytest.raises(GeometryError, match="v: expected finite vectors"):
        G.expmap(X, NAN, k=-1.0)
    found = torch.func.vmap(lambda v: f(v, k=-1.0))(NAN)
    assert found[0].isnan().any()
    assert found[1].isfinite().all()


@pytest.mark.parametrize("name", TWO)
def test_wrong_shapes(name):
    with pytest.raises(
        GeometryError,
        match=r"same last axis \(the dimension D\), found x: \(2, 2\).* y: \(2, 3\)|same last axis",
    ):
        TWO[name](X, torch.zeros(2, 3), k=-1.0)
    if name != "cdist":
        with pytest.raises(GeometryError, match=r"leading shapes that broadcast, found x: \(2,\), y: \(3,\)"):
            TWO[name](X, torch.zeros(3, 2), k=-1.0)


@pytest.mark.parametrize("name", TWO)
def test_wrong_dtypes(name):
    with pytest.raises(GeometryError, match="expected one dtype"):
        TWO[name](X, X.double(), k=-1.0)
    with pytest.raises(GeometryError, match=r"float32 or float64, found torch.int64; use x.float\(\)"):
        TWO[name](X.long(), X.long(), k=-1.0)
    with pytest.raises(GeometryError, match=r"expected a torch.Tensor .* found list"):
        TWO[name]([0.1, 0.2], X, k=-1.0)


def test_wrong_curvatures():
    with pytest.raises(
        GeometryError, match=r"k: expected dtype torch.float32 as the points, found torch.float64; use k.to"
    ):
        G.dist(X, X, k=torch.tensor(-1.0, dtype=torch.float64))
    with pytest.raises(GeometryError, match=r"leading shapes that broadcast, found k: \(3,\)"):
        G.dist(X, X, k=torch.full((3,), -1.0))
    with pytest.raises(GeometryError, match="finite curvature, found nan"):
        G.dist(X, X, k=float("nan"))
    with pytest.raises(GeometryError, match="number or a tensor, found str"):
        G.dist(X, X, k="-1")
    with pytest.raises(TypeError):
        G.dist(X, X)


def test_a_single_number_is_not_a_vector():
    with pytest.raises(GeometryError, match="found a single number"):
        G.dist0(torch.tensor(0.3), k=-1.0)
