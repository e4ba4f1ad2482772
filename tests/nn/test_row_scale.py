"""Layers that take the scale of their space and of their rows from what comes in."""

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import GCNConv

from graph_samples import random_graph
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.nn import KappaGATConv, KappaGCNConv, KappaSAGEConv
from kappagcn.nn.inputs import RelativeCurvature, RowScale, relative_space

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
    assert KappaGCNConv(5, 2, manifold=0.0).row_scale is None


@pytest.mark.parametrize("space", ["H4", "S4", "H2xS2", None])
def test_the_result_follows_the_scale_of_the_rows(space):
    """Ten times the rows, ten times the result, as in flat space, to which curvatures in units of rows are close."""
    torch.manual_seed(0)
    conv = KappaGCNConv(5, 4, manifold=space).eval()
    outs = []
    for size in (0.01, 0.1, 1.0):
        twin = copy.deepcopy(conv)
        outs.append(twin(size * X, EDGES) / size)
    assert torch.allclose(outs[0], outs[1], rtol=1e-3, atol=1e-4)
    assert torch.allclose(outs[2], outs[1], rtol=0.02, atol=0.01)
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


def test_the_first_rows_set_the_scale_and_it_is_part_of_the_state():
    torch.manual_seed(0)
    conv, twin, fresh = (KappaGCNConv(5, 4, manifold="H2xS2") for _ in range(3))
    conv(X, EDGES)
    twin.load_state_dict(conv.state_dict())
    scales = [c.scale.clone() for c in kappas(conv)]
    assert all(scale > 0 for scale in scales)
    assert torch.equal(twin(3 * X, EDGES), conv.eval()(3 * X, EDGES))  # in training as in evaluation
    assert [c.scale for c in kappas(twin)] == scales
    conv.load_state_dict(fresh.state_dict())
    assert all(c.scale == -1 for c in kappas(conv))
    conv(X, EDGES)
    conv.reset_parameters()
    assert all(c.scale == -1 for c in kappas(conv))
    assert conv.row_scale.factor == -1


def test_rows_of_zeros_and_no_rows_say_nothing():
    conv = KappaGCNConv(5, 4, manifold="H4")
    assert conv(torch.zeros(0, 5), torch.zeros(2, 0, dtype=torch.long)).shape == (0, 4)
    assert conv.row_scale.factor == -1
    assert torch.isfinite(conv(torch.zeros(30, 5), EDGES)).all()
    assert kappas(conv)[0].scale == -1


@pytest.mark.parametrize("space", ["H4", "H2xS2"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_activations_computed_again_give_the_same_gradients(space, reentrant):
    """The scale is set by the first forward pass, here with long rows, and constant afterwards."""
    results = []
    for again in (False, True):
        torch.manual_seed(0)
        layers = torch.nn.ModuleList([KappaGCNConv(5, 4, manifold=space), KappaGCNConv(4, 4, manifold=space)]).double()
        for scale in (10.0, 1.0):
            layers.zero_grad()
            v = (scale * X.double()).requires_grad_()
            for layer in layers:
                v = checkpoint(layer, v, EDGES, use_reentrant=reentrant) if again else layer(v, EDGES)
            v.square().sum().backward()
        results.append([p.grad for p in layers.parameters()])
    for once, twice in zip(*results, strict=True):
        torch.testing.assert_close(twice, once, rtol=1e-12, atol=0)


def test_signals_on_one_graph_see_one_curvature():
    torch.manual_seed(0)
    conv = KappaGCNConv(5, 4, manifold="H4")
    signals = torch.stack([0 * X, X, 20 * X])
    out = conv(signals, EDGES)
    assert torch.equal(conv(signals, EDGES), out)
    torch.testing.assert_close(conv(signals.flip(0), EDGES).flip(0), out)
    torch.testing.assert_close(torch.stack([conv(x, EDGES) for x in signals]), out)


def test_curvature_survives_half_precision():
    torch.manual_seed(0)
    x = X.clone()
    x[0] *= 500  # its square is beyond float16
    conv = KappaGCNConv(5, 4, manifold="H4")
    conv(x, EDGES)
    kappa = kappas(conv)[0].value
    assert kappa < 0
    assert kappas(conv.half())[0].value == pytest.approx(kappa, rel=0.01)
    conv.reset_parameters()
    conv(x.half(), EDGES)
    assert -1 < kappas(conv)[0].value < 0


def test_spaces_that_share_a_curvature_share_its_scale():
    curvature = RelativeCurvature(-1.0, trainable=True)
    space = ProductManifold([Stereographic(curvature, dim=2), Stereographic(curvature, dim=2)])
    for layer in (KappaGCNConv, KappaSAGEConv, KappaGATConv):
        layer(5, 4, manifold=space)(X, EDGES).sum().backward()
        assert curvature.raw.grad.isfinite().all()
    tied = Curvature(-1.0, trainable=True)
    space = ProductManifold([Stereographic(tied, dim=2), Stereographic(tied, dim=2)])
    for layer in (KappaGCNConv, KappaSAGEConv, KappaGATConv):
        layer(5, 4, manifold=space)(X, EDGES).sum().backward()
    assert tied.raw.grad.isfinite().all()


def test_states_of_version_0_2_load():
    torch.manual_seed(0)
    conv = KappaGCNConv(5, 4, manifold="H4")
    conv(X, EDGES)
    state, prefix = conv.state_dict(), "manifold.factors.0.curvature."
    old = {**state, f"{prefix}raw": state[f"{prefix}raw"].squeeze(0)}
    old[f"{prefix}mean_square"] = (old.pop(f"{prefix}scale") / 8).square()
    twin = KappaGCNConv(5, 4, manifold="H4")
    twin.load_state_dict(old)
    torch.testing.assert_close(twin(X, EDGES), conv(X, EDGES))
    old[f"{prefix}mean_square"] = torch.tensor(-1 / 64)  # no rows were seen
    twin.load_state_dict(old)
    assert kappas(twin)[0].scale == -1


def test_a_gcnconv_loaded_into_the_default_gives_its_numbers():
    theirs = GCNConv(5, 4)
    ours = KappaGCNConv(5, 4)
    ours.load_state_dict(theirs.state_dict(), strict=False)
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
