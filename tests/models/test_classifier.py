"""The networks: κ → 0 gives GCN, every parameter learns, points come out, options rebuild them."""

import copy
import json

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import disease
from kappagcn.models import GCN, HGCN, MLP, KappaGCN, build_model
from kappagcn.sparse import SparseMatrix

MODELS = {
    "H4": lambda: KappaGCN(10, 2, "H4"),
    "S4": lambda: KappaGCN(10, 2, "S4"),
    "H2xS2": lambda: KappaGCN(10, 2, "H2xS2", split_input=True),
    "deep": lambda: KappaGCN(10, 2, "U4xH3", num_layers=3, act="tanh"),
    "own": lambda: KappaGCN(10, 2, ["H6", "S3xH2"], act="none"),
    "gcn": lambda: GCN(10, 2, 4, num_layers=2),
    "hgcn": lambda: HGCN(10, 2, 4, num_layers=2, attention=True, at_node=True),
    "mlp": lambda: MLP(10, 2, 4, num_layers=2),
}


@pytest.fixture
def data():
    data = disease(150)
    data.x = 0.2 * data.x
    return data


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_gets_a_gradient(name, data):
    torch.manual_seed(0)
    model = MODELS[name]()
    out = model(data.x, data.edge_index)
    assert out.shape == (150, 2)
    torch.nn.functional.cross_entropy(out, data.y).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name
    assert {id(p) for p in model.first_layer()} <= {id(p) for p in model.parameters()}


@pytest.mark.parametrize("name", MODELS)
def test_the_embedding_is_points_of_the_space(name, data):
    model = MODELS[name]().eval()
    v, x = model.tangent(data.x, data.edge_index), model.embed(data.x, data.edge_index)
    if model.manifold is None:
        assert torch.equal(v, x)
    else:
        assert torch.allclose(model.manifold.to_ambient(x), model.manifold.lift(v), atol=1e-4)
    moved = model.embed(data.x.roll(1, 0), data.edge_index)
    assert not torch.allclose(moved, x)  # it depends on the features


@pytest.mark.parametrize("name", MODELS)
def test_options_state_dict_and_copy_give_the_same_network(name, data):
    model = MODELS[name]().eval()
    options = json.loads(json.dumps(model.options))
    again = build_model(model.name, **options).eval()
    again.load_state_dict(model.state_dict())
    want = model(data.x, data.edge_index)
    for twin in (again, copy.deepcopy(model)):
        assert torch.equal(twin(data.x, data.edge_index), want)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_features_and_a_prepared_adjacency_are_the_same(name, data):
    model = MODELS[name]().eval()
    want = model(data.x, data.edge_index)
    adjacency = model.adjacency(data.x, data.edge_index)
    for x in (data.x, data.x.to_sparse_coo(), SparseMatrix.from_tensor(data.x)):
        assert torch.allclose(model(x, adjacency), want, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: KappaGCN(10, 2, "H4", num_layers=0), "at least one hidden layer, found 0"),
        (lambda: KappaGCN(10, 2, []), "at least one hidden layer"),
        (lambda: KappaGCN(10, 2, "H4", act="cube"), "act: expected relu"),
        (lambda: GCN(10, 2, dropout=1.5), "dropout: expected a probability"),
        (lambda: GCN(10, 2, 0), "expected a number of columns from 1"),
        (lambda: build_model("gat"), "expected a model, one of kappa-gcn"),
    ],
)
def test_wrong_options_are_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()
