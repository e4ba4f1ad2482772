"""Training tasks whose loss is the average distortion of an embedding."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.training.distortion_loss import GraphDistances, distortion, measure
from kappagcn.training.near_pairs import NearPairs

__all__ = ["DistortionTask", "SampledDistortionTask", "SharedDistortionTask"]


class DistortionTask:
    """The average distortion of all pairs: the loss, what is watched, and whose least value's weights are kept.

    Nothing is random in it, so the loss that is watched after one step is the one whose gradient the next step takes.

    Args:
        points: What is trained.
        distances: Of the graph.

    >>> from kappagcn.graphs import cycle
    >>> graph, points = cycle(12), FreePoints(12, "S2")
    >>> DistortionTask(points, GraphDistances.of(graph)).loss().requires_grad
    True
    """

    def __init__(self, points: FreePoints | NetworkPoints, distances: GraphDistances) -> None:
        self.points, self.distances = points, distances
        self._next: Tensor | None = None

    def loss(self) -> Tensor:
        """The average distortion."""
        loss, self._next = self._next, None
        return self._distortion() if loss is None else loss

    def _distortion(self) -> Tensor:
        return distortion(self.points(), self.points.manifold, self.distances)

    def metrics(self) -> dict[str, float]:
        """The average distortion after the step."""
        with torch.enable_grad():
            self._next = self._distortion()
        return {"distortion": float(self._next.detach())}

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Stop by the distortion, keep its least value."""
        return metrics["distortion"], -metrics["distortion"]


class SampledDistortionTask:
    """The same for graphs with too many pairs: each step takes those of some sources, drawn anew, and all near ones.

    Args:
        points: What is trained.
        graph: The graph.
        sources: Drawn for each step, without repetition.
        watched: Distances whose distortion is watched, from sources drawn once.

    >>> from kappagcn.graphs import cycle
    >>> graph, points = cycle(12), FreePoints(12, "S2")
    >>> SampledDistortionTask(points, graph, 4, GraphDistances.of(graph)).loss().requires_grad
    True
    """

    def __init__(self, points: FreePoints | NetworkPoints, graph: Data, sources: int, watched: GraphDistances) -> None:
        self.points, self.graph, self.sources, self.kept = points, graph, sources, watched
        self.near = NearPairs.of(graph)

    def loss(self) -> Tensor:
        """An estimate of the average distortion, whose gradient is one of its gradient, both without bias."""
        drawn = torch.randperm(self.graph.num_nodes)[: self.sources]
        return distortion(self.points(), self.points.manifold, GraphDistances.of(self.graph, drawn, self.near))

    def metrics(self) -> dict[str, float]:
        """The average distortion as seen from the sources that are watched."""
        return {"distortion": measure(self.points(), self.points.manifold, self.kept).distortion}

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Stop by the distortion, keep its least value."""
        return metrics["distortion"], -metrics["distortion"]


class SharedDistortionTask(SampledDistortionTask):
    """Sampled embedding in several processes: each takes its share of the sources and of the near pairs.

    Args:
        points: What is trained, the same everywhere.
        graph: The graph.
        sources: Number drawn for each step, over all ranks.
        watched: Sources whose distortion is watched, drawn once, (S,).
        communicator: Connects the ranks.
        seed: Of the draws.
    """

    def __init__(
        self,
        points: FreePoints | NetworkPoints,
        graph: Data,
        sources: int,
        watched: Tensor,
        communicator: Communicator,
        seed: int,
    ) -> None:
        rank, world_size = communicator.rank, communicator.world_size
        mine = watched[rank::world_size]
        super().__init__(points, graph, sources, GraphDistances.of(graph, mine))
        self.communicator, self.seed, self.part_kept = communicator, seed, len(mine) / len(watched)
        nobody = torch.empty(0, dtype=torch.long)
        no_paths = torch.empty(0, graph.num_nodes)
        self.own_near = GraphDistances(no_paths, nobody, self.near.share(rank, world_size))

    def loss(self) -> Tensor:
        """This rank's share of the estimate."""
        drawn = self._drawn()
        mine = drawn[self.communicator.rank :: self.communicator.world_size]
        v = self.points()
        loss = distortion(v, self.points.manifold, self.own_near)
        if len(mine):
            far = GraphDistances.of(self.graph, mine, self.near)
            far.near = None  # left out of the sources' pairs, counted by those who have them
            loss = loss + len(mine) / len(drawn) * distortion(v, self.points.manifold, far)
        return loss

    def _drawn(self) -> Tensor:
        """Sources of this step, the same on all ranks, from the seed and the epoch."""
        generator = torch.Generator().manual_seed((self.seed << 32) + self.communicator.epoch)
        return torch.randperm(self.graph.num_nodes, generator=generator)[: self.sources]

    def metrics(self) -> dict[str, float]:
        """The average distortion as seen from the watched sources of all ranks."""
        own = measure(self.points(), self.points.manifold, self.kept).distortion if self.part_kept else 0.0
        return {"distortion": self.communicator.all_reduce_sum(self.part_kept * own)[0]}
