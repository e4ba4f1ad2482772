"""A part's matrix in CSR form is that of the coordinates."""

import copy

import numpy as np
import pytest
import torch

from kappagcn.distributed import Communicator, Exchange
from kappagcn.distributed.csr import CSRPartMatrix, normalized_rows
from kappagcn.graphs import disease
from kappagcn.sparse import normalized_adjacency


def csr_of(data, weights=None):
    first, second = data.edge_index.numpy()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=data.num_nodes))])
    values = np.ones(len(first)) if weights is None else weights.numpy()
    return indptr, second.astype(np.int32), np.bincount(first, values, data.num_nodes)


def whole(matrix, nodes):
    exchange = Exchange(nodes, torch.empty(0, dtype=torch.long), torch.zeros(1, dtype=torch.long), Communicator())
    return CSRPartMatrix(matrix, (nodes, nodes), exchange)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("normalization", "loops"), [("symmetric", 1.0), ("row", 2.0), ("symmetric", None), ("none", 1.0)]
)
def test_rows_are_normalised_as_in_memory(normalization, loops, weighted):
    data = disease(40)
    symmetric = torch.rand(40, 40, dtype=torch.float64).add(0.5)
    weights = (symmetric + symmetric.t())[tuple(data.edge_index)] if weighted else None
    indptr, indices, degrees = csr_of(data, weights)
    options = {"normalization": normalization, "loop_weight": loops, "dtype": np.float64}
    rows = normalized_rows(indptr, indices, None if weights is None else weights.numpy(), degrees, **options)
    expected = normalized_adjacency(
        data.edge_index, weights, 40, normalization=normalization, add_self_loops=loops is not None,
        loop_weight=loops or 1.0, dtype=torch.float64,
    )  # fmt: skip
    matrix = whole(rows, 40)
    torch.testing.assert_close(matrix.to_dense(), expected.to_dense())
    x = torch.randn(40, 3, dtype=torch.float64, requires_grad=True)
    (ours,) = torch.autograd.grad(matrix.product(x).square().sum(), x)
    (theirs,) = torch.autograd.grad(expected.product(x).square().sum(), x)
    torch.testing.assert_close(ours, theirs)
    with torch.no_grad():
        torch.testing.assert_close(matrix.product(x), expected.product(x))


def test_conversions_keep_the_entries():
    data = disease(20)
    indptr, indices, degrees = csr_of(data)
    matrix = whole(
        normalized_rows(indptr, indices, None, degrees, normalization="row", loop_weight=1.0, dtype=np.float32), 20
    )
    dense = matrix.to_dense()
    assert matrix.to(torch.float32) is matrix
    assert torch.equal(matrix.to(torch.float64).to_dense().float(), dense)
    assert torch.equal(matrix.with_values(2 * matrix.values).to_dense(), 2 * dense)
    assert torch.equal(copy.deepcopy(matrix).to_dense(), dense)
    torch.manual_seed(0)
    dropped = matrix.dropout(0.5).to_dense()
    assert 0 < int((dropped != 0).sum()) < len(matrix.values)
