import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from spaces import spaces

N, C = 6, 3


def papers_logit(x, p, a, k):
    """Equation 12, for κ ≠ 0."""
    z = G.add(-p, x, k=k)
    s = abs(k) ** 0.5
    length = a.norm(dim=-1)
    arg = 2 * s * (z * a).sum(-1) / ((1 + k * z.square().sum(-1)) * length)
    return G.norm(p, a, k=k) / s * (arg.clamp(-1, 1).asin() if k > 0 else arg.asinh())


@given(spaces(kappas=[-5.0, -1.0, -0.3, 0.3, 1.0, 5.0], dtypes=[torch.float64]))
def test_logits_are_the_papers(space):
    x, p, a = space.points(N, reach=1.2), space.points(C, reach=0.5), space.vectors(C)
    actual = G.logits(x, p, a, k=space.k)
    assert actual.shape == (N, C)
    for c in range(C):
        expected = papers_logit(x, p[c].expand_as(x), a[c].expand_as(x), space.k)
        inside = expected.abs() < 1.4 / space.s * G.norm(p[c], a[c], k=space.k)  # away from arcsine's end
        torch.testing.assert_close(actual[:, c][inside], expected[inside], rtol=1e-9, atol=1e-10)


@given(spaces())
def test_logits_are_scaled_distances(space):
    x, p, a = space.points(N, reach=1.0), space.points(C, reach=0.5), space.vectors(C)
    actual = G.logits(x, p, a, k=space.k)
    expected = torch.stack([G.dist2plane(x, p[c].expand_as(x), a[c].expand_as(x), k=space.k) for c in range(C)], -1)
    torch.testing.assert_close(
        actual, G.norm(p, a, k=space.k) * expected, rtol=space.tol(30), atol=space.tol(30) * max(1, space.s)
    )


@given(spaces())
def test_the_plane_is_at_distance_zero_and_the_normal_leads_away(space):
    p, a = space.points(N, reach=0.5), space.vectors(N)
    v = space.tangents(N, reach=0.7)
    across = v - (v * a).sum(-1, keepdim=True) / a.square().sum(-1, keepdim=True) * a
    on = G.expmap(p, across, k=space.k)
    assert G.dist2plane(on, p, a, k=space.k).abs().max() <= space.tol(20)
    # Along the normal from p the distance is the distance from p.
    unit = a / G.norm(p, a, k=space.k).unsqueeze(-1)
    step = 0.7 / max(1, space.s)
    for sign in (1, -1):
        away = G.expmap(p, sign * step * unit, k=space.k)
        expected = torch.full((N,), sign * step, dtype=space.dtype)
        torch.testing.assert_close(
            G.dist2plane(away, p, a, k=space.k), expected, rtol=space.tol(20), atol=space.tol(20)
        )


@given(spaces(dtypes=[torch.float64], max_dim=4))
def test_it_is_the_distance_to_the_nearest_point_of_the_plane(space):
    if space.dim == 1:
        return
    x, p, a = space.points(reach=0.7), space.points(reach=0.4), space.vectors()
    d = G.dist2plane(x, p, a, k=space.k)
    v = space.vectors(4000, size=0.5 / max(1, space.s))
    across = v - (v @ a)[:, None] / a.square().sum() * a
    on = G.expmap(p.expand_as(across), across, k=space.k)
    nearest = G.dist(x.expand_as(on), on, k=space.k).min()
    assert nearest >= d.abs() - 1e-9
    if space.dim == 2:
        assert nearest <= d.abs() + 0.05


@given(spaces(kappas=[0.0, 1e-12, -1e-12], dtypes=[torch.float64]))
def test_euclidean_limit(space):
    x, p, a = space.vectors(N), space.vectors(C), space.vectors(C)
    torch.testing.assert_close(G.logits(x, p, a, k=space.k), 4 * (x @ a.mT - (p * a).sum(-1)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_a_zero_normal_gives_zero_and_learns(k):
    x, p = torch.tensor([[0.3, 0.1], [0.0, 0.2]]), torch.tensor([[0.1, 0.0]])
    a = torch.zeros(1, 2, requires_grad=True)
    value = G.logits(x, p, a, k=k)
    assert (value == 0).all()
    assert torch.autograd.grad(value.sum(), a)[0].abs().min() > 0.1
