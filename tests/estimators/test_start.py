"""Points and curvatures to start from."""

import numpy as np
import pytest
import torch

from kappagcn.estimators.start import in_units, starts
from kappagcn.geometry import ProductManifold
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import balanced_tree, cycle, path
from kappagcn.training import GraphDistances, measure

TREE = balanced_tree(3, 3)
DISTANCES = GraphDistances.of(TREE)


def curvatures(start):
    return [f.kappa for f in parse_signature(start.space)]


def test_silent_factors_start_nearly_flat_with_the_sign_of_their_letter():
    flat, curved = starts("H2xS2xE1", DISTANCES, "graph", 0)
    assert [round(k * 3**2, 6) for k in curvatures(flat)] == [-0.01, 0.01, 0]
    assert [round(k * 3**2, 4) for k in curvatures(curved)] == [-10, 0.01, 0]
    assert flat.points.shape == (40, 5)


def test_curvatures_that_are_named_stay():
    (start,) = starts("H2(-1)xS3(1)xU2", DISTANCES, "graph", 0)
    assert curvatures(start) == [-1, 1, 0]


def test_the_papers_start_is_small_and_random():
    (start,) = starts("H2xS2", DISTANCES, "paper", 0)
    assert curvatures(start) == [-1, 1]
    assert 0.05 < float(start.points.std()) < 0.2


def test_a_line_starts_where_it_ends():
    start = starts("E2", GraphDistances.of(path(30)), "graph", 0)[0]
    quality = measure(start.points, ProductManifold.from_signature(start.space).double(), GraphDistances.of(path(30)))
    assert quality.d_avg < 0.02


def test_a_cycle_starts_on_its_circle():
    distances = GraphDistances.of(cycle(20))
    start = starts("S2", distances, "graph", 0)[-1]
    quality = measure(start.points, ProductManifold.from_signature(start.space).double(), distances)
    assert quality.d_avg < 0.02


def test_columns_are_dealt_to_the_factors():
    """The two directions of a grid go to one factor each."""
    grid = torch.cartesian_prod(torch.arange(9.0), torch.arange(4.0))
    start = starts("E1xE1", GraphDistances(torch.cdist(grid, grid)), "graph", 0)[0]
    first, second = (abs(np.corrcoef(2 * start.points[:, k], grid[:, k])[0, 1]) for k in (0, 1))
    assert min(first, second) > 0.99


def test_landmarks_are_enough():
    everything, some = DISTANCES, GraphDistances.of(TREE, torch.arange(0, 40, 2))
    one, two = (starts("E5", each, "graph", 0)[0].points for each in (everything, some))
    assert torch.cdist(one, one).corrcoef().shape == (40, 40)
    pairs = torch.stack([torch.cdist(one, one).flatten(), torch.cdist(two, two).flatten()])
    assert pairs.corrcoef()[0, 1] > 0.9


def test_units_of_length_do_not_matter():
    wide = TREE.clone()
    wide.edge_weight = torch.linspace(1, 2, TREE.num_edges // 2).repeat_interleave(2) * 3.0
    data, unit = in_units(wide)
    assert unit == pytest.approx(4.5)
    assert float(data.edge_weight.mean()) == pytest.approx(1)
