"""Homophily and the same adjusted for chance."""

import math

import pytest
import torch
from torch_geometric.data import Data

from kappagcn.graphs import cycle
from kappagcn.graphs.measures.homophily import homophily, is_heterophilous


def test_random_labels_are_no_more_alike_than_chance():
    edges = torch.randint(0, 500, (2, 20000), generator=torch.Generator().manual_seed(0))
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], 1), y=(torch.arange(500) < 400).long())
    same, adjusted, count = homophily(data)
    assert same == pytest.approx(0.68, abs=0.02)
    assert adjusted == pytest.approx(0.0, abs=0.03)
    assert count == 20000


def test_one_class_is_as_alike_as_can_be_and_no_edges_are_nothing():
    ring = cycle(6)
    ring.y = torch.zeros(6, dtype=torch.long)
    assert homophily(ring) == (1.0, 1.0, 6)
    same, adjusted, count = homophily(ring, torch.tensor([0, 2, 4]))
    assert math.isnan(same)
    assert math.isnan(adjusted)
    assert count == 0


def test_other_nodes_labels_are_not_looked_at():
    ring = cycle(6)
    ring.y = torch.tensor([0, 0, 1, 1, 0, 1])
    known = torch.tensor([0, 1, 2])
    changed = ring.clone()
    changed.y = torch.tensor([0, 0, 1, 0, 1, 0])
    assert homophily(ring, known) == homophily(changed, known)
    assert homophily(ring, known)[0::2] == (0.5, 2)


def test_heterophily_is_seen_from_enough_edges_of_known_nodes_alone():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 200, (2, 2000), generator=generator)
    y = torch.arange(200) % 2
    edges = edges[:, y[edges[0]] != y[edges[1]]]
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], 1), y=y)
    assert is_heterophilous(data, torch.arange(100))
    assert not is_heterophilous(data, torch.arange(6))
    data.y = torch.where(torch.arange(200) < 100, 0, 1)
    assert not is_heterophilous(data, torch.arange(100))
    within = Data(edge_index=torch.arange(200).reshape(2, 100), y=torch.zeros(200, dtype=torch.long))
    assert not is_heterophilous(within, torch.arange(200))
