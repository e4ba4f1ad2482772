"""Gyromidpoints, matrix products, tangential aggregation: definitions, theorems 4 to 6, and others' defects."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kappagcn.geometry as G
from kappagcn.errors import ConvergenceWarning, GeometryError, NonUniqueMeanWarning
from kappagcn.geometry.numerics import artanc, tanc
from kappagcn.testing import assert_same_points, random_isometry
from spaces import NEGATIVE, POSITIVE, spaces

N = 6


@given(spaces())
def test_midpoint_is_the_papers_where_that_is_defined(space):
    x, w = space.points(N, reach=0.7), space.uniform(N) + 0.1
    factor = G.lambda_x(x, k=space.k)
    ratio = (w * factor / (w * (factor - 1)).sum()) @ x
    assert_same_points(G.midpoint(x, w, k=space.k), G.scale(0.5, ratio, k=space.k), k=space.k, atol=space.tol(20))


@given(spaces())
def test_midpoint_of_two_is_half_way(space):
    x, y = space.points(reach=1.0), space.points(reach=1.0)
    middle = G.midpoint(torch.stack([x, y]), k=space.k)
    assert_same_points(middle, G.geodesic(0.5, x, y, k=space.k), k=space.k, atol=space.tol(20))


@given(spaces(), st.sampled_from([-7.0, 0.01, 100.0]))
def test_midpoint_ignores_the_scale_and_the_order_of_weights(space, c):
    x, w = space.points(N, reach=1.0), space.uniform(N) + 0.1
    there = G.midpoint(x, w, k=space.k)
    assert_same_points(G.midpoint(x, c * w, k=space.k), there, k=space.k, atol=space.tol(20))
    order = torch.randperm(N, generator=space.generator)
    assert_same_points(G.midpoint(x[order], w[order], k=space.k), there, k=space.k, atol=space.tol(20))


@given(spaces())
def test_midpoint_commutes_with_isometries(space):
    """Also beyond the equator, where the paper's form and geoopt's pick the antipode."""
    reach = 2.0 if space.k > 0 else 1.0
    x, w = space.points(N, reach=reach), space.uniform(N) + 0.1
    lifts = G.to_ambient(x, k=space.k)
    resultant = (w / w.sum()) @ lifts
    if float(resultant[-1] ** 2 + space.k * resultant[:-1].square().sum()) < 0.05:
        return  # nearly no direction: ill-conditioned, not wrong
    f = random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=1 / max(1, space.s))
    assert_same_points(G.midpoint(f(x), w, k=space.k), f(G.midpoint(x, w, k=space.k)), k=space.k, atol=space.tol(100))


@given(spaces())
def test_identity_times_points_is_the_points(space):
    """Theorem 4: I ⊠ X = X, also beyond the equator (geoopt returns antipodes there)."""
    x = space.points(N, reach=2.8)
    eye = torch.eye(N, dtype=space.dtype)
    for a in (eye, eye.to_sparse()):
        assert_same_points(G.matmul_left(a, x, k=space.k), x, k=space.k, atol=space.tol(30))
    for i in range(N):
        assert_same_points(G.midpoint(x, eye[i], k=space.k), x[i], k=space.k, atol=space.tol(30))


@given(spaces(), st.sampled_from([-1.3, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.3]))
def test_scalar_associativity(space, r):
    """Theorem 4: r ⊗ (A ⊠ X) = (rA) ⊠ X for every real r."""
    x, a = space.points(N, reach=1.2), space.uniform(N, N) / N
    left = G.scale(r, G.matmul_left(a, x, k=space.k), k=space.k)
    assert_same_points(left, G.matmul_left(r * a, x, k=space.k), k=space.k, atol=space.tol(50))


@given(spaces(kappas=POSITIVE))
def test_scalar_associativity_beyond_the_equator(space):
    x = space.points(N, reach=2.8)
    a = torch.eye(N, dtype=space.dtype) + 0.02 * space.uniform(N, N)
    for r in (0.4, -0.4):
        left, right = (
            G.scale(r, G.matmul_left(a, x, k=space.k), k=space.k),
            G.matmul_left(r * a, x, k=space.k),
        )
        assert_same_points(left, right, k=space.k, atol=space.tol(200) * max(1, 1 / space.s))


@given(spaces())
def test_stochastic_left_products_are_intrinsic(space):
    """Theorem 5: rows that sum to 1 commute with isometries."""
    x, y = space.points(N, reach=0.8), space.points(N, reach=0.8)
    a, b = (m / m.sum(-1, keepdim=True) for m in (space.uniform(N, N), space.uniform(N, N)))
    f = random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=0.7 / max(1, space.s))
    k = space.k
    before = G.dist(G.matmul_left(a, x, k=k), G.matmul_left(b, y, k=k), k=k)
    after = G.dist(G.matmul_left(a, f(x), k=k), G.matmul_left(b, f(y), k=k), k=k)
    torch.testing.assert_close(after, before, rtol=0, atol=space.tol(100))


def test_symmetric_normalisation_is_not_intrinsic():
    """The experiments' D^-½ A D^-½ has rows that do not sum to 1: the theorem needs its premise."""
    generator = torch.Generator().manual_seed(0)
    x = G.random_uniform(3, 2, radius=1.0, k=-1.0, dtype=torch.float64, generator=generator)
    f = random_isometry(2, k=-1.0, dtype=torch.float64, generator=generator)
    a = torch.tensor([[0.9, 0.5, 0.0], [0.5, 0.3, 0.2], [0.0, 0.2, 0.4]], dtype=torch.float64)
    moved = G.dist(G.matmul_left(a, f(x), k=-1.0), f(G.matmul_left(a, x, k=-1.0)), k=-1.0)
    assert moved.max() > 1e-2


