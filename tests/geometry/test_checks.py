"""Bad input: errors that name expected, found and remedy; NaN rows, never silent garbage, where values are hidden."""

import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from spaces import NEGATIVE, spaces

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
    with pytest.raises(GeometryError, match=r"expected finite points .* found 1 of 2 .* project"):
        POINTS[name](bad, k=-1.0)


@pytest.mark.parametrize("name", ROWWISE)
@pytest.mark.parametrize("bad", [NAN, OUTSIDE], ids=["nan", "outside"])
def test_where_values_cannot_be_read_bad_rows_are_nan_and_others_right(name, bad):
    f = lambda x: POINTS[name](x, k=-1.0)  # noqa: E731
    row = lambda x: f(x.expand(2, 2))[0] if name not in ("lambda_x",) else f(x)  # noqa: E731
    if name in ("lambda_x", "dist0", "logmap0", "to_ambient", "scale", "matmul_right"):
        actual = torch.func.vmap(f)(bad)
        assert actual[0].isnan().any()
        torch.testing.assert_close(actual[1], f(bad[1:])[0])
    else:
        actual = torch.func.vmap(row)(bad)
        assert actual[0].isnan().any()
        torch.testing.assert_close(actual[1], row(bad[1]))


@pytest.mark.parametrize("f", [G.expmap0, G.lift], ids=["expmap0", "lift"])
def test_bad_tangent_vectors_are_refused(f):
    with pytest.raises(GeometryError, match=r"v: expected finite vectors, found 1 of 2 rows"):
        f(NAN, k=-1.0)
    with pytest.raises(GeometryError, match="v: expected finite vectors"):
        G.expmap(X, NAN, k=-1.0)
    actual = torch.func.vmap(lambda v: f(v, k=-1.0))(NAN)
    assert actual[0].isnan().any()
    assert actual[1].isfinite().all()


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
        GeometryError, match=r"k: expected dtype torch.float32 as the points, found torch.float64; convert"
    ):
        G.dist(X, X, k=torch.tensor(-1.0, dtype=torch.float64))
    with pytest.raises(GeometryError, match=r"leading shapes that broadcast, found k: \(3,\)"):
        G.dist(X, X, k=torch.full((3,), -1.0))
    with pytest.raises(GeometryError, match="k: expected a finite number, found nan"):
        G.dist(X, X, k=float("nan"))
    with pytest.raises(GeometryError, match="number or a tensor, found str"):
        G.dist(X, X, k="-1")
    with pytest.raises(TypeError):
        G.dist(X, X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: G.scale(torch.tensor(2), X, k=-1.0), "r: expected dtype"),
        (lambda: G.scale(float("inf"), X, k=-1.0), "r: expected a finite number, found inf"),
        (lambda: G.scale(torch.tensor([1.0, float("nan")]), X, k=-1.0), "r: expected finite numbers, found 1 of 2"),
        (lambda: G.geodesic(torch.ones(4), X, X, k=-1.0), r"found t: \(4,\), points: \(2,\)"),
        (lambda: G.random_wrapped_normal(X, std="a", k=-1.0), "std: expected a number or a tensor, found str"),
        (lambda: G.dist(X, X, k=torch.tensor([float("inf")])), "k: expected finite numbers"),
        (lambda: G.logits(X[0], X, X, k=-1.0), r"x: expected \(..., N, D\), found \(2,\)"),
        (lambda: G.logits(X, X, X[:1].repeat(3, 1), k=-1.0), r"found p: \(2,\), a: \(3,\)"),
        (lambda: G.random_uniform(3, 2, radius=float("inf"), k=0.0), "finite geodesic radius, found inf"),
        (lambda: G.random_uniform(3, 2, k=0.0, dtype=torch.float16), "dtype: expected float32 or float64"),
        (lambda: G.matmul_left(None, X, k=-1.0), r"a: expected a matrix \(..., M, N\), found NoneType"),
        (lambda: G.ProductManifold("H2xS2"), "use ProductManifold.from_signature"),
        (lambda: G.Curvature("a"), "expected a finite number, found 'a'"),
        (lambda: G.Curvature(-1e-17, lower=-1, upper=0), "strictly between its bounds"),
        (lambda: G.ProductManifold.from_signature("H2").matmul_right(X, torch.ones(3, 3)), r"w: expected \(2, 2\)"),
    ],
)
def test_errors_name_the_argument_at_fault(call, message):
    with pytest.raises(GeometryError, match=message):
        call()


INFINITE = torch.tensor([[float("inf"), 0.1], [0.3, 0.1]])


