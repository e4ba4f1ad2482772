"""Normalised rows and standardised columns of features."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import GraphDataset, airport_features, airport_labels, normalize_rows, standardize_columns
from kappagcn.graphs.datasets.preprocess import column_statistics
from kappagcn.graphs.io.node_data import as_features
from random_graphs import data_folder, needs_data

MATRIX = sp.random_array(
    (20, 30), density=0.05, random_state=np.random.default_rng(0), data_sampler=np.random.default_rng(1).normal
)


@pytest.mark.parametrize("order", [1, 2])
def test_rows_have_norm_one_and_empty_rows_stay_zero(order):
    dense, sparse = as_features(MATRIX), as_features(MATRIX, sparse=True)
    rows = normalize_rows(dense, order=order)
    norms = torch.linalg.vector_norm(rows.double(), ord=order, dim=1)
    filled = (dense != 0).any(dim=1)
    assert 0 < int(filled.sum()) < 20
    assert torch.allclose(norms, filled.double(), atol=1e-6)
    assert normalize_rows(sparse, order=order).layout == torch.sparse_csr
    assert torch.allclose(normalize_rows(sparse, order=order).to_dense(), rows, rtol=1e-6)
    with pytest.raises(GraphError, match="expected 1 or 2, found 3"):
        normalize_rows(dense, order=3)


def test_columns_are_standardised_except_constant_and_binary_ones():
    generator = torch.Generator().manual_seed(0)
    numbers = 3 + 2 * torch.randn(50, 2, generator=generator)
    binary, constant = (numbers[:, :1] > 3).float(), torch.full((50, 1), 7.0)
    columns = standardize_columns(torch.cat([numbers, binary, constant], 1))
    assert torch.allclose(columns[:, :2].mean(dim=0), torch.zeros(2), atol=1e-5)
    assert torch.allclose(columns[:, :2].std(dim=0, correction=0), torch.ones(2), atol=1e-5)
    assert torch.equal(columns[:, 2:], torch.cat([binary, constant], 1))


def test_statistics_of_training_features_apply_to_others():
    seen, new = torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([[3.0], [11.0]])
    mean, deviation = column_statistics(seen)
    assert torch.allclose(standardize_columns(new, (mean, deviation)), (new - 3) / deviation)
    with pytest.raises(GraphError, match="expected dense features"):
        standardize_columns(as_features(MATRIX, sparse=True))


@needs_data
def test_airports_features_do_not_carry_the_label():
    data = G.load_graph("airport", root=data_folder(), download=False)
    assert data.feat.shape == (3188, 4)
    assert np.allclose(G.airport_features(data.feat.numpy(), data.degree.numpy()), data.x.numpy(), atol=1e-4, rtol=1e-5)


@needs_data
def test_airport_follows_the_recipe():
    dataset = GraphDataset("airport", data_folder(), download=False)
    data = dataset[0]
    with np.load(data_folder() / "airport.npz", allow_pickle=False) as stored:
        feat, labels = stored["feat"], stored["labels"]
        raw = np.stack([stored["latitude"] / 90, stored["longitude"] / 180, stored["altitude_ft"] / 3000], axis=1)
    assert np.allclose(feat[:, :3], raw, atol=1e-12)
    assert (airport_labels(feat) == labels).all()
    assert data.y.bincount().tolist() == [521, 1443, 999, 225]
    assert data.x.shape == (3188, 11)
    assert data.x[:, 4:10].sum(dim=0).tolist() == [4, 713, 635, 386, 217, 1233]
    assert (data.x[:, 10] == 1).all()
    assert 285 < float(data.x.abs().max()) < 287
    assert torch.allclose(data.x[:, :4].double().sum(dim=1), torch.ones(3188, dtype=torch.float64), atol=1e-3)
    split = dataset.split(1)
    assert [len(split.train), len(split.stopping), len(split.validation), len(split.final_test_nodes())] == [
        2100,
        300,
        300,
        488,
    ]
    with pytest.raises(GraphError, match="scaling hgcn or none"):
        airport_features(feat, data.degree.numpy(), scaling="max")
