"""Rows by torch and compiled: how often they can be differentiated."""

import pytest
import torch

from graph_samples import EDGES, X
from kappagcn import KappaGCNConv
from kappagcn.errors import GeometryError
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import KappaLogits


def test_compiled_layers_refuse_second_derivatives():
    pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")
    conv, logits = KappaGCNConv(3, 2, manifold=-1.0), KappaLogits(3, 2, -1.0)
    x = X.clone().requires_grad_()
    for out in (conv(x, EDGES), logits(x)):
        with pytest.raises(GeometryError, match="create_graph=True"):
            torch.autograd.grad(out.sum(), x, create_graph=True)


@pytest.mark.parametrize("kappa", [-1.0, 0.0, 0.7])
def test_torch_has_second_derivatives(kappa):
    conv, logits = KappaGCNConv(3, 2, manifold=kappa).double(), KappaLogits(3, 2, kappa).double()
    x = X.double().requires_grad_()
    with torch_only():
        assert torch.autograd.gradgradcheck(lambda x: conv(x, EDGES), (x,))
        assert torch.autograd.gradgradcheck(logits, (x,))
