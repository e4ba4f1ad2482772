import numpy as np
import pytest
import torch

from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import (
    GraphDataset,
    airport_features,
    airport_labels,
)
from random_graphs import data_folder, needs_data


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
    standard = airport_features(feat, data.degree.numpy(), scaling="standard")
    assert np.allclose(standard[:, :4].mean(axis=0), 0, atol=1e-12)
    assert np.allclose(standard[:, :4].std(axis=0), 1)
    with pytest.raises(GraphError, match="scaling hgcn, standard or none"):
        airport_features(feat, data.degree.numpy(), scaling="max")
