"""Convolutions used as PyG's own tests use ``GCNConv``, beside it: the same numbers at κ = 0."""

import copy

import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.nn import GCNConv
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
    ours.load_state_dict(theirs.state_dict())
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
    ours.load_state_dict(theirs.state_dict())
    assert ours[0].manifold.k.tolist() == [-0.5, 0.25]
    assert torch.equal(ours[1].lin.weight, theirs[1].lin.weight)
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