@given(spaces())
def test_tangential_aggregation_is_intrinsic(space):
    """Theorem 6: it commutes with isometries that move the base point too."""
    x, base, w = space.points(N, reach=0.8), space.points(reach=0.8), space.uniform(N) / N
    f = random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=0.7 / max(1, space.s))
    k = space.k
    there = f(G.tangential_mean(x, w, k=k, base=base).unsqueeze(0)).squeeze(0)
    moved_base = f(base.unsqueeze(0)).squeeze(0)
    assert_same_points(G.tangential_mean(f(x), w, k=k, base=moved_base), there, k=k, atol=space.tol(100))


@given(spaces())
def test_tangential_mean_at_the_origin(space):
    x, w = space.points(N, reach=1.0), space.uniform(N)
    expected = G.expmap0(w @ G.logmap0(x, k=space.k), k=space.k)
    origin = torch.zeros(space.dim, dtype=space.dtype)
    assert_same_points(G.tangential_mean(x, w, k=space.k), expected, k=space.k, atol=space.tol(20))
    assert_same_points(G.tangential_mean(x, w, k=space.k, base=origin), expected, k=space.k, atol=space.tol(20))


@given(spaces())
def test_right_multiplication(space):
    """Definition 1, both lines; (X ⊗ W) ⊗ V = X ⊗ (WV)."""
    x = space.points(N, reach=0.8)
    w, v = (0.5 * space.normal(space.dim, e) / space.dim**0.5 for e in (3, 3))
    v = v[:3] if space.dim >= 3 else 0.5 * space.normal(3, 3)
    k = space.k
    s = torch.tensor(k, dtype=space.dtype)
    length, product = x.norm(dim=-1, keepdim=True), x @ w
    alpha = product.norm(dim=-1, keepdim=True) / length
    stretched = alpha * length * artanc(s * length * length)
    formula = stretched * tanc(s * stretched * stretched) * product / product.norm(dim=-1, keepdim=True)
    actual = G.matmul_right(x, w, k=k)
    assert_same_points(actual, formula, k=k, atol=space.tol(20))
    assert_same_points(G.matmul_right(actual, v, k=k), G.matmul_right(x, w @ v, k=k), k=k, atol=space.tol(20))


