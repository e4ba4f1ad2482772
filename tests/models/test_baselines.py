"""GCN, HGCN and the MLP."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import cycle
from kappagcn.models import GCN, HGCN, MLP

EDGES, X = cycle(6).edge_index, torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def test_a_gcn_is_its_two_products_with_the_normalised_matrix():
    torch.manual_seed(0)
    model = GCN(4, 2, 8).double().eval()
    adjacency = model.adjacency(X.double(), EDGES).to_dense()
    hidden = torch.relu(adjacency @ X.double() @ model.hidden[0].lin.weight.t() + model.hidden[0].bias)
    logits = adjacency @ hidden @ model.output.lin.weight.t() + model.output.bias
    assert torch.allclose(model(X.double(), EDGES), logits, atol=1e-12)


def test_an_mlp_does_not_look_at_the_graph():
    model = MLP(4, 2).eval()
    assert torch.equal(model(X, EDGES), model(X))
    assert not any(step.aggregates for step in model.steps())


def test_each_layer_of_hgcn_has_its_own_curvature_below_zero():
    curvatures = HGCN(4, 2, num_layers=3, curvature=-0.5).curvatures()
    assert [curvature.value for curvature in curvatures] == pytest.approx([-0.5] * 3, rel=1e-5)


@pytest.mark.parametrize("model", [GCN, HGCN, MLP])
def test_sizes_and_options_that_cannot_be_are_refused(model):
    with pytest.raises(GraphError, match="expected at least one hidden layer"):
        model(4, 2, num_layers=0)
    with pytest.raises(GraphError, match="hidden_channels: expected a number of columns"):
        model(4, 2, "H16")
    with pytest.raises(GraphError, match="dropout: expected a probability"):
        model(4, 2, dropout=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'droput'"):
        model(4, 2, droput=0.5)
