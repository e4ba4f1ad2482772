"""Training of the relative objective with smoothed kinks."""

import pytest
import torch

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import measure
from kappagcn.embedding.smoothed import SHARE, SmoothedTask, SmoothedTrainer
from kappagcn.graphs import balanced_tree, path
from kappagcn.models import FreePoints
from kappagcn.training.checkpoint import CheckpointFolder
from kappagcn.training.run import train
from kappagcn.training.settings import TrainingSettings

TREE = balanced_tree(3, 3)


def trainer(graph=TREE, space="H3(-0.1)", epochs=40):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        points = FreePoints(graph.num_nodes, space)
    task = SmoothedTask(points, GraphDistances.of(graph))
    config = TrainingSettings(epochs=epochs, patience=epochs, l2=0)
    return SmoothedTrainer(points, task, config, units={"points": 3.0}, radius=3.0)


def test_the_numbers_of_an_epoch_are_those_of_the_objective_itself():
    ours = trainer(epochs=45)
    history = train(ours)
    assert 0 < ours.task.width < SHARE
    own = measure(ours.model().detach(), ours.model.manifold, ours.task.distances).d_avg
    best = min(record["d_avg"] for record in history)
    assert own == pytest.approx(best, rel=1e-9)  # the best points are taken at the end
    assert best < 0.5 * history[0]["d_avg"]


def test_it_ends_without_smoothing():
    ours = trainer(path(6), "E2", epochs=2000)
    train(ours)
    assert ours.epoch < 2000
    assert ours.stopping.lowest_loss < 1e-3
    assert ours.share == 0 or ours.sharp == 0


def test_an_interrupted_run_resumes_to_the_same_numbers(tmp_path):
    whole = train(trainer(epochs=50))
    half, folder = trainer(epochs=50), CheckpointFolder(tmp_path / "run")
    history = folder.start({}, half)
    for _ in range(27):
        history.append(half.run_epoch())
    folder.save(half, history)
    again, folder = trainer(epochs=50), CheckpointFolder(tmp_path / "run")
    history = folder.start({}, again, resume=True)
    assert train(again, folder=folder, history=history) == whole
