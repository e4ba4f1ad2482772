"""Networks, features and training from settings."""

import pytest
import torch

from kappagcn.classification.network import (
    build_network,
    feature_statistics,
    network_options,
    prepare_features,
)
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.graphs import disease
from kappagcn.models import MODELS
from kappagcn.nn.features import point_features
from kappagcn.training.networks import default_normalization


def settings(space="H4", **values):
    return ClassificationSettings(space, **{"feature_norm": "none", "dropout": 0.0, "l2": 0.0, **values})


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_features_enter_as_the_settings_say():
    x = disease().x
    kept = x.clone()
    points = prepare_features(settings("S4(2)", feature_map="points", feature_scale=3.0), x)
    torch.testing.assert_close(points, 3 * point_features(x, [2.0]))
    flat = prepare_features(settings("E4", feature_map="points"), x)
    torch.testing.assert_close(flat, x / (2 * x.norm(dim=1).max()))
    rows = prepare_features(settings(feature_norm="rows"), x)
    torch.testing.assert_close(rows.abs().sum(1), torch.ones(len(x)))
    for form in (x, x.to_sparse_csr()):
        lengths = prepare_features(settings(feature_norm="lengths"), form)
        torch.testing.assert_close(lengths.to_dense().norm(dim=1), torch.ones(len(x)))
    columns = prepare_features(settings(feature_norm="columns"), x)
    torch.testing.assert_close(columns.std(0, correction=0), torch.ones(10))
    assert torch.equal(x, kept)


@pytest.mark.parametrize("model", MODELS)
def test_every_network_takes_its_settings(model):
    own = settings("H4(-0.5)", model=model, num_layers=2, dropout=0.3, input_dropout=0.2, adjacency_norm="row")
    network = build_network(own, 10, 2)
    options = network_options(own)
    assert options.items() <= network.options.items()
    assert len(network.hidden) == 2
    assert network(torch.randn(5, 10), torch.empty(2, 0, dtype=torch.long)).shape == (5, 2)
    if model == "hgcn":
        assert [c.value for c in network.curvatures()] == [-0.5, -0.5]


def test_training_takes_its_settings():
    config = settings(epochs=7, lr=0.5, l2=0.1).training(random_state=3)
    assert (config.epochs, config.lr, config.l2, config.random_state) == (7, 0.5, 0.1, 3)


def test_the_layout_of_features_does_not_change_their_normalisation():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert default_normalization(x) == default_normalization(x.to_sparse_csr()) == "columns"
    assert default_normalization(torch.eye(5)) == default_normalization(torch.eye(5).to_sparse_csr()) == "lengths"


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_sparse_columns_are_standardised_when_asked():
    x = disease().x
    statistics = feature_statistics(settings(feature_norm="columns"), x.to_sparse_csr())
    wanted = prepare_features(settings(feature_norm="columns"), x)
    assert torch.equal(prepare_features(settings(feature_norm="columns"), x.to_sparse_csr(), statistics), wanted)
