"""The range in which a curvature fits as well."""

import numpy as np
import pytest
import torch

from kappagcn import GraphEmbedder
from kappagcn.embedding.curvature_interval import CurvatureInterval
from kappagcn.graphs import balanced_tree, path


def sphere_distances(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    d = np.arccos(np.clip(x @ x.T, -1, 1)) * np.exp(noise * rng.standard_normal((n, n)))
    return np.triu(d, 1) + np.triu(d, 1).T


def test_points_of_a_sphere_show_its_curvature():
    embedder = GraphEmbedder("S2", epochs=300, verbose=False).fit(sphere_distances(40, 0.02))
    (interval,) = embedder.curvature_intervals_
    assert interval.kappa == pytest.approx(1, rel=0.1)
    assert interval.identified
    assert interval.high - interval.low < 0.3
    assert interval.low < interval.kappa < interval.high


def test_a_line_says_nothing_of_curvature():
    """All spaces have lines: the objective is nearly 0 whatever κ is."""
    (interval,) = GraphEmbedder("H2", epochs=200, verbose=False).fit(path(12)).curvature_intervals_
    assert not interval.identified


def test_the_profile_rises_to_both_sides_and_holds_the_ends():
    (interval,) = GraphEmbedder("H3", epochs=200, verbose=False).fit(balanced_tree(3, 3)).curvature_intervals_
    kappas = [kappa for kappa, _ in interval.profile]
    assert kappas == sorted(kappas)
    assert kappas[0] <= interval.low < interval.kappa < interval.high <= kappas[-1]
    least = dict(interval.profile)[interval.kappa]
    assert interval.profile[0][1] > 1.01 * least
    assert interval.profile[-1][1] > 1.01 * least


def test_the_points_stay_where_they_are():
    plain, profiled = (
        GraphEmbedder("H2xE1", epochs=50, verbose=False, intervals=each).fit(balanced_tree(3, 3))
        for each in (False, True)
    )
    assert np.array_equal(plain.embedding_, profiled.embedding_)
    assert plain.curvature_intervals_ is None
    assert profiled.curvature_intervals_[1] is None


def test_units_of_length_are_those_of_the_graph():
    wide = balanced_tree(3, 3)
    wide.edge_weight = torch.full((wide.num_edges,), 10.0)
    (near,), (far,) = (
        GraphEmbedder("H3", epochs=100, verbose=False).fit(g).curvature_intervals_ for g in (balanced_tree(3, 3), wide)
    )
    assert far.kappa == pytest.approx(near.kappa / 100, rel=1e-6)
    assert far.low == pytest.approx(near.low / 100, rel=1e-3)


def test_plain_values_and_back():
    interval = CurvatureInterval(-1.0, -2.0, None, [(-2.0, 0.2), (-1.0, 0.1)])
    assert CurvatureInterval.from_dict(interval.as_dict()) == interval
    assert not interval.identified
