"""The ranking loss against its formula, by both paths, with gradients by differences."""

import contextlib
import math

import pytest
import torch

from kappagcn import ProductManifold
from kappagcn.embedding.quality import mean_average_precision
from kappagcn.embedding.ranking import Neighbours, _Ranks, ranking_loss
from kappagcn.embedding.tasks import RankingTask
from kappagcn.graphs import balanced_tree, cycle
from kappagcn.kernels.dispatch import torch_only
from kappagcn.models import FreePoints
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.run import train
from kappagcn.training.settings import TrainingSettings

DOUBLE = torch.float64
PATHS = {"compiled": contextlib.nullcontext, "torch": torch_only}


def formula(v, manifold, graph):
    d = manifold.tangent_dist(v[:, None], v[None])
    linked = torch.zeros(len(v), len(v), dtype=torch.bool)
    linked[graph.edge_index[0], graph.edge_index[1]] = True
    terms = []
    for a, b in linked.nonzero().tolist():
        others = [d[a, c] for c in range(len(v)) if c != a and not linked[a, c]]
        terms.append(torch.nn.functional.softplus(torch.logsumexp(d[a, b] - torch.stack(others), 0)))
    return torch.stack(terms).mean()


@pytest.mark.parametrize("space", ["H3", "S3(0.1)", "E3", "H2(-0.5)xS1(0.2)"])
@pytest.mark.parametrize("path", PATHS)
def test_value_is_that_of_the_formula(path, space):
    graph, manifold = balanced_tree(3, 2), ProductManifold.from_signature(space).double()
    v = 2 * torch.randn(graph.num_nodes, 3, dtype=DOUBLE)
    with PATHS[path]():
        value = ranking_loss(v, manifold, Neighbours.of(graph))
    assert value.item() == pytest.approx(formula(v, manifold, graph).item(), rel=1e-10)


@pytest.mark.parametrize("path", PATHS)
def test_gradients_are_those_of_differences(path):
    graph = cycle(7)
    v = torch.randn(7, 4, dtype=DOUBLE, requires_grad=True)
    kappas = [torch.tensor(k, dtype=DOUBLE, requires_grad=True) for k in (-0.8, 0.0, 0.3)]
    neighbours, every = Neighbours.of(graph), torch.arange(7)

    def loss(v, *k):
        return _Ranks.apply(v, torch.stack(k), [2, 1, 1], neighbours, every)

    with PATHS[path]():
        assert torch.autograd.gradcheck(loss, (v, *kappas))


@pytest.mark.parametrize("path", PATHS)
def test_sources_estimate_it_without_bias(path):
    graph, manifold = balanced_tree(3, 2), ProductManifold.from_signature("H2").double()
    v, neighbours = torch.randn(graph.num_nodes, 2, dtype=DOUBLE), Neighbours.of(graph)
    with PATHS[path]():
        whole = ranking_loss(v, manifold, neighbours)
        each = [ranking_loss(v, manifold, neighbours, torch.tensor([a])) for a in range(graph.num_nodes)]
    torch.testing.assert_close(torch.stack(each).mean(), whole, rtol=1e-10, atol=0)


@pytest.mark.parametrize("path", PATHS)
def test_neighbours_far_nearer_than_others_cost_nothing_and_pull_nothing(path):
    """Differences of distances of thousands neither overflow nor cancel."""
    graph = cycle(4)
    v = torch.tensor([[0.0], [1.0], [9e3], [1e3]], dtype=DOUBLE, requires_grad=True)
    with PATHS[path]():
        loss = ranking_loss(v, ProductManifold.from_signature("E1").double(), Neighbours.of(graph))
    loss.backward()
    assert loss.item() == pytest.approx(
        formula(v.detach(), ProductManifold.from_signature("E1").double(), graph).item()
    )
    assert torch.isfinite(v.grad).all()


def test_a_node_without_neighbours_and_a_complete_graph():
    complete = torch.stack([torch.arange(3).repeat_interleave(2), torch.tensor([1, 2, 0, 2, 0, 1])])
    graph = cycle(3)
    graph.edge_index, graph.num_nodes = complete, 3
    v = torch.randn(3, 2, requires_grad=True)
    loss = ranking_loss(v, ProductManifold.from_signature("H2"), Neighbours.of(graph))
    loss.backward()
    assert loss.item() == 0
    assert v.grad.abs().max() == 0


def test_training_ends_as_soon_as_all_neighbours_are_nearest():
    """Longer distances would lower the loss without end."""
    graph = cycle(12)
    points = FreePoints(12, "E2", torch.randn(12, 2, generator=torch.Generator().manual_seed(0)))
    task = RankingTask(points, Neighbours.of(graph))
    trainer = QuasiNewtonTrainer(points, task, TrainingSettings(epochs=500, patience=500), units={}, radius=None)
    values = [each["ranking_loss"] for each in train(trainer)]
    assert mean_average_precision(points().detach(), points.manifold, graph) == 1
    assert trainer.epoch < 100
    assert values[-1] <= math.log(2) / graph.num_edges < values[-2]
