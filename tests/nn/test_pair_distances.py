"""Squared distances of listed pairs: against mpmath and float64, near, far, at the origin and as κ → 0."""

import pytest
import torch

from kappagcn import ProductManifold, Stereographic
from kappagcn.errors import GeometryError, GraphError
from kappagcn.geometry import Curvature, tangent_dist
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn.pair_distances import pair_squares

KAPPAS = [-2.0, -0.1, -1e-4, -1e-9, 0.0, 1e-9, 1e-4, 0.1, 2.0]
PAIRS = torch.tensor([[0, 1, 2, 3, 4, 0, 5], [1, 2, 3, 4, 5, 6, 5]])


def rows(scale, dtype=torch.float64):
    v = scale * torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    v[3] = 0
    v[6] = v[0] * (1 + 1e-4)
    return v.to(dtype)


def space(kappa, dtype=torch.float64):
    return Stereographic(Curvature(kappa, trainable=True, dtype=dtype), dim=3)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.5])
def test_squares_are_those_of_the_geometry(kappa, scale):
    v = rows(scale)
    first, second = PAIRS
    expected = tangent_dist(v[first], v[second], k=kappa) ** 2
    torch.testing.assert_close(pair_squares(v, PAIRS, space(kappa)), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kappa", [-1.0, -1e-6, 0.0, 1e-6, 0.5])
def test_gradients_in_points_and_curvature_are_right(kappa):
    v = rows(0.4)
    v[3] = torch.tensor([0.1, 0.0, 0.2])  # a node at the origin has its own test

    def squares(v, k):
        return pair_squares(v, PAIRS[:, :6], Fixed(k))

    k = torch.tensor(kappa, dtype=torch.float64)
    assert torch.autograd.gradcheck(squares, (v.requires_grad_(), k.requires_grad_()), atol=1e-6)


class Fixed(Stereographic):
    """A space whose curvature is a tensor that the test owns."""

    def __init__(self, k):
        super().__init__(0.0, dim=3)
        self.given = k

    @property
    def k(self):
        return self.given


@pytest.mark.parametrize("kappa", [-1.0, 0.0, 1.0])
def test_the_origin_has_the_gradient_of_its_limit(kappa):
    """d² is smooth there, though directions are not."""
    pairs, gradients = torch.tensor([[0], [1]]), []
    for near in (0.0, 1e-7):
        v = torch.tensor([[near, 0.0, 0.0], [0.0, 0.7, 0.1]], dtype=torch.float64, requires_grad=True)
        (gradient,) = torch.autograd.grad(pair_squares(v, pairs, space(kappa)).sum(), v)
        gradients.append(gradient)
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)
    assert gradients[0][0, 1] < -1


def test_equal_points_have_distance_and_gradient_zero():
    v = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    squares = pair_squares(v, torch.tensor([[0, 0], [1, 0]]), space(-1.0))
    (gradient,) = torch.autograd.grad(squares.sum(), v)
    assert squares.tolist() == [0, 0]
    assert gradient.abs().max() == 0


@pytest.mark.parametrize("kappa", [-1.0, 0.3])
def test_compiled_and_torch_pairs_agree(kappa):
    results = []
    for context in (torch.enable_grad, torch_only):
        with context():
            v, manifold = rows(0.6, torch.float32).requires_grad_(), space(kappa, torch.float32)
            loss = pair_squares(v, PAIRS, manifold).sum()
            results.append([loss.detach(), *torch.autograd.grad(loss, (v, manifold.curvature.raw))])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def test_a_product_adds_the_squares_of_its_factors():
    product = ProductManifold.from_signature("H2(-0.7)xS1(0.4)").double()
    v = rows(0.5)
    parts = [pair_squares(x, PAIRS, f) for x, f in zip(v.split([2, 1], 1), product.factors, strict=True)]
    torch.testing.assert_close(pair_squares(v, PAIRS, product), parts[0] + parts[1])


def test_no_pairs_give_an_empty_tensor_and_wrong_ones_an_error():
    v = rows(1.0)
    assert pair_squares(v, torch.empty(2, 0, dtype=torch.int64), space(-1.0)).shape == (0,)
    with torch_only():
        assert pair_squares(v, torch.empty(2, 0, dtype=torch.int64), space(-1.0)).shape == (0,)
    with pytest.raises(GraphError, match=r"expected nodes from 0 to 6, found 0 to 7"):
        pair_squares(v, torch.tensor([[0], [7]]), space(-1.0))
    with pytest.raises(GraphError, match=r"expected int64 \(2, P\)"):
        pair_squares(v, torch.tensor([0, 1]), space(-1.0))
    with pytest.raises(GeometryError, match="finite"):
        pair_squares(torch.full_like(v, torch.nan), PAIRS, space(-1.0))
