"""Convolutions used as PyG's own tests use ``GCNConv``, beside it: the same numbers at κ = 0."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric import EdgeIndex
from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GCNConv, JumpingKnowledge, Sequential, summary, to_hetero
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csc_tensor

from graph_samples import DOUBLE
from kappagcn.errors import GraphError
from kappagcn.nn import HGCNConv, KappaGCNConv

pytestmark = pytest.mark.filterwarnings("ignore:Sparse (CSR tensor|CSC tensor|invariant):UserWarning")
STAR = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
WEIGHT = torch.rand(6, generator=torch.Generator().manual_seed(1), dtype=DOUBLE) + 0.1
X = torch.randn(4, 16, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def both(*args, **options):
    """Ours at κ = 0 and PyG's, with the same weights in float64."""
    theirs = GCNConv(*args, **options).double()
    ours = KappaGCNConv(*args, **options, manifold=0.0).double()
    ours.load_state_dict(theirs.state_dict(), strict=False)
    return ours, theirs


def test_arguments_in_gcnconvs_order():
    ours, theirs = both(16, 32, True, True, False, True, False)
    assert (ours.improved, ours.cached, ours.add_self_loops, ours.bias) == (True, True, False, None)
    assert torch.allclose(ours(X, STAR, WEIGHT), theirs(X, STAR, WEIGHT), **TOLERANCE)


@pytest.mark.parametrize("options", [{}, {"improved": True}, {"normalize": False}, {"add_self_loops": False}])
@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
def test_options_give_gcnconvs_numbers(options, flow):
    edges = torch.tensor([[0, 0, 2, 3, 1], [1, 2, 3, 3, 0]])  # directed, with a self-loop
    ours, theirs = both(16, 32, **options, flow=flow)
    for weight in (None, WEIGHT[:5]):
        # GCNConv forgets `improved` where there are no weights; ours does what its documentation says.
        known = torch.ones(5, dtype=DOUBLE) if weight is None and "improved" in options else weight
        assert torch.allclose(ours(X, edges, weight), theirs(X, edges, known), **TOLERANCE)


def test_every_form_of_the_edges():
    ours, theirs = both(16, 32)
    want = theirs(X, STAR, WEIGHT)
    matrix = to_torch_csc_tensor(STAR, WEIGHT, size=(4, 4))
    order = STAR[1].argsort(stable=True)
    forms = [
        (matrix.t(),),
        (matrix.t().to_sparse_coo(),),
        (EdgeIndex(STAR, sparse_size=(4, 4)), WEIGHT),
        (EdgeIndex(STAR[:, order], sparse_size=(4, 4), sort_order="col"), WEIGHT[order]),
        (STAR.int(), WEIGHT),
    ]
    for form in forms:
        assert torch.allclose(ours(X, *form), want, **TOLERANCE)


def test_names_state_and_cache():
    ours, theirs = both(16, 32)
    assert str(ours) == "KappaGCNConv(16, 32)"
    assert set(theirs.state_dict()) <= set(ours.state_dict())
    assert ours.lin.weight.shape == (32, 16)
    want = theirs(X, STAR)
    ours.cached = True
    assert torch.allclose(ours(X, STAR), want, **TOLERANCE)
    assert ours._cached_edge_index is not None
    assert torch.allclose(ours(X, STAR[:, :1]), want, **TOLERANCE)
    ours.reset_parameters()
    assert ours._cached_edge_index is None
    assert not torch.allclose(ours(X, STAR), want)


def test_a_network_of_gcnconvs_loads_into_curved_layers_and_keeps_their_curvature():
    theirs = torch.nn.ModuleList([GCNConv(16, 8), GCNConv(8, 2)])
    ours = torch.nn.ModuleList([KappaGCNConv(16, 8, manifold="H4(-0.5)xS4(0.25)"), KappaGCNConv(8, 2)])
    ours.load_state_dict(theirs.state_dict(), strict=False)
    assert ours[0].manifold.k.tolist() == [-0.5, 0.25]
    assert torch.equal(ours[1].lin.weight, theirs[1].lin.weight)
    with pytest.raises(RuntimeError, match=r"Missing key.*manifold\.curvature\.raw"):
        ours[1].load_state_dict(theirs[1].state_dict())
    with pytest.raises(RuntimeError, match=r"Missing key.*lin\.weight"):
        ours[1].load_state_dict({"bias": torch.zeros(2)})


