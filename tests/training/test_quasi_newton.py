"""Training by L-BFGS."""

import itertools
import math

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.tasks import EmbeddingTask
from kappagcn.errors import DivergedError
from kappagcn.graphs import balanced_tree, cycle
from kappagcn.models import FreePoints
from kappagcn.training.checkpoint import CheckpointFolder
from kappagcn.training.quasi_newton import CURVATURE_SHARE, QuasiNewtonTrainer
from kappagcn.training.run import train
from kappagcn.training.scale_free import LARGEST
from kappagcn.training.settings import TrainingSettings

TREE = balanced_tree(3, 3)


def trainer(graph=TREE, space="H3(-0.1)", epochs=40, radius=3.0, fixed_epochs=0):
    points = FreePoints(graph.num_nodes, space)
    config = TrainingSettings(epochs=epochs, patience=epochs, l2=0)
    task = EmbeddingTask(points, GraphDistances.of(graph))
    return QuasiNewtonTrainer(points, task, config, units={"points": 3.0}, radius=radius, fixed_epochs=fixed_epochs)


def test_every_epoch_goes_downhill_and_curvatures_move():
    ours = trainer()
    values = [each["distortion"] for each in train(ours)]
    assert all(after <= before for before, after in itertools.pairwise(values))
    assert values[-1] < 0.1 * values[0]
    assert ours.kappas()[0] < -0.15


def test_the_numbers_of_an_epoch_are_those_of_its_points():
    ours = trainer(epochs=5)
    history = train(ours)
    assert history[-1]["distortion"] == pytest.approx(float(ours.task.loss().detach()), rel=1e-12)


def test_curvatures_stay_where_they_are_asked_to():
    ours = trainer(radius=None, epochs=10)
    train(ours)
    assert ours.kappas() == [pytest.approx(-0.1)]


def test_curvatures_are_fixed_for_the_first_epochs_and_move_after_them():
    ours = trainer(fixed_epochs=5, epochs=15)
    history = train(ours)
    values = [each["distortion"] for each in history]
    assert {each["curvatures"][0] for each in history[:5]} == {history[0]["curvatures"][0]}
    assert history[0]["curvatures"] == [pytest.approx(-0.1)]
    assert len({each["curvatures"][0] for each in history[5:]}) > 1
    assert all(after <= before for before, after in itertools.pairwise(values))


def test_a_run_is_not_over_while_curvatures_are_fixed():
    ours = trainer(fixed_epochs=5)
    ours.stuck = True
    assert not ours.is_over()
    ours.epoch = 5
    assert ours.is_over()


def test_it_stops_when_nothing_is_gained():
    ours = trainer(cycle(6), "S2(0.2)", epochs=1000, radius=1.5)
    train(ours)
    assert ours.converged
    assert ours.epoch < 500
    assert ours.stopping.lowest_loss < 1e-6


@pytest.mark.parametrize("fixed_epochs", [0, 7, 12])
def test_an_interrupted_run_resumes_to_the_same_numbers(tmp_path, fixed_epochs):
    torch.manual_seed(0)
    whole = train(trainer(epochs=20, fixed_epochs=fixed_epochs))
    torch.manual_seed(0)
    half, folder = trainer(epochs=20, fixed_epochs=fixed_epochs), CheckpointFolder(tmp_path / "run")
    history = folder.start({}, half)
    for _ in range(9):
        history.append(half.run_epoch())
    folder.save(half, history)
    again, folder = trainer(epochs=20), CheckpointFolder(tmp_path / "run")
    history = folder.start({}, again, resume=True)
    assert train(again, folder=folder, history=history) == whole


def test_a_start_that_is_not_finite_is_refused():
    points = FreePoints(4, "E2", torch.full((4, 2), math.inf))
    task = EmbeddingTask(points, GraphDistances.of(cycle(4)))
    with pytest.raises(DivergedError):
        QuasiNewtonTrainer(points, task, TrainingSettings(epochs=2), units={}, radius=1.0)


def test_a_line_search_keeps_curvatures_within_their_range():
    ours = trainer()
    kappa, seen = ours.curved[0], []

    class FallingFar:
        """A loss that falls ever more slowly as κ grows: torch's line search multiplies its step by up to ten."""

        perfect = 0.0

        def loss(self):
            seen.append(float(kappa.detach()))
            return 1 / (3 + torch.asinh(kappa)).clamp(min=1).sum() + 0 * ours.model.points.sum()

        def metrics_of(self, value):
            return {"distortion": value}

        def watched(self, metrics):
            return metrics["distortion"], -metrics["distortion"]

    ours.task, ours.value = FallingFar(), math.inf
    ours._evaluate_anew()
    for _ in range(8):
        ours.run_epoch()
    assert 1e6 < max(seen) < 1e9  # 1e129 in an earlier version
    assert abs(float(ours.position.detach()[-1])) <= CURVATURE_SHARE * LARGEST
