"""Points and curvatures to start from."""

import numpy as np
import pytest
import torch

from kappagcn.embedding import start
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import measure
from kappagcn.embedding.start import Scaling, in_units, starts
from kappagcn.geometry import ProductManifold
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import balanced_tree, cycle, path

TREE = balanced_tree(3, 3)
SCALING = Scaling(GraphDistances.of(TREE))


def curvatures(start):
    return [f.kappa for f in parse_signature(start.space)]


def test_factors_without_a_number_start_nearly_flat_with_the_sign_of_their_letter():
    flat, curved, strong, settled, mixed = starts("H2xS2xE1", SCALING, "graph", 0)
    assert [round(k * 3**2, 6) for k in curvatures(flat)] == [-0.01, 0.01, 0]
    assert [round(k * 3**2, 4) for k in curvatures(curved)] == [-10, 0.01, 0]
    assert [round(k * 3**2, 2) for k in curvatures(strong)] == [-1000, 0.01, 0]
    assert [round(k * 3**2, 3) for k in curvatures(settled)] == [-100, -100, 0]
    assert mixed.space == settled.space
    assert [each.fixed_epochs for each in (flat, curved, strong, settled, mixed)] == [0, 0, 0, *[start.SETTLING] * 2]
    assert flat.points.shape == (40, 5)


@pytest.mark.parametrize("space", ["H3", "H2xE1", "H2(-1)xH2", "S2xS2"])
def test_curvatures_are_fixed_at_first_only_in_products_of_two_factors_without_a_number(space):
    assert not any(each.fixed_epochs for each in starts(space, SCALING, "graph", 0))


def test_curvatures_that_are_named_stay():
    (one,) = starts("H2(-1)xS3(1)xU2", SCALING, "graph", 0)
    assert curvatures(one) == [-1, 1, 0]


def test_curvatures_that_are_held_are_not_flat():
    """A sphere whose curvature may not move has to be one, as wide as the graph."""
    (product,) = starts("H2xS2", SCALING, "graph", 0, held=True)
    assert curvatures(product)[0] * 3**2 == pytest.approx(-10, rel=1e-4)
    assert np.pi / curvatures(product)[1] ** 0.5 == pytest.approx(6, rel=1e-4)
    spheres = [curvatures(each) for each in starts("S3", SCALING, "graph", 0, held=True)]
    assert spheres[0] == spheres[-1]


def test_scaling_is_computed_once_for_all_spaces_of_a_dimension(monkeypatch):
    calls, own = [], start.classical_mds
    monkeypatch.setattr(start, "classical_mds", lambda *a: calls.append(a[1]) or own(*a))
    scaling = Scaling(GraphDistances.of(TREE))
    for space in ("H4", "S4", "H2xS2", "E3"):
        starts(space, scaling, "graph", 0)
    assert calls == [4, 3]


@pytest.mark.parametrize(
    ("space", "squares"),
    [
        ("H4", [[-0.01], [-10], [-100], [2.467]]),
        ("S4", [[0.01], [2.467], [2.467]]),
        ("S2xS2", [[0.01, 0.01], [4.935, 4.935]]),
        ("H2xS2xE1", [[-0.01, 0.01, 0], [-10, 0.01, 0], [-10, 2.467, 0], [-100, -100, 0], [-100, -100, 0]]),
        ("H2(-1)xE2", [[-9, 0]]),
    ],
)
def test_a_network_starts_with_less_curved_factors_and_with_spheres_as_wide_as_the_graph(space, squares):
    candidates = starts(space, SCALING, "graph", 0, network=True)
    assert [[round(k * 3**2, 3) for k in curvatures(each)] for each in candidates] == squares


def test_the_papers_start_is_small_and_random():
    (one,) = starts("H2xS2", SCALING, "paper", 0)
    assert curvatures(one) == [-1, 1]
    assert 0.05 < float(one.points.std()) < 0.2


def test_a_line_starts_where_it_ends():
    one = starts("E2", Scaling(GraphDistances.of(path(30))), "graph", 0)[0]
    quality = measure(one.points, ProductManifold.from_signature(one.space).double(), GraphDistances.of(path(30)))
    assert quality.d_avg < 0.02


def test_a_cycle_starts_on_its_circle():
    distances = GraphDistances.of(cycle(20))
    one = starts("S2", Scaling(distances), "graph", 0)[-1]
    quality = measure(one.points, ProductManifold.from_signature(one.space).double(), distances)
    assert quality.d_avg < 0.02


def test_columns_are_dealt_to_the_factors():
    """The two directions of a grid go to one factor each."""
    grid = torch.cartesian_prod(torch.arange(9.0), torch.arange(4.0))
    one = starts("E1xE1", Scaling(GraphDistances(torch.cdist(grid, grid))), "graph", 0)[0]
    first, second = (abs(np.corrcoef(2 * one.points[:, k], grid[:, k])[0, 1]) for k in (0, 1))
    assert min(first, second) > 0.99


def test_mixed_columns_have_the_same_distances_and_a_part_of_each_column_in_each_factor():
    settled, mixed = (each.points for each in starts("H2xS2xE1", SCALING, "graph", 0)[-2:])
    for points in (settled, mixed):
        assert points.shape == (40, 5)
    assert torch.corrcoef(torch.stack([torch.pdist(settled), torch.pdist(mixed)]))[0, 1] > 0.999
    along = [torch.corrcoef(torch.stack([settled[:, 0], mixed[:, k]]))[0, 1].abs() for k in (0, 2, 4)]
    assert min(along) > 0.3


def test_landmarks_are_enough():
    everything, some = SCALING, Scaling(GraphDistances.of(TREE, torch.arange(0, 40, 2)))
    one, two = (starts("E5", each, "graph", 0)[0].points for each in (everything, some))
    pairs = torch.stack([torch.cdist(one, one).flatten(), torch.cdist(two, two).flatten()])
    assert pairs.corrcoef()[0, 1] > 0.9


def test_units_of_length_do_not_matter():
    wide = TREE.clone()
    wide.edge_weight = torch.linspace(1, 2, TREE.num_edges // 2).repeat_interleave(2) * 3.0
    data, unit = in_units(wide)
    assert unit == pytest.approx(4.5)
    assert float(data.edge_weight.mean()) == pytest.approx(1)


def test_a_hyperbolic_space_tries_the_points_of_a_sphere_where_they_fit():
    *others, sphere = starts("H3", SCALING, "graph", 0)
    assert curvatures(sphere) == [pytest.approx(SCALING.round_curvature, rel=1e-4)]
    assert [each.if_better for each in (*others, sphere)] == [False, False, False, True]
    assert not any(each.if_better for each in starts("S3", SCALING, "graph", 0))