def test_channels_taken_from_the_first_input():
    torch.manual_seed(0)
    lazy = KappaGCNConv(-1, 32, manifold="H32(-0.5)").double()
    twin = copy.deepcopy(lazy)
    assert str(lazy) == "KappaGCNConv(-1, 32, manifold=H32(-0.5))"
    out = lazy(X, STAR)
    assert lazy.in_channels == 16
    known = KappaGCNConv(16, 32, manifold="H32(-0.5)").double()
    known.load_state_dict(lazy.state_dict())
    assert torch.equal(known(X, STAR), out)
    twin.load_state_dict(lazy.state_dict())
    assert torch.equal(twin(X, STAR), out)
    sparse = KappaGCNConv(-1, 8).double()
    assert sparse(X.relu().to_sparse_csr(), STAR).shape == (4, 8)
    with pytest.raises(GraphError, match=r"expected \(N, 16\)"):
        lazy(X[:, :3], STAR)


def test_signals_on_one_graph():
    ours, theirs = both(16, 32)
    signals = torch.stack([X, 2 * X, X.flip(0)])
    assert torch.allclose(ours(signals, STAR, WEIGHT), theirs(signals, STAR, WEIGHT), **TOLERANCE)


def test_edges_that_are_normalised_already():
    ours, theirs = both(16, 32)
    want = theirs(X, STAR, WEIGHT)
    ours.normalize, ours.add_self_loops = "none", False
    assert torch.allclose(ours(X, *gcn_norm(STAR, WEIGHT, 4)), want, **TOLERANCE)


@pytest.mark.parametrize("kappa", [-0.7, 0.0, 0.4])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_messages_one_by_one_give_the_same_sums(kappa, dtype):
    conv = KappaGCNConv(16, 8, manifold=kappa).to(dtype)
    x, weight = 0.3 * X.to(dtype), WEIGHT.to(dtype)
    for edges, size in ((STAR, None), (STAR[:, :3], (4, 5))):
        w = weight[: edges.shape[1]]
        want = conv(x, edges, w, size)
        seen = []
        handle = conv.register_message_forward_hook(lambda *args, seen=seen: seen.append(args[-1].shape))
        for flow in ("source_to_target", "target_to_source"):
            conv.flow = flow
            along = edges if flow == "source_to_target" else edges.flip(0)
            assert torch.allclose(conv(x, along, w, size), want, atol=1e-6 if dtype == torch.float32 else 1e-12)
        handle.remove()
        conv.flow = "source_to_target"
        assert len(seen) == 2
        assert torch.equal(conv(x, edges, w, size), want)
        assert len(seen) == 2


def test_aggregations_without_messages_are_named():
    conv = HGCNConv(16, 8, at_node=True).double()
    conv.register_propagate_forward_pre_hook(lambda *args: None)
    with pytest.raises(GraphError, match="midpoint or tangential with explainers and hooks"):
        conv(X, STAR)


class Network(nn.Module):
    """Two layers, as PyG's documentation writes them."""

    def __init__(self, conv, in_channels=16, **options):
        super().__init__()
        self.conv1, self.conv2 = conv(in_channels, 8, **options), conv(8, 3, **options)

    def forward(self, x, edge_index, edge_weight=None):
        return self.conv2(self.conv1(x, edge_index, edge_weight).relu(), edge_index, edge_weight)


def flat(*channels, **options):
    return KappaGCNConv(*channels, manifold=0.0, **options)