@given(spaces(kappas=[0.0]))
def test_zero_curvature_gives_matrix_products(space):
    x, a, w = space.vectors(N), space.uniform(N, N), space.normal(space.dim, 4)
    tol = {"rtol": 64 * torch.finfo(space.dtype).eps, "atol": 64 * torch.finfo(space.dtype).eps}
    torch.testing.assert_close(G.matmul_left(a, x, k=0.0), a @ x, **tol)
    torch.testing.assert_close(G.matmul_right(x, w, k=0.0), x @ w, **tol)
    torch.testing.assert_close(G.midpoint(x, a, k=0.0), a @ x / a.sum(-1, keepdim=True), **tol)
    torch.testing.assert_close(G.tangential_mean(x, a[0], k=0.0), a[0] @ x, **tol)
    torch.testing.assert_close(G.frechet_mean(x, a[0], k=0.0), a[0] @ x / a[0].sum(), **tol)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_sparse_is_dense(k):
    generator = torch.Generator().manual_seed(0)
    dense = torch.rand(5, 7, generator=generator, dtype=torch.float64) * (torch.rand(5, 7, generator=generator) < 0.5)
    dense[2] = 0  # a node without neighbours
    x = G.random_uniform(7, 3, radius=1.0, k=k, dtype=torch.float64, generator=generator).requires_grad_()
    kappa = torch.tensor(k, dtype=torch.float64, requires_grad=True)
    expected = G.matmul_left(dense, x, k=kappa)
    grads = torch.autograd.grad(expected.square().sum(), [x, kappa])
    assert (expected[2] == 0).all()
    for a in (dense.to_sparse(), dense.to_sparse_csr()):
        actual = G.matmul_left(a, x, k=kappa)
        torch.testing.assert_close(actual, expected)
        for g, e in zip(torch.autograd.grad(actual.square().sum(), [x, kappa]), grads, strict=True):
            torch.testing.assert_close(g, e)


def test_batches_and_a_curvature_each():
    generator = torch.Generator().manual_seed(0)
    k = torch.tensor([-1.0, 0.0, 0.8], dtype=torch.float64)
    x = 0.3 * torch.randn(3, N, 4, dtype=torch.float64, generator=generator)
    a = torch.rand(3, 5, N, dtype=torch.float64, generator=generator)
    base = 0.2 * torch.randn(3, 4, dtype=torch.float64, generator=generator)
    for f, args in (
        (G.midpoint, (x, a)),
        (G.midpoint, (x, a[:, 0])),
        (G.matmul_left, (a, x)),
        (G.frechet_mean, (x, a[:, 0])),
        (G.cdist, (x, x[:, :2])),
        (G.logits, (x, x[:, :2], x[:, 2:4])),
        (lambda x, w, base, k: G.tangential_mean(x, w, k=k, base=base), (x, a[:, 0], base)),
    ):
        together = f(*args, k=k)
        for i, kappa in enumerate(k.tolist()):
            torch.testing.assert_close(together[i], f(*(t[i] for t in args), k=kappa), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("k", "x", "w"),
    [
        (-1.0, [[0.5, 0.0], [-0.5, 0.0]], [1.0, -1.0]),
        (0.0, [[0.5, 0.0], [-0.5, 0.0]], [1.0, -1.0]),
        (-1.0, [[0.9, 0.0], [0.0, 0.0]], [0.3, -1.0]),
        (1.0, [[0.5, 0.0], [-2.0, 0.0]], [1.0, 1.0]),  # antipodes
        (1.0, [[0.5, 0.0], [0.0, 0.0]], [0.0, 0.0]),
    ],
)
def test_undefined_midpoints_are_refused(k, x, w):
    x, w = torch.tensor(x), torch.tensor(w)
    with pytest.raises(GeometryError, match="non-negative weights"):
        G.midpoint(x, w, k=k)
    if w.any():
        actual = torch.func.vmap(lambda w: G.midpoint(x, w, k=k))(
            torch.stack([w, torch.ones(2) + w.abs()[:1] * torch.tensor([1.0, 0])])
        )
        assert actual[0].isnan().all()
        assert actual[1].isfinite().all()
    else:
        assert (G.matmul_left(w.unsqueeze(0), x, k=k) == 0).all()


