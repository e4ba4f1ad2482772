"""A network step by step: exact with all neighbours, layer by layer too."""

import pytest
import torch
from torch_geometric.data import Data

from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch, MiniBatches
from kappagcn.errors import ConfigError, GraphError
from kappagcn.nn import SparseMatrix
from kappagcn.sparse import NeighbourSampler
from kappagcn.training import layerwise
from kappagcn.training.layer_by_layer import take_rows
from small_networks import MODELS, build, network


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_with_all_neighbours_gives_scores_and_gradients_of_the_whole_graph(name, data):
    model = build(name).double()
    x, seeds = data.x.double(), torch.tensor([5, 0, 17, 199])
    hops = sum(step.aggregates for step in model.steps())
    want = model(x, data.edge_index)[seeds]
    weights = [p for p in model.parameters() if p.requires_grad]
    slopes = torch.autograd.grad(want.square().sum(), weights, allow_unused=True)
    actual, nodes = None, seeds
    if hops:
        sample = NeighbourSampler(model.adjacency(x, data.edge_index), (-1,) * hops).sample(seeds)
        assert sample.blocks[-1].shape[0] == len(seeds)
        nodes, actual = sample.nodes, model.forward_blocks(x[sample.nodes], sample.blocks)
    else:
        actual = model.forward_blocks(x[nodes], [])
    assert torch.allclose(actual, want, atol=1e-9)
    for one, other in zip(torch.autograd.grad(actual.square().sum(), weights, allow_unused=True), slopes, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_layer_by_layer_gives_what_the_whole_forward_gives(name, kind, data):
    model = build(name).eval()
    x = data.x if kind == "dense" else data.x.to_sparse_csr()
    want = model(data.x, data.edge_index).detach()
    for batch_size in (7, 200, 4096):
        assert torch.allclose(layerwise(model, x, data.edge_index, batch_size=batch_size), want, atol=1e-6)
    nodes = torch.tensor([150, 3, 3, 0])
    assert torch.allclose(layerwise(model, x, data.edge_index, nodes=nodes, batch_size=3), want[nodes], atol=1e-6)


def test_layer_by_layer_is_in_evaluation_and_leaves_the_network_as_it_was(data):
    model = network()
    assert model.training
    result = layerwise(model, data.x, data.edge_index)
    assert model.training
    assert not result.requires_grad
    assert torch.allclose(result, model.eval()(data.x, data.edge_index), atol=1e-6)
    given = model.adjacency(data.x, data.edge_index)
    assert torch.allclose(layerwise(model, SparseMatrix.from_tensor(data.x), given), result, atol=1e-6)


@pytest.mark.parametrize("name", ["hyperbolic", "hgcn", "gcn"])
def test_nodes_that_are_new(name, data):
    model = build(name).eval()
    new = torch.tensor([200, 201])
    x = torch.cat([data.x, 0.1 * torch.rand(2, 10)])
    one_way = torch.tensor([[200, 200, 201, 200], [3, 50, 120, 201]])
    edges = torch.cat([data.edge_index, one_way, one_way.flip(0)], 1)
    want = model(x, edges)[new]
    assert torch.allclose(layerwise(model, x, edges, nodes=new), want, atol=1e-6)
    assert not torch.allclose(model(x, data.edge_index)[new], want, atol=1e-4)  # their edges count


def test_weights_of_edges_count(data):
    model, weight = build("hyperbolic").eval(), torch.rand(data.num_edges)
    want = model(data.x, data.edge_index, weight)
    assert torch.allclose(layerwise(model, data.x, data.edge_index, weight), want, atol=1e-6)


def test_only_what_the_nodes_need_is_looked_at(data):
    """Features that are NaN three hops away do not matter to a network of two."""
    model = build("hyperbolic").eval()
    near = torch.zeros(200, dtype=torch.bool)
    near[0] = True
    for _ in range(2):
        near[data.edge_index[1][near[data.edge_index[0]]]] = True
    assert not near.all()
    x = data.x.masked_fill(~near.unsqueeze(1), torch.nan)
    result = layerwise(model, x, data.edge_index, nodes=torch.tensor([0]))
    assert torch.allclose(result, model(data.x, data.edge_index)[:1], atol=1e-6)


def test_other_wrong_input(data, split):
    with pytest.raises(GraphError, match=r"blocks: expected 2, .* found 0"):
        network().forward_blocks(data.x, [])
    with pytest.raises(ConfigError, match="batch_size"):
        layerwise(network(), data.x, data.edge_index, batch_size=0)
    with pytest.raises(ConfigError, match="nodes: expected 0 to 199, found 3 to 200"):
        layerwise(network(), data.x, data.edge_index, nodes=torch.tensor([3, 200]))
    with pytest.raises(ConfigError, match="nodes: expected numbers of nodes"):
        layerwise(network(), data.x, data.edge_index, nodes=[3])
    with pytest.raises(ConfigError, match="expected a current batch"):
        MiniBatches(network(), data, split).loss()
    with pytest.raises(ConfigError, match="expected features"):
        fit(network(), Data(edge_index=data.edge_index, y=data.y), split, strategy=MiniBatch())
    assert torch.equal(take_rows(data.x, torch.tensor([3])), data.x[3:4])