def test_edge_masks_weigh_edges_as_gcnconvs():
    theirs, ours = Network(GCNConv), Network(flat)
    ours.load_state_dict(theirs.state_dict(), strict=False)
    x, results = X.float(), []
    for model in (theirs, ours):
        mask = nn.Parameter(torch.linspace(-1, 1, 6))
        set_masks(model, mask, STAR)
        out = model(x, STAR)
        out.square().sum().backward()
        clear_masks(model)
        results.append((out.detach(), mask.grad, model(x, STAR).detach()))
    for mine, pygs in zip(*results, strict=True):
        assert torch.allclose(mine, pygs, atol=1e-4)
    assert not torch.allclose(results[0][0], results[0][2])


@pytest.mark.parametrize("algorithm", ["gnn", "captum"])
@pytest.mark.filterwarnings("ignore:Some weight gradients are None:UserWarning")
@pytest.mark.filterwarnings("ignore:Input Tensor 0 did not already require gradients:UserWarning")
def test_explainers_give_masks_of_edges_and_features(algorithm):
    if algorithm == "captum":
        pytest.importorskip("captum")
    torch.manual_seed(0)
    model = Network(KappaGCNConv, manifold=None).eval()
    method = GNNExplainer(epochs=20) if algorithm == "gnn" else CaptumExplainer("Saliency")
    explainer = Explainer(
        model,
        method,
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    explanation = explainer(X.float(), STAR, index=3)
    assert explanation.edge_mask.shape == (6,)
    assert explanation.edge_mask.abs().sum() > 0
    assert explanation.node_mask.shape == (4, 16)
    assert not any(getattr(module, "explain", False) for module in model.modules())


def test_to_hetero():
    metadata = (["paper", "author"], [("paper", "by", "author"), ("author", "of", "paper")])
    x = {"paper": torch.randn(4, 16), "author": torch.randn(3, 5)}
    by = torch.tensor([[0, 1, 3], [2, 0, 1]])
    edges = {metadata[1][0]: by, metadata[1][1]: by.flip(0)}
    model = to_hetero(Network(KappaGCNConv, -1, manifold=None, add_self_loops=False), metadata)
    out = model(x, edges)
    assert {key: tuple(rows.shape) for key, rows in out.items()} == {"paper": (4, 3), "author": (3, 3)}
    sum(rows.square().sum() for rows in out.values()).backward()
    assert all(p.grad is not None for name, p in model.named_parameters() if "weight" in name)


def test_sequential_and_jumping_knowledge():
    torch.manual_seed(0)
    model = Sequential(
        "x, edge_index",
        [
            (KappaGCNConv(16, 8, manifold="H8"), "x, edge_index -> x1"),
            nn.ReLU(),
            (KappaGCNConv(8, 8, manifold="S8"), "x1, edge_index -> x2"),
            (lambda x1, x2: [x1, x2], "x1, x2 -> xs"),
            (JumpingKnowledge("cat"), "xs -> x"),
            nn.Linear(16, 3),
        ],
    )
    out = model(X.float(), STAR)
    assert out.shape == (4, 3)
    out.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_gradients_reach_edge_weights_on_every_path():
    x = 0.3 * X
    for options in ({}, {"cached": True}, {"adjacency_dropout": 0.1}, {"double": True}, {"aggregation": "tangential"}):
        conv = KappaGCNConv(16, 3, manifold=-0.5, **options).double().eval()
        grads = []
        for form in ("edges", "again", "coo", "csr"):
            weight = WEIGHT.clone().requires_grad_()
            adjacency = torch.sparse_coo_tensor(STAR.flip(0), weight, (4, 4), check_invariants=True)
            forms = {"coo": (adjacency,), "csr": (adjacency.to_sparse_csr(),)}
            conv(x, *forms.get(form, (STAR, weight))).square().sum().backward()
            grads.append(weight.grad)
        assert grads[0].abs().min() > 0
        for grad in grads[1:]:
            assert torch.allclose(grad, grads[0], atol=1e-10)


def test_summaries_see_the_layer():
    pytest.importorskip("tabulate")
    assert "KappaGCNConv" in summary(Network(KappaGCNConv), X.float(), STAR)
