"""Which tensors go through compiled loops, and which through torch."""

import subprocess
import sys

import pytest
import torch

from kappagcn.kernels.dispatch import compiled, torch_only


@pytest.mark.parametrize("name", ["rows", "point_pairs"])
def test_tensors_on_the_cpu_go_through_compiled_loops(name):
    pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")
    assert compiled(name, torch.ones(2), torch.ones(2, dtype=torch.float64)).__name__ == f"kappagcn.kernels.{name}"
    assert compiled(name, torch.ones(2), torch.ones(2, dtype=torch.bfloat16)) is None
    assert compiled(name, torch.ones(2, device="meta")) is None
    with torch_only():
        assert compiled(name) is None
    assert compiled(name) is not None


def test_without_numba_torch_serves():
    code = """
import sys
sys.modules["numba"] = None
import torch
from kappagcn.nn import KappaGCNConv
from kappagcn.kernels.dispatch import compiled
out = KappaGCNConv(3, 2, manifold=-1.0)(torch.ones(4, 3), torch.tensor([[0, 1], [1, 2]]))
assert out.shape == (4, 2) and compiled("rows") is None
"""
    subprocess.run([sys.executable, "-c", code], check=True)