@pytest.mark.parametrize("bad", [NAN, INFINITE], ids=["nan", "inf"])
@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda t, k: G.dist0(t, k=k),
        lambda t, k: G.add(X, t, k=k),
        lambda t, k: G.gyration(X, X, t, k=k),
        lambda t, k: G.gyration(t, X, X, k=k),
        lambda t, k: G.transport(X, X, t, k=k),
        lambda t, k: G.inner(X, X, t, k=k),
        lambda t, k: G.norm(X, t, k=k),
        lambda t, k: G.egrad2rgrad(X, t, k=k),
        lambda t, k: G.project(t, k=k),
        lambda t, k: G.antipode(t, k=k),
        lambda t, k: G.dist2plane(X, X, t, k=k),
        lambda t, k: G.logits(X, X, t, k=k),
        lambda t, k: G.tangent_dist(X, t, k=k),
        lambda t, k: G.cdist(X, t, k=k),
    ],
)
def test_no_function_takes_nan_or_infinity(f, k, bad):
    with pytest.raises(GeometryError, match="expected finite"):
        f(bad, k)


def test_a_point_outside_the_ball_is_not_gyrated():
    outside = torch.func.vmap(lambda u: G.gyration(u, X[0], X[0], k=-1.0))(OUTSIDE)
    assert outside[0].isnan().all()
    assert outside[1].isfinite().all()


def test_empty_sets():
    none = torch.zeros(0, 2)
    assert G.logits(none, X, X, k=-1.0).shape == (0, 2)
    assert G.logits(X, none, none, k=-1.0).shape == (2, 0)
    assert G.dist(none, none, k=-1.0).shape == (0,)
    assert G.matmul_left(torch.zeros(0, 2), X, k=-1.0).shape == (0, 2)


def test_a_single_number_is_not_a_vector():
    with pytest.raises(GeometryError, match="found a single number"):
        G.dist0(torch.tensor(0.3), k=-1.0)


@given(spaces())
def test_points_of_the_space_pass(space):
    x = space.points(5)
    check = G.check_point(x, k=space.k)
    assert check
    assert check == (True, None)
    assert G.check_vector(x, space.vectors(5, size=1e3), k=space.k)
    assert G.check_point(G.project(1e3 * x, k=space.k), k=space.k)


@given(spaces(kappas=NEGATIVE))
def test_points_outside_are_counted(space):
    x = torch.zeros(3, space.dim, dtype=space.dtype)
    x[1, 0] = 1.1 / space.s
    ok, reason = G.check_point(x, k=space.k)
    assert ok is False
    assert "found 1 of 3 that are NaN or outside the ball" in reason
    assert G.check_point(G.project(x, k=space.k), k=space.k)
    assert not G.check_vector(x, torch.zeros_like(x), k=space.k)


def test_what_passes_is_what_every_function_takes():
    """On the boundary, to rounding, points are taken; beyond it they are not."""
    for dtype in (torch.float32, torch.float64):
        for size in (1 - 1e-3, 1.0, 1 + torch.finfo(dtype).eps, 1 + 1e-3):
            x = torch.tensor([size, 0.0], dtype=dtype)
            if G.check_point(x, k=-1.0):
                G.dist0(x, k=-1.0)
            else:
                with pytest.raises(GeometryError):
                    G.dist0(x, k=-1.0)


def test_reasons():
    assert (
        "found 1 of 2 that are NaN or outside"
        in G.check_point(torch.tensor([[0.0, torch.nan], [0.0, 0.0]]), k=1.0).reason
    )
    assert "found 1 of 1 that are infinite or too long" in G.check_point(torch.tensor([1e20, 0.0]), k=0.0).reason
    assert "found torch.int64" in G.check_point(torch.zeros(2, dtype=torch.int64), k=1.0).reason
    assert "found list" in G.check_point([0.0, 0.0], k=1.0).reason
    assert "k: expected dtype torch.float32" in G.check_point(torch.zeros(2), k=torch.tensor(1.0).double()).reason
    assert "same last axis" in G.check_vector(torch.zeros(2), torch.zeros(3), k=1.0).reason
    endless = torch.tensor([0.0, torch.inf])
    assert "v: expected finite vectors, found 1 of 1 rows" in G.check_vector(torch.zeros(2), endless, k=1.0).reason


def test_curvatures_may_differ_by_point():
    x = torch.tensor([[0.9, 0.0], [0.9, 0.0]])
    assert G.check_point(x, k=torch.tensor([-1.0, 1.0]))
    assert "1 of 2" in G.check_point(x, k=torch.tensor([-2.0, 1.0])).reason


def test_origin():
    zero = G.origin(4, 3, dtype=torch.float64)
    assert zero.shape == (4, 3)
    assert zero.dtype == torch.float64
    assert (G.dist0(zero, k=-1.0) == 0).all()
    with pytest.raises(GeometryError, match=r"the last of them the dimension D ≥ 1, found \(\)"):
        G.origin()
    with pytest.raises(GeometryError, match="expected float32 or float64"):
        G.origin(3, dtype=torch.int32)
