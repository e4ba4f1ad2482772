"""Tasks that embed a graph: losses, metrics and what early stopping sees."""

import pytest
import torch

from kappagcn.distributed import Communicator
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import distortion
from kappagcn.embedding.ranking import Neighbours
from kappagcn.embedding.tasks import EmbeddingTask, RankingTask, SampledEmbeddingTask, SharedEmbeddingTask
from kappagcn.graphs import cycle
from kappagcn.models import FreePoints

GRAPH = cycle(12)
DISTANCES = GraphDistances.of(GRAPH)


def task_value(task):
    return float(task.loss().detach())


@pytest.fixture
def points():
    torch.manual_seed(0)
    return FreePoints(12, "S2")


def test_the_metric_after_a_step_is_the_loss_of_the_next(points):
    task = EmbeddingTask(points, DISTANCES)
    metrics = task.metrics()
    assert task_value(task) == metrics["distortion"] == float(distortion(points(), points.manifold, DISTANCES).detach())
    with torch.no_grad():
        points.points.mul_(2)
    assert task_value(task) != metrics["distortion"]  # computed again: the value was taken


@pytest.mark.parametrize("objective", ["distortion", "relative", "stress"])
def test_all_sources_sampled_is_the_whole_objective(points, objective):
    whole = EmbeddingTask(points, DISTANCES, objective)
    sampled = SampledEmbeddingTask(points, GRAPH, 12, DISTANCES, objective)
    assert task_value(sampled) == pytest.approx(task_value(whole), rel=1e-6)
    name, value = next(iter(whole.metrics().items()))
    with torch.no_grad():
        assert sampled.metrics() == {name: pytest.approx(value, rel=1e-6)}


def test_one_process_does_not_communicate(points):
    shared = SharedEmbeddingTask(points, GRAPH, 12, torch.arange(12), Communicator(), seed=0)
    assert task_value(shared) == pytest.approx(task_value(EmbeddingTask(points, DISTANCES)), rel=1e-6)


def test_early_stopping_sees_the_objective_and_keeps_its_least_value(points):
    task = RankingTask(points, Neighbours.of(GRAPH))
    metrics = task.metrics()
    (value,) = metrics.values()
    assert task.watched(metrics) == (value, -value)
