"""Matrices kept beside the edge_index they were made of."""

import gc
import weakref

import pytest
import torch

from kappagcn.nn import KappaGCNConv
from kappagcn.nn.prepared import prepared_adjacency, sparse_features

X = torch.ones(3, 2)


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


def test_the_layer_gives_the_same_for_dense_features_seen_again():
    x, edge_index, conv = mostly_zeros(), torch.randint(400, (2, 900)), KappaGCNConv(300, 4, manifold=-1.0)
    first, *others = (conv(x, edge_index) for _ in range(3))
    gradients = [torch.autograd.grad(out.square().sum(), conv.lin.weight)[0] for out in (first, *others)]
    for out, gradient in zip(others, gradients[1:], strict=True):
        torch.testing.assert_close(out, first)
        torch.testing.assert_close(gradient, gradients[0])
