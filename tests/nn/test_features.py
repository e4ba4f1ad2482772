"""Features as points and as tangent vectors, dense and sparse."""

import pytest
import torch

from graph_samples import DOUBLE, X
from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.graphs import disease
from kappagcn.nn import (
    PointFeatures,
    TangentFeatures,
    point_features,
    tangent_features,
)

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("kappas", [[-1.0], [0.5], [0.0], [-1.0, 2.0]])
@pytest.mark.parametrize("split", [False, True])
def test_the_papers_scaling(kappas, split):
    x = torch.rand(12, 7, generator=torch.Generator().manual_seed(0)).mul(3).sub(2).relu()
    v = point_features(x, kappas, split=split)
    sparse = point_features(x.to_sparse_csr(), kappas, split=split)
    assert sparse.layout == torch.sparse_csr
    assert torch.allclose(sparse.to_dense(), v, atol=1e-6)
    parts = (
        zip(v.split([4, 3], 1), x.split([4, 3], 1), kappas, strict=True)
        if split and len(kappas) > 1
        else [(v, x, kappas[0])]
    )
    for own, columns, kappa in parts:
        root = abs(kappa) ** 0.5 or 1.0
        if len(kappas) > 1 and not split:
            assert torch.allclose(own, columns / (2 * 2.0**0.5 * columns.norm(dim=1).max()), atol=1e-6)
        else:
            want = columns / (2 * root * columns.norm(dim=1).max())
            assert torch.allclose(G.expmap0(own, k=kappa), want, atol=1e-6)


def test_tangent_features_and_transforms():
    data = disease(50)
    x = data.x.clone()
    assert torch.allclose(tangent_features(x, scale=0.5), 0.5 * x)
    marks = torch.stack([torch.ones(50), torch.arange(50) % 2], 1)
    standard = tangent_features(torch.cat([x, marks], 1), standardize=True, scale=2.0)
    assert torch.allclose(standard[:, :-2].mean(0), torch.zeros(10), atol=1e-5)
    assert torch.allclose(standard[:, :-2].std(0, correction=0), torch.full((10,), 2.0), atol=1e-5)
    assert torch.equal(standard[:, -2:], 2 * marks)  # zeros and ones stay
    with pytest.raises(GraphError, match="expected dense features"):
        tangent_features(x.to_sparse_coo(), standardize=True)
    assert torch.equal(PointFeatures("H2xS2", split=True)(data).x, point_features(x, [-1.0, 1.0], split=True))
    assert torch.equal(data.x, x)  # the caller's graph is left alone
    assert torch.equal(TangentFeatures(3.0)(data).x, 3 * x)


def test_features_of_other_dtypes():
    assert torch.equal(tangent_features(torch.tensor([[1, 3]]), scale=0.5), torch.tensor([[0.5, 1.5]]))
    from kappagcn.nn import point_features

    sparse = point_features(X.double().relu().to_sparse_csr(), [-1.0])
    assert sparse.dtype == DOUBLE
