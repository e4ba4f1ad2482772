import pytest
import torch
from hypothesis import given

import kappagcn.geometry as G
from kappagcn.errors import GeometryError
from kappagcn.geometry import pairwise
from spaces import spaces


@given(spaces())
def test_entries_are_the_distances(space):
    x, y = space.points(7, reach=2.5), space.points(5, reach=2.5)
    expected = G.dist(x[:, None], y[None], k=space.k)
    torch.testing.assert_close(G.cdist(x, y, k=space.k), expected, rtol=space.tol(), atol=space.tol())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [-1.0, -1e-5, 0.0, 1e-5, 1.0])
def test_gradients_are_those_of_the_distances(k, dtype, monkeypatch):
    """In blocks of two rows, so that blocks meet; close points among them."""
    monkeypatch.setattr(pairwise, "BLOCK", 10)
    generator = torch.Generator().manual_seed(0)
    x = G.random_uniform(7, 3, radius=1.5, k=k, dtype=dtype, generator=generator)
    y = torch.cat([G.random_uniform(4, 3, radius=1.5, k=k, dtype=dtype, generator=generator), x[:1] + 1e-5])
    weight = torch.rand(7, 5, dtype=dtype, generator=generator)

    def gradients(f, *tensors):
        leaves = [t.clone().requires_grad_() for t in tensors]
        return torch.autograd.grad((weight.to(leaves[0].dtype) * f(*leaves)).sum(), leaves)

    actual = gradients(lambda x, y, k: G.cdist(x, y, k=k), x, y, torch.tensor(k, dtype=dtype))
    expected = gradients(
        lambda x, y, k: G.dist(x[:, None], y[None], k=k),
        x.double(),
        y.double(),
        torch.tensor(k, dtype=dtype).double(),
    )
    for f, e in zip(actual, expected, strict=True):
        tol = 2e-5 if dtype == torch.float32 else 1e-11
        torch.testing.assert_close(f.double(), e, rtol=tol, atol=tol)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_coincident_pairs_leave_the_other_gradients_alone(k, dtype):
    """cdist(x, x): the diagonal adds nothing to the gradient, and takes nothing from the other pairs' either."""
    generator = torch.Generator().manual_seed(4)
    x = 0.3 * torch.randn(7, 3, dtype=dtype, generator=generator)
    x[3], x[4] = 0, x[5]
    x[6] = x[5] + torch.tensor([0, 0, 1e-15])  # equal but for one tiny coordinate
    x[5, 2] = 0
    weight = torch.rand(7, 7, dtype=dtype, generator=generator)
    actual, expected = x.clone().requires_grad_(), x.double().requires_grad_()
    (weight * G.cdist(actual, actual, k=k)).sum().backward()
    (weight.double() * G.dist(expected[:, None], expected[None], k=k)).sum().backward()
    torch.testing.assert_close(actual.grad.double(), expected.grad, rtol=1e-5, atol=1e-5)


def test_second_derivatives():
    x, y = (0.3 * torch.randn(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(n)) for n in (3, 4))
    for k in (-1.0, 0.0, 1.0):
        kappa = torch.tensor(k, dtype=torch.float64, requires_grad=True)
        inputs = (x.requires_grad_(), y.requires_grad_(), kappa)
        assert torch.autograd.gradcheck(lambda x, y, k: G.cdist(x, y, k=k), inputs)
        assert torch.autograd.gradgradcheck(lambda x, y, k: G.cdist(x, y, k=k), inputs)


def test_no_tensor_of_n_by_m_by_d():
    """The largest tensor made on the way is N × M, seen by counting what is allocated."""
    n, m, d = 60, 50, 40
    x, y = 0.02 * torch.randn(n, d), 0.02 * torch.randn(m, d)
    sizes = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            sizes.extend(
                t.numel() for t in (out if isinstance(out, tuple | list) else [out]) if isinstance(t, torch.Tensor)
            )
            return out

    with Watch():
        G.cdist(x.requires_grad_(), y.requires_grad_(), k=-1.0).sum().backward()
    assert max(sizes) == n * m


def test_empty_and_malformed_sets():
    assert G.cdist(torch.zeros(0, 3), torch.zeros(4, 3), k=-1.0).shape == (0, 4)
    assert G.cdist(torch.zeros(2, 3), torch.zeros(0, 3), k=-1.0).shape == (2, 0)
    with pytest.raises(GeometryError, match=r"x: expected \(..., N, D\), found \(3,\)"):
        G.cdist(torch.zeros(3), torch.zeros(4, 3), k=-1.0)
    with pytest.raises(GeometryError, match="same last axis"):
        G.cdist(torch.zeros(2, 3), torch.zeros(4, 2), k=-1.0)
    with pytest.raises(GeometryError, match="leading shapes that broadcast"):
        G.cdist(torch.zeros(2, 2, 3), torch.zeros(3, 4, 3), k=-1.0)
