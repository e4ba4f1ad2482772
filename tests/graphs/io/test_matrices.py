import numpy as np
import pytest
import scipy.sparse as sp
import torch

from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import (
    adjacency,
    from_scipy,
)
from kappagcn.graphs.io.node_data import as_features


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_matrices_that_are_none():
    for matrix in (None, [["a"]], sp.csr_array(np.ones((2, 2), complex))):
        with pytest.raises(GraphError, match="expected an adjacency matrix of numbers"):
            G.from_scipy(matrix)
    data = G.from_scipy(sp.eye_array(3, k=1), x=torch.eye(3).to_sparse_csr())
    assert data.x.tolist() == torch.eye(3).tolist()
    assert as_features(torch.eye(2).to_sparse_csc(), sparse=True).layout == torch.sparse_csr


def test_scipy_matrices():
    matrix = sp.random_array((20, 20), density=0.2, rng=np.random.default_rng(0), format="csr")
    data = from_scipy(matrix, x=np.ones((20, 3)), y=np.zeros(20, int))
    both = matrix.toarray() - np.diag(matrix.diagonal())
    count = (both > 0).astype(int) + (both.T > 0)
    want = np.divide(both + both.T, count, out=np.zeros_like(both), where=count > 0)
    assert np.allclose(adjacency(data).toarray(), want, rtol=1e-6)
    with pytest.raises(GraphError, match=r"square adjacency matrix, found shape \(2, 3\)"):
        from_scipy(sp.csr_array((2, 3)))
