"""Layers that take the scale of their space and of their rows from what comes in."""

import copy

import pytest
import torch
from torch_geometric.nn import GCNConv

from graph_samples import random_graph
from kappagcn.geometry import Curvature
from kappagcn.geometry.curvature import RelativeCurvature
from kappagcn.nn import KappaGCNConv
from kappagcn.nn.row_scale import RowScale, is_relative, relative_space

EDGES = random_graph(30, 90, 0)[0]
X = torch.randn(30, 5, generator=torch.Generator().manual_seed(1))


def kappas(conv):
    return [module for module in conv.modules() if isinstance(module, Curvature)]


def test_numbers_stay_as_they_are_given():
    space = relative_space("H2xS2(0.5)xE1xU3xH1(-1)")
    assert [isinstance(f.curvature, RelativeCurvature) for f in space.factors] == [True, False, False, True, False]
    assert [f.curvature.trainable for f in space.factors] == [True, True, False, True, True]
    assert space.signature == "H2xS2(0.5)xE1xU3xH1"
    conv = KappaGCNConv(5, 2, manifold="H2(-1)")
    conv(100 * X, EDGES)
    assert kappas(conv)[0].value == -1
    assert conv.row_scale is None
    assert not is_relative(KappaGCNConv(5, 2, manifold=0.0).manifold)


@pytest.mark.parametrize("space", ["H4", "S4", "H2xS2", None])
def test_the_result_follows_the_scale_of_the_rows(space):
    """Ten times the rows, ten times the result, as in flat space; up to the length from which rows are scaled down."""
    torch.manual_seed(0)
    conv = KappaGCNConv(5, 4, manifold=space).eval()
    outs = []
    for size in (0.01, 0.1, 1.0):
        twin = copy.deepcopy(conv)
        outs.append(twin(size * X, EDGES) / size)
    assert torch.allclose(outs[0], outs[1], rtol=1e-4, atol=1e-6)
    assert torch.allclose(outs[2], outs[1], rtol=1e-4, atol=1e-6)
    flat = KappaGCNConv(5, 4, manifold=0.0)
    flat.load_state_dict({**flat.state_dict(), "lin.weight": conv.lin.weight, "bias": conv.bias})
    assert torch.allclose(outs[2], flat(X, EDGES), atol=0.1)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_long_rows_are_scaled_down_once():
    torch.manual_seed(0)
    conv, sparse = KappaGCNConv(5, 4), KappaGCNConv(5, 4)
    sparse.load_state_dict(conv.state_dict())
    long = 100 * X.relu()
    conv(long, EDGES)
    sparse(long.to_sparse_csr(), EDGES)
    length = float(conv.row_scale.factor * long.norm(dim=1)[long.any(1)].median())
    assert length == pytest.approx(RowScale.LIMIT, rel=1e-5)
    assert torch.allclose(sparse.row_scale.factor, conv.row_scale.factor)
    kept = conv.row_scale.factor.clone()
    conv(X, EDGES)
    assert torch.equal(conv.row_scale.factor, kept)


def test_the_scale_is_part_of_the_state_and_follows_in_training_alone():
    torch.manual_seed(0)
    conv = KappaGCNConv(5, 4, manifold="H2xS2")
    first = conv(X, EDGES)
    for curvature in kappas(conv):
        assert not curvature.pending
    twin = KappaGCNConv(5, 4, manifold="H2xS2")
    twin.load_state_dict(conv.state_dict())
    conv.eval()
    twin.eval()
    assert torch.equal(twin(3 * X, EDGES), conv(3 * X, EDGES))
    before = [c.value for c in kappas(twin)]
    twin.train()
    twin(3 * X, EDGES)
    for old, curvature in zip(before, kappas(twin), strict=True):
        assert abs(curvature.value) < abs(old)
    fresh = KappaGCNConv(5, 4, manifold="H2xS2")
    fresh.load_state_dict(KappaGCNConv(5, 4, manifold="H2xS2").state_dict())
    assert all(c.pending for c in kappas(fresh))
    assert first.isfinite().all()


def test_rows_of_zeros_and_no_rows_say_nothing():
    conv = KappaGCNConv(5, 4, manifold="H4")
    assert conv(torch.zeros(0, 5), torch.zeros(2, 0, dtype=torch.long)).shape == (0, 4)
    assert kappas(conv)[0].pending
    assert torch.isfinite(conv(torch.zeros(30, 5), EDGES)).all()


def test_a_gcnconv_loaded_into_the_default_gives_its_numbers():
    theirs = GCNConv(5, 4)
    ours = KappaGCNConv(5, 4)
    ours.load_state_dict(theirs.state_dict())
    assert torch.allclose(ours(50 * X, EDGES), theirs(50 * X, EDGES), rtol=1e-5, atol=1e-4)


def test_it_starts_under_compile_as_it_does_eagerly():
    torch.manual_seed(0)
    conv = KappaGCNConv(5, 4, manifold="H2xS2")
    twin = copy.deepcopy(conv)
    compiled = torch.compile(twin, backend="aot_eager", fullgraph=True)
    with torch.no_grad():  # the compiled backward is tested with the layers
        for rows in (X, 2 * X):
            assert torch.allclose(compiled(rows, EDGES), conv(rows, EDGES), atol=1e-5)
    assert [c.value for c in kappas(twin)] == pytest.approx([c.value for c in kappas(conv)], rel=1e-4)


def test_a_few_very_long_rows_neither_shrink_the_others_nor_are_bent_strongly():
    x = torch.randn(500, 3, generator=torch.Generator().manual_seed(0))
    x[0] *= 1e5  # measurements with an outlier
    x[1:100] = 0
    conv = KappaGCNConv(3, 3, manifold="H3")
    conv(x, torch.arange(500).repeat(2, 1))
    assert conv.row_scale.factor == 1
    kappa, farthest = conv.manifold.factors[0].curvature.value, conv.lin(x).norm(dim=1).max()
    assert -2 / 64 < kappa * farthest**2 < 0
