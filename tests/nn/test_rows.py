"""Rows by torch and compiled: both can be differentiated twice."""

import pytest
import torch

from graph_samples import BOTH, EDGES, X
from kappagcn import KappaGCNConv
from kappagcn.nn import KappaLogits


@BOTH
@pytest.mark.parametrize("kappa", [-1.0, 0.0, 0.7])
def test_second_derivatives(kappa, path):
    conv, logits = KappaGCNConv(3, 2, manifold=kappa).double(), KappaLogits(3, 2, kappa).double()
    x = X.double().requires_grad_()
    with path():
        assert torch.autograd.gradgradcheck(lambda x: conv(x, EDGES), (x,))
        assert torch.autograd.gradgradcheck(logits, (x,))