def test_wrong_weights_are_refused():
    x = torch.zeros(3, 2)
    with pytest.raises(GeometryError, match=r"one weight per point, found 4 columns for 3 points"):
        G.midpoint(x, torch.ones(4), k=-1.0)
    with pytest.raises(GeometryError, match=r"weights: expected a tensor of torch.float32"):
        G.midpoint(x, torch.ones(3, dtype=torch.float64), k=-1.0)
    with pytest.raises(GeometryError, match=r"x: expected \(..., N, D\)"):
        G.midpoint(torch.zeros(3), k=-1.0)
    with pytest.raises(GeometryError, match="expected a matrix"):
        G.matmul_left(torch.ones(3), x, k=-1.0)
    with pytest.raises(GeometryError, match=r"expected \(N, D\) with sparse a"):
        G.matmul_left(torch.eye(3).to_sparse(), torch.zeros(2, 3, 2), k=-1.0)
    with pytest.raises(GeometryError, match=r"w: expected \(2, E\) .* found \(3, 2\)"):
        G.matmul_right(x, torch.ones(3, 2), k=-1.0)
    with pytest.raises(GeometryError, match=r"leading shapes that broadcast, found x: \(4,\), weights: \(5,\)"):
        G.midpoint(torch.zeros(4, 3, 2), torch.ones(5, 3), k=-1.0)
    with pytest.raises(GeometryError, match=r"found x: \(4,\), a: \(5,\)"):
        G.matmul_left(torch.ones(5, 2, 3), torch.zeros(4, 3, 2), k=-1.0)
    with pytest.raises(GeometryError, match=r"one curvature with a sparse matrix, found \(2,\)"):
        G.matmul_left(torch.eye(3).to_sparse(), x, k=-torch.ones(2))
    with pytest.raises(GeometryError, match=r"base: expected a torch.Tensor .* found list"):
        G.tangential_mean(x, k=-1.0, base=[0.0, 0.0])
    with pytest.raises(GeometryError, match="expected a matrix"):
        G.matmul_right(x, torch.ones(2), k=-1.0)


UNIQUE = 0.75  # below π/4: no two points are a quarter of a great circle apart, wherever between them the mean is


@given(spaces(max_dim=8))
def test_the_weighted_logarithms_cancel(space):
    """The first-order condition Σ α_i log_m(x_i) = 0."""
    x, w = space.points(N, reach=UNIQUE), space.uniform(N) + 0.1
    m = G.frechet_mean(x, w, k=space.k)
    pull = (w / w.sum()) @ G.logmap(m.expand_as(x), x, k=space.k)
    assert G.norm(m, pull, k=space.k) <= space.tol(10)


@given(spaces(max_dim=5, dtypes=[torch.float64]))
def test_no_other_point_is_better(space):
    x, w = space.points(N, reach=UNIQUE), space.uniform(N) + 0.1
    m = G.frechet_mean(x, w, k=space.k)
    cost = lambda p: (w * G.dist(p.unsqueeze(-2), x, k=space.k) ** 2).sum(-1)  # noqa: E731
    others = G.expmap(m.expand(20, -1), 0.05 * space.normal(20, space.dim), k=space.k)
    assert (cost(others) > cost(m)).all()


@given(spaces(kappas=NEGATIVE, max_dim=4, dtypes=[torch.float64]))
def test_points_far_apart_converge(space):
    x, w = space.points(N, reach=8.0), space.uniform(N) ** 3 + 1e-3
    m = G.frechet_mean(x, w, k=space.k)  # a ConvergenceWarning would be an error
    pull = (w / w.sum()) @ G.logmap(m.expand_as(x), x, k=space.k)
    assert G.norm(m, pull, k=space.k) <= 1e-8


