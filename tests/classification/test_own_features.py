"""When own features are kept apart from the neighbours'."""

import pytest
import torch
from torch_geometric.data import Data

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.network import decide_self_features, keep_apart
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.graphs import random_split
from kappagcn.graphs.measures.homophily import is_heterophilous

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
