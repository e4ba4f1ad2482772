"""KappaGCN: κ → 0 gives GCN; layers share a space or have their own."""

import itertools

import pytest
import torch
from torch_geometric.nn import GCNConv

from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.graphs import disease
from kappagcn.models import GCN, KappaGCN
from kappagcn.models.kappa_gcn import OUTPUTS
from kappagcn.nn import aggregate, logits
from kappagcn.training.layer_by_layer import layerwise
from sharding_worker import train_sharded
from workers import Worker


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


@pytest.mark.parametrize("kappa", [-1.0, -1e-3, 1e-3, 1.0])
def test_points_and_logits_are_the_papers(data, kappa):
    """σ(Â ⊠ (X ⊗ W)) twice and Â · logits, each step on points by the functions of the geometry."""
    torch.manual_seed(0)
    x = 0.1 * data.x.double()  # on this side of the equator, where log_0 of a point is the row itself
    model = KappaGCN(10, 3, f"U4({kappa})", num_layers=3, output="paper", trainable=False).double()
    torch.nn.init.normal_(model.logits.points, std=0.3)
    k = float(model.manifold.k)
    adjacency = model.adjacency(x, data.edge_index).to_dense()
    points = G.expmap0(x, k=k)
    for conv in model.hidden:
        points = G.matmul_left(adjacency, G.matmul_right(points, conv.lin.weight.mT, k=k), k=k)
        points = G.fn_apply(points, torch.relu, k=k)
    torch.testing.assert_close(model.embed(x, data.edge_index), points)
    planes = G.expmap0(model.logits.points, k=k)
    want = adjacency @ G.logits(points, planes, model.logits.normals, k=k)
    torch.testing.assert_close(model(x, data.edge_index), want)


def test_layers_share_one_space_or_have_their_own():
    shared = KappaGCN(10, 2, "H2xS2", num_layers=3)
    assert len(shared.curvatures()) == 2
    own = KappaGCN(10, 2, ["H4", "H4"])
    assert len(own.curvatures()) == 2
    assert own.hidden[0].manifold is not own.hidden[1].manifold
    assert len(KappaGCN(10, 2, "H4xE4", trainable=False).curvatures()) == 2
    fixed = KappaGCN(10, 2, "H4", trainable=False)
    assert all("curvature" not in name for name, _ in fixed.named_parameters())


def test_curvatures_in_units_follow_the_rows(data):
    """Rows that are not short are bent alike; numbers in the signature stay, flat factors too."""
    outs = []
    for size in (100.0, 10_000.0):  # beyond the length as which short rows count
        torch.manual_seed(0)
        model = KappaGCN(10, 2, "H4xE2xS2(0.5)", output="midpoint", relative=True, trainable=False)
        model.hidden[0].lin.weight.data[6:] = 0  # nothing in the factor of a given curvature
        outs.append(model(size * data.x, data.edge_index) / size)
        assert [c.trainable for c in model.curvatures()] == [False, False, False]
        assert [round(c.value, 3) for c in model.curvatures()[1:]] == [0, 0.5]
    torch.testing.assert_close(outs[0], outs[1], rtol=0.02, atol=0.005)
    assert all(conv.row_scale is None for conv in model.hidden)


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


def test_shards_on_two_processes_train_as_one_network(tmp_path):
    for out, err, code in [w.ended() for w in [Worker(train_sharded, rank, tmp_path) for rank in (0, 1)]]:
        assert code == 0, err
        gap, sharded = out.split()
        assert float(gap) < 1e-6
        assert int(sharded) > 0


def test_dropout_only_in_training(data):
    dropped = {"dropout": 0.5, "input_dropout": 0.5, "dropconnect": 0.3, "adjacency_dropout": 0.3}
    model, plain = KappaGCN(10, 2, "H4", **dropped), KappaGCN(10, 2, "H4")
    plain.load_state_dict(model.state_dict())
    torch.manual_seed(0)
    one, other = model(data.x, data.edge_index), model(data.x, data.edge_index)
    assert not torch.allclose(one, other)
    assert torch.equal(model.eval()(data.x, data.edge_index), plain.eval()(data.x, data.edge_index))


class PyGGCN(torch.nn.Module):
    """Kipf and Welling's network from PyG's layers."""

    def __init__(self, dropout, input_dropout):
        super().__init__()
        self.first, self.second = GCNConv(10, 6), GCNConv(6, 2)
        self.dropout, self.input_dropout = torch.nn.Dropout(dropout), torch.nn.Dropout(input_dropout)

    def forward(self, x, edge_index):
        hidden = self.first(self.input_dropout(x), edge_index).relu()
        return self.second(self.dropout(hidden), edge_index)


