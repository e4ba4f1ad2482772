"""Networks and features from settings; when own features are kept apart from the neighbours'."""

import pytest
import torch
from torch_geometric.data import Data

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.network import (
    build_network,
    decide_self_features,
    feature_statistics,
    keep_apart,
    network_options,
    prepare_features,
)
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.graphs import disease, random_split
from kappagcn.graphs.measures.homophily import is_heterophilous
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


NODES = 300


@pytest.fixture
def heterophilous():
    """Neighbours of classes drawn at random; features say a node's own class, with noise."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(NODES) % 3
    edges = torch.randint(0, NODES, (2, 1200), generator=generator)
    x = torch.nn.functional.one_hot(y, 3).float() + 0.7 * torch.randn(NODES, 3, generator=generator)
    return Data(edge_index=torch.cat([edges, edges.flip(0)], 1), x=x, y=y, num_nodes=NODES)


def decided(data, split, has_features=True, choice="auto"):
    return decide_self_features(ClassificationSettings(self_features=choice), data, split, has_features).self_features


def test_they_are_where_neighbours_say_less(heterophilous):
    split = random_split(heterophilous.y, 0)
    assert decided(heterophilous, split) == "on"
    assert decided(heterophilous, split, has_features=False) == "off"
    assert decided(heterophilous, split, choice="off") == "off"
    sparse = heterophilous.clone()
    sparse.x = sparse.x.to_sparse()
    assert keep_apart(sparse, split)


def test_edges_of_stopping_nodes_count_where_training_nodes_have_too_few(heterophilous):
    split = random_split(heterophilous.y, 0, stopping=0.3)
    inner = torch.isin(heterophilous.edge_index, split.train).all(dim=0)
    heterophilous.edge_index = heterophilous.edge_index[:, ~inner]
    assert not is_heterophilous(heterophilous, split.train)
    assert keep_apart(heterophilous, split)


def test_they_are_not_where_classes_of_neighbours_predict_the_own_class(heterophilous):
    """On edges from class to class in turn the mean of the neighbours has more to say than one noisy row."""
    first = torch.randint(0, NODES, (3000,), generator=torch.Generator().manual_seed(1))
    edges = torch.stack([first, (first + 1 + 3 * torch.arange(3000)) % NODES])
    edges = edges[:, heterophilous.y[edges[0]] == 0]  # between classes 0 and 1
    heterophilous.edge_index = torch.cat([edges, edges.flip(0)], 1)
    heterophilous.x += 2 * torch.randn(NODES, 3, generator=torch.Generator().manual_seed(2))
    assert not keep_apart(heterophilous, random_split(heterophilous.y, 0))


def test_they_are_not_in_homophilous_graphs_or_without_stopping_nodes(heterophilous):
    split = random_split(heterophilous.y, 0, stopping=0.0)
    assert not keep_apart(heterophilous, split)
    same = heterophilous.y[heterophilous.edge_index[0]] == heterophilous.y[heterophilous.edge_index[1]]
    heterophilous.edge_index = heterophilous.edge_index[:, same]
    assert not keep_apart(heterophilous, random_split(heterophilous.y, 0))


def test_the_classifier_says_what_it_chose(heterophilous):
    fitted = KappaGCNClassifier("H4", epochs=2, verbose=False).fit(heterophilous)
    assert fitted.model_.options["self_features"] is True
