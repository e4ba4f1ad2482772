import pytest
import torch

from kappagcn.errors import GeometryError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic

SIGNATURES = ["H2xS3", "H2^3", "E4", "H2(-0.4)xE3xS3(0.3)xU2", "S1xH1xS1"]


def sample(space, *size, scale=0.3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return space.expmap0(scale * torch.randn(*size, space.dim, generator=generator, dtype=torch.float64))


def build(signature):
    return ProductManifold.from_signature(signature, trainable=True).double()


@pytest.mark.parametrize("signature", SIGNATURES)
def test_factors_act_on_their_own_coordinates(signature):
    space = build(signature)
    x, y = sample(space, 5), sample(space, 5, seed=1)
    v = 0.3 * torch.randn(5, space.dim, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for name, args in {
        "add": (x, y), "sub": (x, y), "expmap": (x, v), "logmap": (x, y), "expmap0": (v,), "logmap0": (x,),
        "transport": (x, y, v), "gyration": (x, y, v), "egrad2rgrad": (x, v), "project": (x,), "lift": (v,),
        "to_ambient": (x,), "coadd": (x, y), "cosub": (x, y), "pointwise_mul": (v, x), "retract": (x, v),
        "transport0": (y, v), "transport0back": (x, v),
    }.items():  # fmt: skip
        parts = zip(space.factors, *(space.split(a) for a in args), strict=True)
        expected = torch.cat([getattr(factor, name)(*part) for factor, *part in parts], -1)
        torch.testing.assert_close(getattr(space, name)(*args), expected)
    r = torch.rand(5, dtype=torch.float64)
    for name, args in {"scale": (x,), "geodesic": (x, y)}.items():
        parts = zip(space.factors, *(space.split(a) for a in args), strict=True)
        expected = torch.cat([getattr(factor, name)(r, *part) for factor, *part in parts], -1)
        torch.testing.assert_close(getattr(space, name)(r, *args), expected)
    torch.testing.assert_close(space.lower(space.lift(v)), v)
    torch.testing.assert_close(space.from_ambient(space.to_ambient(x)), x)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_squared_distances_add(signature):
    space = build(signature)
    x, y = sample(space, 5), sample(space, 4, seed=1)
    parts = zip(space.factors, space.split(x), space.split(y), strict=True)
    expected = sum(f.cdist(a, b) ** 2 for f, a, b in parts).sqrt()
    torch.testing.assert_close(space.cdist(x, y), expected)
    torch.testing.assert_close(space.cdist2(x, y), expected.square())
    torch.testing.assert_close(space.dist(x[:, None], y[None]), expected)
    torch.testing.assert_close(space.factor_dists(x[:4], y).square().sum(-1).sqrt(), space.dist(x[:4], y))
    torch.testing.assert_close(space.dist(x, torch.zeros_like(x)), space.dist0(x))
    torch.testing.assert_close(space.tangent_dist(space.logmap0(x[:4]), space.logmap0(y)), space.dist(x[:4], y))
    torch.testing.assert_close(space.norm(x[:4], space.logmap(x[:4], y)), space.dist(x[:4], y))
    v = space.logmap(x[:4], y)
    torch.testing.assert_close(space.inner(x[:4], v, v).sqrt(), space.norm(x[:4], v))


@pytest.mark.parametrize("signature", SIGNATURES)
def test_means_and_products(signature):
    space = build(signature)
    x, w = (
        sample(space, 6),
        torch.rand(6, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) + 0.1,
    )
    base = sample(space, seed=4)
    for actual, f in (
        (space.midpoint(x, w), lambda s, p, b: s.midpoint(p, w)),
        (space.frechet_mean(x, w), lambda s, p, b: s.frechet_mean(p, w)),
        (space.tangential_mean(x, w, base=base), lambda s, p, b: s.tangential_mean(p, w, base=b)),
        (space.matmul_left(w.outer(w), x), lambda s, p, b: s.matmul_left(w.outer(w), p)),
        (space.matmul_left(w.outer(w).to_sparse(), x), lambda s, p, b: s.matmul_left(w.outer(w), p)),
    ):
        parts = zip(space.factors, space.split(x), space.split(base), strict=True)
        torch.testing.assert_close(actual, torch.cat([f(*part) for part in parts], -1))
    eye = torch.eye(space.dim, dtype=torch.float64)
    torch.testing.assert_close(space.matmul_right(x, 0.5 * eye), space.scale(0.5, x))


@pytest.mark.parametrize("signature", SIGNATURES)
def test_squares_of_the_factors_add(signature):
    space = build(signature)
    x, y, p, a = (sample(space, 5, seed=i) for i in range(4))
    u, v = sample(space, 5, seed=5), sample(space, 5, seed=6)
    parts = list(zip(space.factors, *(space.split(t) for t in (x, y, p, a)), strict=True))
    torch.testing.assert_close(space.dist2(x, y), sum(f.dist(s, t) ** 2 for f, s, t, *_ in parts))
    to_planes = sum(f.dist2plane(s, q, n) ** 2 for f, s, _, q, n in parts).sqrt()
    torch.testing.assert_close(space.dist2plane(x, p, a), to_planes)
    components = space.split(space.component_inner(x, u, v))
    for component, f, s, b, c in zip(components, space.factors, *(space.split(t) for t in (x, u, v)), strict=True):
        assert component.shape == s.shape
        torch.testing.assert_close(component, f.inner(s, b, c).unsqueeze(-1).expand_as(component))


@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_unit_speed_is_measured_in_the_product(signature):
    space = build(signature)
    x, v = sample(space, 5), sample(space, 5, seed=1)
    t = torch.linspace(0.1, 1, 5, dtype=torch.float64)
    reached = space.geodesic_unit(t, x, v)
    torch.testing.assert_close(space.dist(x, reached), t)
    torch.testing.assert_close(space.logmap(x, reached), v * (t / space.norm(x, v)).unsqueeze(-1))
    torch.testing.assert_close(space.geodesic_unit(t, x, torch.zeros_like(v)), x)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_hessian_of_the_squared_distance_at_coincident_points(signature):
    """2λ_f² times the identity in each factor."""
    space = build(signature)
    x = sample(space).detach()
    hessian = torch.autograd.functional.hessian(lambda y: space.dist2(x, y), x.clone())
    parts = zip(space.factors, space.split(x), space.dims, strict=True)
    expected = torch.cat([2 * f.lambda_x(part).square().expand(dim) for f, part, dim in parts])
    torch.testing.assert_close(hessian, expected.diag())


def test_functions_act_on_all_coordinates():
    space = build("H2xS3")
    x, w = sample(space, 5), torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        space.fn_apply(x, lambda v: v @ w, torch.relu), space.expmap0((space.logmap0(x) @ w).relu())
    )


def test_logits_are_euclidean_when_flat():
    """The sum over factors is the only choice that gives 4⟨x − p, a⟩ back as all κ → 0."""
    space = build("U2xE3xU1")
    x, p, a = (torch.randn(n, 6, dtype=torch.float64) for n in (5, 3, 3))
    torch.testing.assert_close(space.logits(x, p, a), 4 * (x @ a.mT - (p * a).sum(-1)))


@pytest.mark.parametrize("signature", [s for s in SIGNATURES if s != "E4"])
def test_every_trainable_curvature_gets_a_gradient(signature):
    space = build(signature)
    tangent = 0.3 * torch.randn(5, space.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = space.expmap0(tangent)
    space.cdist(x, x).sum().backward()
    one_dimensional = [f.dim == 1 for f in space.factors]
    for factor, line in zip(space.factors, one_dimensional, strict=True):
        if factor.curvature.trainable and not line:  # lines have no curvature: distances on them do not feel κ
            assert factor.curvature.raw.grad.abs() > 1e-6


def test_coincident_points_have_a_gradient():
    space = build("H2xS2")
    x = sample(space, 3).detach().requires_grad_()
    space.dist(x, x).sum().backward()
    assert (x.grad == 0).all()


def test_random_points_lie_in_the_product():
    space = ProductManifold.from_signature("H2xS3xE1")
    x = space.random_uniform(7, radius=1.0, generator=torch.Generator().manual_seed(0))
    assert x.shape == (7, 6)
    assert (space.factor_dists(x, torch.zeros_like(x)) <= 1.0001).all()
    assert space.random_wrapped_normal(x, std=0.1).shape == (7, 6)


def test_a_product_compiles_and_exports_as_one_graph():
    """Compiled gradients are those of the functions, tested there."""
    space = build("H2xU2")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.space = space

        def forward(self, v, w):
            x = self.space.expmap0(v)
            return self.space.cdist(x, self.space.midpoint(x, w).unsqueeze(0)) + self.space.logits(x, x[:1], v[:1])

    v, w = 0.3 * torch.randn(5, 4, dtype=torch.float64), torch.rand(5, dtype=torch.float64) + 0.1
    expected = Net()(v, w)
    torch.testing.assert_close(torch.compile(Net(), fullgraph=True, backend="eager")(v, w), expected)
    torch.testing.assert_close(torch.export.export(Net(), (v, w)).module()(v, w), expected)


def test_signature_has_the_current_curvatures():
    space = ProductManifold.from_signature("H8xS8", trainable=True)
    assert space.signature == "H8xS8"
    with torch.no_grad():
        space.factors[0].curvature.raw.fill_(0.25)
        space.factors[1].curvature.raw.fill_(0.0)
    assert space.signature == "S8(0.25)xU8"
    assert "S8(0.25)xU8" in repr(space)
    assert space.k.tolist() == [0.25, 0.0]


def test_e_stays_flat_and_u_learns():
    space = ProductManifold.from_signature("E2xU2", trainable=True)
    assert [f.curvature.trainable for f in space.factors] == [False, True]
    assert not list(ProductManifold.from_signature("H2xU2").parameters())


def test_wrong_sizes_are_named():
    space = ProductManifold.from_signature("H2xS3")
    with pytest.raises(GeometryError, match=r"expected 5 coordinates in the last axis for H2xS3, found \(4, 6\)"):
        space.dist(torch.zeros(4, 6), torch.zeros(4, 6))
    with pytest.raises(GeometryError, match=r"expected 7 coordinates"):
        space.lower(torch.zeros(4, 5))
    with pytest.raises(GeometryError, match="at least one space"):
        ProductManifold([])
    with pytest.raises(GeometryError, match="known dimension"):
        ProductManifold([Stereographic(Curvature(-1.0))])


def test_a_point_outside_one_factor_is_named():
    space = ProductManifold.from_signature("S2xH2")
    x = space.origin(3)
    x[1, 3] = 1.5
    ok, reason = space.check_point(x)
    assert not ok
    assert reason.startswith("factor 1: x: expected finite points with 1 + κ|x|² > 0, found 1 of 3")
    assert space.check_point(x[0])
    assert "expected 4 coordinates" in space.check_point(x[:, :3]).reason
    assert space.check_vector(x[0], x[1])
    assert space.check_vector(x[0], x[1] * torch.nan).reason.startswith("factor 0: v: expected finite")