def losses(model, first_layer, data):
    """Of 200 steps of Adam under one seed, L² on the first layer."""
    torch.manual_seed(1)
    rest = [p for p in model.parameters() if p is not first_layer and p.requires_grad]
    adam = torch.optim.Adam([{"params": [first_layer], "weight_decay": 5e-4}, {"params": rest}], lr=0.01)
    values = []
    for _ in range(200):
        adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data.x, data.edge_index), data.y)
        loss.backward()
        adam.step()
        values.append(loss.item())
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("output", ["paper-bias", "midpoint"])
def test_without_curvature_it_trains_as_gcn_does(output, dropout):
    """The same losses for 200 steps as our GCN and as PyG's layers, from the same weights and under one seed."""
    data = disease(60)
    data.x = data.x.double()
    dropped = {"dropout": dropout, "input_dropout": dropout / 2}
    flat = KappaGCN(10, 2, "E6", output=output, **dropped).double()
    gcn, theirs = GCN(10, 2, 6, **dropped).double(), PyGGCN(**dropped).double()
    (first,) = gcn.first_layer()
    first.data.copy_(flat.first_layer()[0].data)
    (second,) = (p for name, p in gcn.output.named_parameters() if "weight" in name)
    normals = flat.logits.normals.data
    second.data.copy_(normals if second.shape == normals.shape else normals.t())
    theirs.first.lin.weight.data.copy_(first.data if first.shape == theirs.first.lin.weight.shape else first.data.t())
    theirs.second.lin.weight.data.copy_(normals)
    ours = losses(flat, flat.first_layer()[0], data)
    assert ours[-1] < 0.9 * ours[0]
    torch.testing.assert_close(losses(gcn, first, data), ours, atol=1e-10, rtol=0)
    torch.testing.assert_close(losses(theirs, theirs.first.lin.weight, data), ours, atol=1e-10, rtol=0)


@pytest.mark.parametrize("output", ["paper-bias", "midpoint"])
def test_edges_left_out_are_gcns_under_one_seed(data, output):
    options = {"dropout": 0.3, "adjacency_dropout": 0.4}
    torch.manual_seed(1)
    flat = KappaGCN(10, 2, "E4", output=output, **options).double()
    torch.manual_seed(1)
    gcn = GCN(10, 2, 4, **options).double()
    rows = []
    for model in (flat, gcn):
        torch.manual_seed(0)
        rows.append(model(data.x.double(), data.edge_index))
    torch.testing.assert_close(*rows, atol=1e-12, rtol=1e-12)


def test_the_midpoint_output_is_logits_of_midpoints(data):
    model = KappaGCN(10, 3, "H3xS2", output="midpoint").eval().double()
    torch.nn.init.normal_(model.logits.bias)
    x, adjacency = data.x.double(), model.adjacency(data.x.double(), data.edge_index)
    rows = aggregate(model.tangent(x, adjacency), adjacency, model.manifold)
    flat = logits(rows, torch.zeros(3, 5).double(), model.logits.normals / 4, model.manifold) + model.logits.bias
    torch.testing.assert_close(model(x, adjacency), flat)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("num_layers", [1, 2])
def test_own_features_are_apart_from_the_neighbours(data, output, num_layers):
    """Without edges what is left is a network of the own features; blocks of rows give the same numbers."""
    model = KappaGCN(10, 3, "H3xS2", output=output, self_features=True, num_layers=num_layers).eval()
    assert len(model.first_layer()) == 2
    alone = model(data.x, torch.empty(2, 0, dtype=torch.long))
    own = model.own_logits(model.own(data.x).relu())
    assert torch.allclose(alone - own, (alone - own)[0].expand_as(own), atol=1e-6)
    assert model.embed(data.x, data.edge_index).shape == (150, 5)
    whole = model(data.x, data.edge_index)
    torch.testing.assert_close(layerwise(model, data.x, data.edge_index, batch_size=40), whole)
    assert not torch.allclose(whole, alone)
    assert model.capped_rows(data.x, data.edge_index) == 0


def test_an_unknown_output_is_refused():
    with pytest.raises(GraphError, match="output: expected paper, paper-bias, midpoint, found 'last'"):
        KappaGCN(10, 2, "H4", output="last")
