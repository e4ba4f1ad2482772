"""APPNP: in flat space the published network; in curved spaces with points of theirs."""

import pytest
import torch
from torch_geometric.nn import APPNP as Propagation

from kappagcn.classification.minibatch import MiniBatches
from kappagcn.errors import ConfigError
from kappagcn.graphs import disease, random_split
from kappagcn.models import APPNP
from kappagcn.training.layer_by_layer import layerwise


@pytest.fixture
def data():
    data = disease(80)
    data.x = 0.2 * data.x
    return data


@pytest.mark.parametrize("space", ["E8", "U8", "E3xU5"])
def test_flat_space_is_the_published_network(data, space):
    """PyG's propagation of an MLP's logits, its last bias added afterwards."""
    model = APPNP(10, 3, space, steps=4, alpha=0.2, bias=True).double()
    for bias in (model.hidden[0].bias, model.logits.bias):
        torch.nn.init.normal_(bias)
    x = data.x.double()
    hidden = model.hidden[0](x).relu()
    want = Propagation(4, 0.2)(hidden @ model.logits.normals.t(), data.edge_index) + model.logits.bias
    out = model(x, data.edge_index)
    torch.testing.assert_close(out, want, atol=1e-12, rtol=1e-12)
    parameters = [p for name, p in model.named_parameters() if "manifold" not in name and "curvature" not in name]
    ours, theirs = (torch.autograd.grad(o.square().sum(), parameters) for o in (out, want))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-10)


def test_the_embedding_is_what_the_logits_see(data):
    model = APPNP(10, 2, "H4xS4").eval()
    points = model.embed(data.x, data.edge_index)
    assert points.shape == (80, 8)
    assert model.manifold.check_point(points)
    rows = model.logits(model.tangent(data.x, data.edge_index))
    torch.testing.assert_close(model(data.x, data.edge_index), rows)
    assert model.capped_rows(data.x, data.edge_index) == 0
    assert model.capped_rows(1000 * data.x, data.edge_index) > 0


def test_curvatures_in_units_follow_the_rows(data):
    outs = []
    for size in (1.0, 100.0):
        torch.manual_seed(0)
        model = APPNP(10, 2, "H4xS4", relative=True)
        outs.append(model(size * data.x, data.edge_index) / size)
        assert all(0 < abs(c.value) * (c.scale / 8) ** 2 < 0.02 for c in model.curvatures())
    torch.testing.assert_close(outs[0], outs[1], rtol=0, atol=0.05)


def test_curvatures_are_trained(data):
    model = APPNP(10, 2, "H4xS4")
    model(data.x, data.edge_index).square().sum().backward()
    assert all(float(c.raw.grad.abs()) > 0 for c in model.curvatures())


def test_it_takes_the_whole_graph_alone(data):
    model = APPNP(10, 2, "H4")
    with pytest.raises(ConfigError, match="found appnp"):
        MiniBatches(model, data, random_split(data.y, 0))
    with pytest.raises(ConfigError, match="found appnp"):
        layerwise(model, data.x, data.edge_index)
