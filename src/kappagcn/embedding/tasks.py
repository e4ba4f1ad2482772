"""Training tasks that embed a graph: an objective over all pairs of nodes, or over those of drawn source nodes."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.embedding.graph_distances import GraphDistances, NearPairs
from kappagcn.embedding.pair_objectives import pair_loss
from kappagcn.embedding.ranking import Neighbours, ranking_loss
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.objectives import METRICS
from kappagcn.training.tasks import versions

Points = FreePoints | NetworkPoints


class _ObjectiveTask:
    """Base of the embedding tasks: the objective decides on early stopping."""

    objective: str

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """The objective as the loss for early stopping; the weights of its lowest value are kept."""
        value = metrics[METRICS[self.objective]]
        return value, -value


class EmbeddingTask(_ObjectiveTask):
    """Embedding by an objective over all pairs of nodes.

    The objective is deterministic: its value after one step is also the loss of the next step, and computed once.

    Args:
        points: Trained points, `FreePoints` or `NetworkPoints`.
        distances: Distances in the graph.
        objective: ``"distortion"``, ``"relative"`` or ``"stress"``.

    Attributes:
        perfect: Value of the objective at or below which the embedding cannot be improved.

    >>> from kappagcn.graphs import cycle
    >>> graph, points = cycle(12), FreePoints(12, "S2")
    >>> EmbeddingTask(points, GraphDistances.of(graph)).loss().requires_grad
    True
    """

    perfect = 0.0

    def __init__(self, points: Points, distances: GraphDistances, objective: str = "distortion") -> None:
        self.points, self.distances, self.objective = points, distances, objective
        self._next: tuple[Tensor, list[int]] | None = None

    def loss(self) -> Tensor:
        """The objective: that of the last metrics, unless points or curvatures have changed since."""
        last, self._next = self._next, None
        return last[0] if last is not None and last[1] == versions(self.points) else self._value()

    def _value(self) -> Tensor:
        return pair_loss(self.points(), self.points.manifold, self.distances, self.objective)

    def metrics(self) -> dict[str, float]:
        """The objective after the step."""
        with torch.enable_grad():
            value = self._value()
        self._next = value, versions(self.points)
        return self.metrics_of(float(value.detach()))

    def metrics_of(self, value: float) -> dict[str, float]:
        """Metrics of an epoch from a known value of the objective."""
        return {METRICS[self.objective]: value}


class RankingTask(EmbeddingTask):
    """Embedding by the ranking loss of all nodes, which makes neighbours in the graph nearest points.

    The loss has no minimum where all neighbours can be nearest: longer distances lower it further. But as soon as the
    sum over edges is below log 2, each edge is nearer than all nodes that are no neighbours, and the mean average
    precision is 1.

    Args:
        points: Trained points, `FreePoints` or `NetworkPoints`.
        neighbours: Neighbours of each node in the graph.

    >>> from kappagcn.graphs import cycle
    >>> graph, points = cycle(12), FreePoints(12, "S2")
    >>> RankingTask(points, Neighbours.of(graph)).loss().requires_grad
    True
    """

    def __init__(self, points: Points, neighbours: Neighbours) -> None:
        self.points, self.neighbours, self.objective = points, neighbours, "neighbours"
        self.perfect = math.log(2) / max(1, len(neighbours.others))
        self._next = None

    def _value(self) -> Tensor:
        return ranking_loss(self.points(), self.points.manifold, self.neighbours)


class SampledEmbeddingTask(_ObjectiveTask):
    """Embedding of a large graph: each step takes the pairs of newly drawn source nodes, and all near pairs.

    Args:
        points: Trained points, `FreePoints` or `NetworkPoints`.
        graph: The graph.
        sources: Number of source nodes drawn for each step, without repetition.
        watched: Distances from fixed source nodes, whose objective decides on early stopping.
        objective: One of `METRICS`.

    >>> from kappagcn.graphs import cycle
    >>> graph, points = cycle(12), FreePoints(12, "S2")
    >>> SampledEmbeddingTask(points, graph, 4, GraphDistances.of(graph)).loss().requires_grad
    True
    """

    def __init__(
        self, points: Points, graph: Data, sources: int, watched: GraphDistances, objective: str = "distortion"
    ) -> None:
        self.points, self.graph, self.sources, self.kept = points, graph, sources, watched
        self.objective, ranked = objective, objective == "neighbours"
        self.near = None if ranked else NearPairs.of(graph)
        self.neighbours = Neighbours.of(graph) if ranked else None
        self.norm = 1.0 if ranked else watched.row_norm(objective)

    def loss(self) -> Tensor:
        """An unbiased estimate of the objective, with an unbiased gradient."""
        sources = torch.randperm(self.graph.num_nodes)[: self.sources]
        if self.neighbours is not None:
            return self._ranking(sources)
        return self._pairs(GraphDistances.of(self.graph, sources, self.near))

    def metrics(self) -> dict[str, float]:
        """The objective over the pairs of the watched source nodes."""
        value = self._pairs(self.kept) if self.neighbours is None else self._ranking(self.kept.sources)
        return {METRICS[self.objective]: float(value)}

    def _pairs(self, distances: GraphDistances) -> Tensor:
        return pair_loss(self.points(), self.points.manifold, distances, self.objective, self.norm)

    def _ranking(self, sources: Tensor | None) -> Tensor:
        assert self.neighbours is not None
        return ranking_loss(self.points(), self.points.manifold, self.neighbours, sources)


class SharedEmbeddingTask(SampledEmbeddingTask):
    """Sampled embedding in several processes: each takes its share of the sources and of the near pairs.

    Args:
        points: Trained points, the same on all ranks.
        graph: The graph.
        sources: Number of source nodes drawn for each step, over all ranks.
        watched: Fixed source nodes, whose objective decides on early stopping, (S,).
        communicator: Connects the ranks.
        seed: Seed of the drawn source nodes, with the epoch the same on all ranks.
        objective: One of `METRICS`.

    >>> from kappagcn.graphs import cycle
    >>> graph, points = cycle(12), FreePoints(12, "S2")
    >>> SharedEmbeddingTask(points, graph, 4, torch.arange(3), Communicator(), seed=0).loss().requires_grad
    True
    """

    def __init__(
        self,
        points: Points,
        graph: Data,
        sources: int,
        watched: Tensor,
        communicator: Communicator,
        seed: int,
        objective: str = "distortion",
    ) -> None:
        rank, world_size = communicator.rank, communicator.world_size
        mine = watched[rank::world_size]
        super().__init__(points, graph, sources, GraphDistances.of(graph, mine), objective)
        self.communicator, self.seed, self.part_kept = communicator, seed, len(mine) / len(watched)
        self.norm = communicator.all_reduce_sum(self.part_kept * self.norm)[0]
        if self.near is not None:
            nobody, no_paths = torch.empty(0, dtype=torch.long), torch.empty(0, graph.num_nodes)
            self.own_near = GraphDistances(no_paths, nobody, self.near.share(rank, world_size))

    def loss(self) -> Tensor:
        """This rank's share of the estimate."""
        generator = torch.Generator().manual_seed((self.seed << 32) + self.communicator.epoch)
        drawn = torch.randperm(self.graph.num_nodes, generator=generator)[: self.sources]
        mine = drawn[self.communicator.rank :: self.communicator.world_size]
        share = len(mine) / len(drawn)
        if self.neighbours is not None:
            return share * self._ranking(mine) if len(mine) else 0 * self.points().sum()
        loss = self._pairs(self.own_near)
        if len(mine):
            far = GraphDistances.of(self.graph, mine, self.near)
            far.near = None  # near pairs are summed in `own_near`
            loss = loss + share * self._pairs(far)
        return loss

    def metrics(self) -> dict[str, float]:
        """The objective over the pairs of the watched source nodes of all ranks."""
        ((name, own),) = super().metrics().items() if self.part_kept else ((METRICS[self.objective], 0.0),)
        return {name: self.communicator.all_reduce_sum(self.part_kept * own)[0]}