@given(spaces(max_dim=6))
def test_mean_of_two_lies_between_by_weight(space):
    x, y = space.points(reach=1.0), space.points(reach=1.0)
    m = G.frechet_mean(torch.stack([x, y]), torch.tensor([3.0, 1.0], dtype=space.dtype), k=space.k)
    assert_same_points(m, G.geodesic(0.25, x, y, k=space.k), k=space.k, atol=space.tol(20))


@given(spaces(max_dim=6))
def test_mean_commutes_with_isometries(space):
    x, w = space.points(N, reach=UNIQUE), space.uniform(N) + 0.1
    f = random_isometry(space.dim, k=space.k, dtype=space.dtype, generator=space.generator, reach=0.5 / max(1, space.s))
    there = f(G.frechet_mean(x, w, k=space.k).unsqueeze(0)).squeeze(0)
    assert_same_points(G.frechet_mean(f(x), w, k=space.k), there, k=space.k, atol=space.tol(50))


@pytest.mark.parametrize("k", [-1.0, -1e-7, 0.0, 1e-7, 0.8])
def test_gradients_are_those_of_the_solution(k):
    """By differences of the solved mean: points, weights and κ, first and second derivatives."""
    generator = torch.Generator().manual_seed(0)
    x = G.random_uniform(4, 2, radius=1.0, k=k, dtype=torch.float64, generator=generator).requires_grad_()
    w = (torch.rand(4, dtype=torch.float64, generator=generator) + 0.2).requires_grad_()
    kappa = torch.tensor(k, dtype=torch.float64, requires_grad=True)
    f = lambda x, w, k: G.frechet_mean(x, w, k=k)  # noqa: E731
    assert torch.autograd.gradcheck(f, (x, w, kappa))
    assert torch.autograd.gradgradcheck(f, (x, w, kappa))


def test_where_convergence_cannot_be_read_all_steps_are_taken():
    """Far points need more than the two last steps: under vmap the search must not end before it began."""
    generator = torch.Generator().manual_seed(3)
    x = G.random_uniform(4, 5, 3, radius=8.0, k=-1.0, dtype=torch.float64, generator=generator)
    w = torch.rand(4, 5, dtype=torch.float64, generator=generator) ** 3 + 1e-3
    actual = torch.func.vmap(lambda x, w: G.frechet_mean(x, w, k=-1.0))(x, w)
    expected = torch.stack([G.frechet_mean(a, b, k=-1.0) for a, b in zip(x, w, strict=True)])
    assert_same_points(actual, expected, k=-1.0, atol=1e-7)


def test_equal_points_and_zero_weights():
    x = torch.tensor([[0.3, 0.1], [0.3, 0.1], [0.9, 0.0]])
    m = G.frechet_mean(x, torch.tensor([1.0, 2.0, 0.0]), k=-1.0)
    torch.testing.assert_close(m, x[0])


def test_means_that_are_not_unique_give_a_warning():
    angle = torch.tensor([0.0, 2.0, 4.0]) * math.pi / 3
    equator = torch.stack([angle.cos(), angle.sin()], -1)
    with pytest.warns(NonUniqueMeanWarning, match="quarter of a great circle"):
        G.frechet_mean(torch.cat([equator, torch.tensor([[0.5, 0.1]])]), k=1.0)


def test_a_search_that_stops_early_gives_a_warning():
    x = G.random_uniform(5, 3, radius=8.0, k=-1.0, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with pytest.warns(ConvergenceWarning, match="raise steps"):
        G.frechet_mean(x, torch.tensor([1.0, 1e-3, 1e-3, 1e-3, 0.2], dtype=torch.float64), k=-1.0, steps=0)


@pytest.mark.parametrize("w", [[1.0, -1.0], [0.0, 0.0], [2.0, -1.0]])
def test_weights_without_a_mean_are_refused(w):
    with pytest.raises(GeometryError, match="non-negative weights"):
        G.frechet_mean(torch.zeros(2, 2), torch.tensor(w), k=-1.0)
