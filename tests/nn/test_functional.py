"""The layers' functions beside the aggregations: linear maps, dropped weights, pools."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.geometry import Stereographic
from kappagcn.nn import linear, pool
from kappagcn.sparse import SparseMatrix


def test_sparse_and_dense_rows_have_the_same_product():
    x, weight, bias = torch.eye(3)[:2], torch.arange(6.0).view(3, 2), torch.tensor([1.0, -1])
    dense, sparse = linear(x, weight, bias), linear(SparseMatrix.from_tensor(x.to_sparse()), weight, bias)
    assert torch.equal(dense, x @ weight + bias)
    assert torch.equal(sparse, dense)


def test_a_flat_pool_is_the_mean_of_each_graph_and_an_empty_graph_the_origin():
    v, batch = torch.tensor([[1.0, 0], [3, 0], [0, 5]]), torch.tensor([0, 0, 2])
    pooled = pool(v, batch, Stereographic(0.0), num_graphs=3)
    assert torch.allclose(pooled, torch.tensor([[2.0, 0], [0, 0], [0, 5]]))
    weighted = pool(v, batch, Stereographic(0.0), num_graphs=3, weight=torch.tensor([3.0, 1, 1]))
    assert torch.allclose(weighted[0], torch.tensor([1.5, 0]))


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (torch.tensor([0, 1]), "expected one graph number per node"),
        (torch.tensor([0.0, 1, 1]), "expected graph numbers as integers"),
        (torch.tensor([0, 1, 2]), "expected graphs 0 to 1, found 0 to 2"),
    ],
)
def test_graph_numbers_that_cannot_be_are_refused(batch, words):
    with pytest.raises(GraphError, match=words):
        pool(torch.ones(3, 2), batch, Stereographic(0.0), num_graphs=2)
