"""The range in which a curvature of an embedding fits as well."""

import numpy as np
import pytest

from kappagcn import GraphEmbedder
from kappagcn.embedding.curvature_profile import add_intervals
from kappagcn.errors import ConfigError
from kappagcn.graphs import balanced_tree, path
from kappagcn.run_folder import SavedRun
from kappagcn.training.quasi_newton import QuasiNewtonTrainer


def sphere_distances(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    d = np.arccos(np.clip(x @ x.T, -1, 1)) * np.exp(noise * rng.standard_normal((n, n)))
    return np.triu(d, 1) + np.triu(d, 1).T


def test_points_of_a_sphere_show_its_curvature():
    embedder = GraphEmbedder("S2", intervals=True, verbose=False).fit(sphere_distances(40, 0.02))
    (interval,) = embedder.curvature_intervals_
    assert interval.kappa == pytest.approx(1, rel=0.1)
    assert interval.identified
    assert interval.high - interval.low < 0.3
    assert interval.low < interval.kappa < interval.high


def test_a_line_says_nothing_of_curvature():
    """All spaces have lines: the objective is nearly 0 whatever κ is."""
    (interval,) = GraphEmbedder("H2", intervals=True, verbose=False).fit(path(12)).curvature_intervals_
    assert not interval.identified


def test_the_profile_rises_to_both_sides_and_holds_the_ends():
    (interval,) = (
        GraphEmbedder("S3", intervals=True, verbose=False).fit(sphere_distances(20, 0.05)).curvature_intervals_
    )
    kappas = [kappa for kappa, _ in interval.profile]
    assert kappas == sorted(kappas)
    assert kappas[0] <= interval.low < interval.kappa < interval.high <= kappas[-1]
    least = dict(interval.profile)[interval.kappa]
    assert interval.profile[0][1] > 1.01 * least
    assert interval.profile[-1][1] > 1.01 * least


def test_the_points_stay_where_they_are():
    plain, profiled = (
        GraphEmbedder("H2xE1", verbose=False, intervals=each).fit(balanced_tree(3, 3)) for each in (False, True)
    )
    assert np.array_equal(plain.embedding_, profiled.embedding_)
    assert plain.curvature_intervals_ is None
    assert profiled.curvature_intervals_[1] is None


def test_units_of_length_are_those_of_the_graph():
    (near,), (far,) = (
        GraphEmbedder("S2", intervals=True, verbose=False).fit(unit * sphere_distances(20, 0.05)).curvature_intervals_
        for unit in (1, 10)
    )
    assert far.kappa == pytest.approx(near.kappa / 100, rel=1e-3)
    assert far.low == pytest.approx(near.low / 100, rel=1e-2)


def test_no_epoch_serves_intervals_that_nobody_asked_for(monkeypatch):
    epochs, step = [], QuasiNewtonTrainer.run_epoch
    monkeypatch.setattr(QuasiNewtonTrainer, "run_epoch", lambda trainer: epochs.append(1) or step(trainer))
    GraphEmbedder("H2", epochs=5, verbose=False).fit(balanced_tree(2, 3))
    assert len(epochs) == 5


def test_a_run_that_has_not_converged_has_no_interval(tmp_path):
    embedder = GraphEmbedder("H3", epochs=10, intervals=True, verbose=False)
    embedder.fit(balanced_tree(3, 3), folder=tmp_path / "run")
    assert embedder.result_.stopped_by == "epochs"
    assert embedder.curvature_intervals_ is None
    with pytest.raises(ConfigError, match="expected a run that has converged, found one of 10 epochs"):
        add_intervals(tmp_path / "run")


def test_intervals_of_a_finished_run_are_those_of_training(tmp_path):
    """From points, edges with lengths and curvatures in the graph's own unit of length."""
    graph = sphere_distances(20, 0.05)
    asked = GraphEmbedder("S2xE1", intervals=True, verbose=False).fit(10 * graph)
    GraphEmbedder("S2xE1", verbose=False).fit(10 * graph, folder=tmp_path / "run")
    assert SavedRun(tmp_path / "run").summary["curvature_intervals"] is None
    add_intervals(tmp_path / "run")
    (later, flat), (now, _) = GraphEmbedder.load(tmp_path / "run").curvature_intervals_, asked.curvature_intervals_
    assert flat is None
    assert later.local
    assert [later.kappa, later.low, later.high] == pytest.approx([now.kappa, now.low, now.high], rel=1e-2)
