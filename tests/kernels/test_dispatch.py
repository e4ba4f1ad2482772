"""Which tensors go through compiled loops, and which through torch."""

import sys

import pytest
import torch

from kappagcn.kernels import dispatch
from kappagcn.kernels.dispatch import compiled, torch_only
from kappagcn.nn import KappaGCNConv


@pytest.mark.parametrize("name", ["rows", "point_pairs"])
def test_tensors_on_the_cpu_go_through_compiled_loops(name):
    pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")
    assert compiled(name, torch.ones(2), torch.ones(2, dtype=torch.float64)).__name__ == f"kappagcn.kernels.{name}"
    assert compiled(name, torch.ones(2), torch.ones(2, dtype=torch.bfloat16)) is None
    assert compiled(name, torch.ones(2, device="meta")) is None
    with torch_only():
        assert compiled(name) is None
    assert compiled(name) is not None


def test_without_numba_torch_serves(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("kappagcn.kernels.")]:
        if name != dispatch.__name__:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)  # an import of it fails
    monkeypatch.setattr(dispatch, "_load", dispatch._load.__wrapped__)
    assert compiled("rows") is None
    assert compiled("point_pairs") is None
    out = KappaGCNConv(3, 2, manifold=-1.0)(torch.ones(4, 3), torch.tensor([[0, 1], [1, 2]]))
    assert out.shape == (4, 2)
