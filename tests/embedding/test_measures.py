"""Measures of an embedding for figures and reports."""

from types import SimpleNamespace

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.measures import best_scale, check_result, coincident_nodes, ratio_histogram
from kappagcn.errors import EmbeddingFailedError
from kappagcn.geometry import ProductManifold
from kappagcn.graphs import path

LINE, DISTANCES = ProductManifold.from_signature("E1").double(), GraphDistances.of(path(4))
PLACES = torch.arange(4.0, dtype=torch.float64)[:, None] / 2  # tangent vectors have half the length


def test_ratios_are_counted_over_all_pairs_and_the_last_bin_is_open():
    counts, borders = ratio_histogram(PLACES * 1.01, LINE, DISTANCES)
    assert counts.sum() == DISTANCES.pairs == counts[(borders[:-1] < 1.01).nonzero()[0][-1]]
    counts, _ = ratio_histogram(100 * PLACES, LINE, DISTANCES)
    assert counts[-1] == DISTANCES.pairs


def test_the_best_scale_undoes_a_factor():
    assert best_scale(4 * PLACES, LINE, DISTANCES) == pytest.approx(0.25, rel=1e-6)
    assert best_scale(0 * PLACES, LINE, DISTANCES) == 1.0


def test_nodes_at_one_place_are_named():
    places = PLACES.clone()
    places[3] = places[1]
    assert coincident_nodes(places, LINE, DISTANCES).tolist() == [1, 3]
    assert coincident_nodes(PLACES, LINE, DISTANCES).tolist() == []


@pytest.mark.parametrize(("objective", "fails"), [("distortion", True), ("relative", True), ("neighbours", False)])
def test_a_result_no_better_than_one_place_is_an_error(objective, fails):
    result = SimpleNamespace(objective=objective, distortion_=0.75, d_avg_=1.0, space="E1")
    if fails:
        with pytest.raises(EmbeddingFailedError, match="better than all points at one place"):
            check_result(result, SimpleNamespace(distances=DISTANCES))
    else:
        check_result(result, SimpleNamespace(distances=DISTANCES))
