"""Matrices kept beside the edge_index they were made of."""

import gc
import weakref

import pytest
import torch

from kappagcn.nn import KappaAPPNP, KappaGATConv, KappaGCNConv, KappaSAGEConv
from kappagcn.nn.aggregation import AGGREGATIONS
from kappagcn.nn.prepared import (
    feature_product_operation,
    prepared_adjacency,
    prepared_arrays,
    sparse_features,
)
from kappagcn.sparse import matrix

X = torch.ones(3, 2)
CONVOLUTIONS = {
    "GCN": lambda: KappaGCNConv(2, 2, manifold=-1.0),
    "GAT": lambda: KappaGATConv(2, 2, heads=2, manifold=-1.0),
    "SAGE": lambda: KappaSAGEConv(2, 2, manifold=-1.0),
    "APPNP": lambda: KappaAPPNP(2, 0.1, -1.0),
}


def edges():
    return torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_the_same_tensors_give_the_same_matrix():
    edge_index, weight = edges(), torch.rand(4)
    assert prepared_adjacency(X, edge_index) is prepared_adjacency(X, edge_index)
    assert prepared_adjacency(X, edge_index, weight) is prepared_adjacency(X, edge_index, weight)
    assert prepared_adjacency(X, edge_index) is not prepared_adjacency(X, edge_index, weight)
    assert prepared_adjacency(X, edge_index) is not prepared_adjacency(X, edge_index.clone())


@pytest.mark.parametrize("other", [{"dtype": torch.float64}, {"normalization": "row"}, {"loop_weight": 2.0}])
def test_other_settings_give_another_matrix(other):
    edge_index = edges()
    assert prepared_adjacency(X, edge_index) is not prepared_adjacency(X, edge_index, **other)
    assert prepared_adjacency(X, edge_index).shape != prepared_adjacency(torch.ones(5, 2), edge_index).shape


def test_changes_in_place_are_seen():
    conv, edge_index, weight = KappaGCNConv(2, 2, manifold=-1.0), edges(), torch.ones(4)
    before = conv(X * torch.arange(3.0)[:, None], edge_index, weight)
    weight[0] = 3.0
    changed = conv(X * torch.arange(3.0)[:, None], edge_index, weight)
    edge_index[:, 2:] = 0
    moved = conv(X * torch.arange(3.0)[:, None], edge_index, weight)
    assert not torch.equal(before, changed)
    assert not torch.equal(changed, moved)
    assert torch.equal(moved, conv(X * torch.arange(3.0)[:, None], edge_index.clone(), weight.clone()))


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("cached", [False, True])
def test_training_follows_inference(aggregation, cached):
    conv = KappaGCNConv(2, 2, cached=cached, manifold=-1.0, normalize="row", aggregation=aggregation).double()
    x, edge_index = torch.rand(3, 2, dtype=torch.float64), edges()
    with torch.inference_mode():
        conv(x, edge_index)
    conv(x, edge_index).sum().backward()
    assert conv.lin.weight.grad.isfinite().all()


@pytest.mark.parametrize("loops", [1.0, None])
def test_a_matrix_goes_with_its_edge_index(loops):
    edge_index = edges()
    matrix = weakref.ref(prepared_adjacency(X, edge_index, loop_weight=loops))
    assert matrix() is not None
    del edge_index
    gc.collect()
    assert matrix() is None


def test_weights_with_gradients_are_not_kept():
    edge_index, weight = edges(), torch.ones(4, requires_grad=True)
    assert prepared_adjacency(X, edge_index, weight) is not prepared_adjacency(X, edge_index, weight)


@pytest.mark.parametrize("name", ["GCN", "GAT", "SAGE", "APPNP"])
def test_layers_sort_edges_once(name, monkeypatch):
    layer, sorts, order = CONVOLUTIONS[name](), [], matrix.sorted_order
    monkeypatch.setattr(matrix, "sorted_order", lambda *arguments: sorts.append(1) or order(*arguments))
    edge_index, x = edges(), torch.rand(3, 2, requires_grad=True)
    for _ in range(3):
        layer(x, edge_index).sum().backward()
    once = len(sorts)
    assert once <= 2  # by row and by column; without numba attention needs no order
    edge_index[0, 0] = 2
    moved = layer(x, edge_index)
    assert len(sorts) == 2 * once
    assert torch.equal(moved, layer(x, edge_index.clone()))


def mostly_zeros():
    return (torch.rand(400, 300) < 0.02) * torch.rand(400, 300)


def test_dense_features_that_are_mostly_zeros_are_multiplied_as_sparse_ones_when_they_come_again():
    x = mostly_zeros()
    assert sparse_features(x) is x
    matrix = sparse_features(x)
    assert torch.equal(matrix.to_dense(), x)
    assert sparse_features(x) is matrix
    x[0] = 1.0
    assert sparse_features(x) is x
    assert torch.equal(sparse_features(x).to_dense(), x)


def test_other_features_stay_as_they_are():
    full, small, grad = torch.rand(400, 300), torch.zeros(4, 3), mostly_zeros().requires_grad_()
    for x in (full, small, grad):
        assert all(sparse_features(x) is x for _ in range(3))


def test_operations_keep_the_rules_of_torch():
    x, weight, edge_index = mostly_zeros(), torch.randn(300, 4, requires_grad=True), edges()
    utils = ("test_schema", "test_autograd_registration", "test_faketensor")
    for _ in range(2):  # dense, then sparse
        torch.library.opcheck(feature_product_operation, (x, weight, False), test_utils=utils)
        torch.library.opcheck(feature_product_operation, (x, torch.randn(400, 4), True), test_utils=utils)
    options = 3, 3, False, False, "symmetric", 1.0, "source_to_target"
    torch.library.opcheck(prepared_arrays, (edge_index, torch.rand(4), *options), test_utils=utils)
    torch.library.opcheck(prepared_arrays, (edge_index, None, *options), test_utils=utils)


def test_compiled_functions_use_the_cache_and_see_changes_in_place():
    x, edge_index, conv = mostly_zeros(), torch.randint(400, (2, 900)), KappaGCNConv(300, 4, manifold=-1.0)
    edge_index[:, :5] = 3  # self-loops, which are replaced
    compiled, made = torch.compile(conv, backend="aot_eager", fullgraph=True), []
    for _ in range(2):
        for call in (conv, compiled):
            conv.zero_grad()
            out = call(x, edge_index)
            out.square().sum().backward()
            made.append((out.detach(), *(p.grad.clone() for p in conv.parameters())))
        assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(*made[-2:], strict=True))
        edge_index[0, :300] = 7
        x[0, :20] = 1.0
    assert not torch.allclose(made[0][0], made[-1][0])
    assert prepared_adjacency(x, edge_index) is prepared_adjacency(x, edge_index)


def test_the_layer_gives_the_same_for_dense_features_seen_again():
    x, edge_index, conv = mostly_zeros(), torch.randint(400, (2, 900)), KappaGCNConv(300, 4, manifold=-1.0)
    first, *others = (conv(x, edge_index) for _ in range(3))
    gradients = [torch.autograd.grad(out.square().sum(), conv.lin.weight)[0] for out in (first, *others)]
    for out, gradient in zip(others, gradients[1:], strict=True):
        torch.testing.assert_close(out, first)
        torch.testing.assert_close(gradient, gradients[0])
