"""KappaGCN: κ → 0 gives GCN; layers share a space or have their own."""

import itertools

import pytest
import torch
from torch_geometric.nn import GCNConv

from kappagcn.graphs import disease
from kappagcn.models import KappaGCN


@pytest.fixture
def data():
    data = disease(150)
    data.x = 0.2 * data.x
    return data


@pytest.mark.parametrize("signature", ["H4({k})", "S4({k})", "H2({k})xS2({k})"])
def test_as_curvature_vanishes_the_network_is_gcn_at_first_order(signature):
    """Two GCNConvs and a linear layer between: Â(4 σ(Â X W + b) aᵀ)."""
    data = disease(60)
    x = 0.2 * data.x.double()
    torch.manual_seed(0)
    flat = KappaGCN(10, 3, "E4").double()
    first = GCNConv(10, 4).double()
    first.lin.weight.data = flat.hidden[0].lin.weight.data.clone()
    second = GCNConv(4, 3, bias=False).double()
    second.lin.weight.data = 4 * flat.logits.normals.data.clone()
    want = second(first(x, data.edge_index).relu(), data.edge_index)
    assert torch.allclose(flat(x, data.edge_index), want, atol=1e-12)
    gaps = []
    for k in (1e-2, 1e-3, 1e-4):
        text = signature.replace("H4({k})", f"H4(-{k})").replace("H2({k})", f"H2(-{k})").replace("{k}", str(k))
        curved = KappaGCN(10, 3, text).double()
        weights = {name: t for name, t in flat.state_dict().items() if "manifold" not in name}
        curved.load_state_dict(weights, strict=False)
        gaps.append(float((curved(x, data.edge_index) - want).detach().norm()))
    for gap, smaller in itertools.pairwise(gaps):
        assert 8 < gap / smaller < 12


def test_layers_share_one_space_or_have_their_own():
    shared = KappaGCN(10, 2, "H2xS2", num_layers=3)
    assert len(shared.curvatures()) == 2
    own = KappaGCN(10, 2, ["H4", "H4"])
    assert len(own.curvatures()) == 2
    assert own.hidden[0].manifold is not own.hidden[1].manifold
    assert len(KappaGCN(10, 2, "H4xE4", trainable=False).curvatures()) == 2
    fixed = KappaGCN(10, 2, "H4", trainable=False)
    assert all("curvature" not in name for name, _ in fixed.named_parameters())


def test_a_network_without_classes_ends_in_its_space(data):
    model = KappaGCN(10, None, ["H16", "H10"], act="none", double=True)
    assert model(data.x, data.edge_index).shape == (150, 10)


def test_rows_beyond_the_precision_are_counted(data):
    model = KappaGCN(10, 2, "H4", act="none")
    data.x = torch.ones(150, 10)  # all in one place: midpoints as far out as the points
    model.hidden[0].lin.weight.data.fill_(0.3)  # 12 from the origin
    assert model.capped_rows(data.x, data.edge_index) == 0
    model.hidden[0].lin.weight.data.fill_(0.5)
    assert model.capped_rows(data.x, data.edge_index) == 150
    assert torch.isfinite(model(data.x, data.edge_index)).all()


def test_dropout_only_in_training(data):
    dropped = {"dropout": 0.5, "input_dropout": 0.5, "dropconnect": 0.3, "adjacency_dropout": 0.3}
    model, plain = KappaGCN(10, 2, "H4", **dropped), KappaGCN(10, 2, "H4")
    plain.load_state_dict(model.state_dict())
    torch.manual_seed(0)
    one, other = model(data.x, data.edge_index), model(data.x, data.edge_index)
    assert not torch.allclose(one, other)
    assert torch.equal(model.eval()(data.x, data.edge_index), plain.eval()(data.x, data.edge_index))
