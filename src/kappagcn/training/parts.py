"""Full-graph training on parts: each process holds its rows of Â; loss and gradients are those of one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.distributed import ProcessGroup
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.distributed import Communicator, cut, partition
from kappagcn.errors import TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix
from kappagcn.training.config import TrainingConfig
from kappagcn.training.tasks import inputs
from kappagcn.training.trainer import Record, Trainer, seeded

__all__ = ["PartClassification", "PartTrainer", "Partitioned"]

MIX = 0x9E3779B97F4A7C15  # makes one seed of three numbers


class PartTrainer(Trainer):
    """A trainer of processes that each have rows of their own.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model, alone = disease(200), KappaGCN(10, 2, "H4"), Communicator()
    >>> owner = partition(data.edge_index, 200, alone.world_size)
    >>> task = PartClassification(model, data, random_split(data.y, 0), owner, alone)
    >>> PartTrainer(model, task, TrainingConfig(epochs=2), communicator=alone).run_epoch()["epoch"]
    1
    """

    def run_epoch(self) -> Record:
        """One epoch; random numbers depend on seed, epoch and rank alone, so that a run can be resumed."""
        with seeded(((self.config.seed * MIX + self.epoch) * MIX + self.communicator.rank) % 2**63):
            self.random = torch.get_rng_state()
        return super().run_epoch()


class PartClassification:
    """Node classification on the nodes of this rank; metrics are those of all ranks.

    Args:
        model: The network, with the same weights everywhere.
        data: The whole graph, of which this rank keeps its rows.
        split: Which nodes are for what.
        owner: Rank of each node, (N,).
        communicator: Connects the ranks.
        boundary: Share of other ranks' rows that a training step takes.
    """

    def __init__(
        self,
        model: NodeClassifier,
        data: Data,
        split: Split,
        owner: Tensor,
        communicator: Communicator,
        boundary: float = 1.0,
    ) -> None:
        view = split.training_view(data)
        x, matrix = inputs(model, view)
        self.model, self.boundary, self.communicator = model, boundary, communicator
        self.own = (owner == communicator.rank).nonzero().flatten()
        self.adjacency: Any = matrix
        if isinstance(matrix, SparseMatrix):  # an MLP looks at no matrix
            self.own, self.adjacency = cut(matrix, owner, communicator)
        self.x = _rows(x, self.own)
        self.labels = view.y[self.own]
        deciding = split.stopping if len(split.stopping) else split.train
        self.parts = {"train": split.train, "stopping": deciding, "validation": split.validation}
        self.counts = {name: len(nodes) for name, nodes in self.parts.items()}
        self.here = {name: torch.isin(self.own, nodes).nonzero().flatten() for name, nodes in self.parts.items()}

    def _share(self, scores: Tensor, part: str) -> Tensor:
        """This rank's share of a mean over all nodes of a part."""
        nodes = self.here[part]
        return cross_entropy(scores[nodes], self.labels[nodes], reduction="sum") / self.counts[part]

    def loss(self) -> Tensor:
        """This rank's share of the cross-entropy on the training nodes."""
        adjacency = self.adjacency
        if self.boundary < 1 and isinstance(adjacency, SparseMatrix):
            adjacency = adjacency.sampled(self.boundary)  # type: ignore[attr-defined]
        return self._share(self.model(self.x, adjacency), "train")

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy over the nodes of all ranks."""
        scores = self.model(self.x, self.adjacency)
        metrics: dict[str, float] = {}
        for part in ("stopping", "validation"):
            if self.counts[part]:
                nodes = self.here[part]
                right = (scores[nodes].argmax(1) == self.labels[nodes]).sum()
                loss, correct = self.communicator.all_reduce_sum(self._share(scores, part), right)
                metrics |= {f"{part}_loss": loss, f"{part}_accuracy": correct / self.counts[part]}
        return metrics

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Loss and accuracy of the stopping nodes."""
        return metrics["stopping_loss"], metrics["stopping_accuracy"]


def _rows(x: Tensor | SparseMatrix, nodes: Tensor) -> Tensor | SparseMatrix:
    """Some rows of features."""
    if isinstance(x, Tensor):
        return x[nodes].clone()
    place = torch.full((x.shape[0],), -1, device=x.rows.device)
    place[nodes.to(place.device)] = torch.arange(len(nodes), device=place.device)
    kept = place[x.rows] >= 0
    return SparseMatrix(place[x.rows[kept]], x.cols[kept], x.values[kept], (len(nodes), x.shape[1]))


@dataclass(frozen=True)
class Partitioned:
    """Strategy of `fit` in the processes of a group, each on its part of the graph; exact full-graph training.

    All of them call `fit` with the same arguments; rank 0's weights count, and rank 0 alone writes. Any number of
    processes can resume the run.

    Args:
        group: Process group of torch.distributed, or what `kappagcn.distributed.process_group` gives.
        method: Method of `kappagcn.distributed.partition`.
        boundary: Share of other ranks' rows that a training step takes, 1 for exact training.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import fit
    >>> data, alone = disease(200), Communicator()  # under torchrun: torch.distributed.group.WORLD
    >>> model, split, config = KappaGCN(10, 2, "H4"), random_split(data.y, 0), TrainingConfig(epochs=5)
    >>> fit(model, data, split, config, strategy=Partitioned(alone)).epochs
    5
    """

    group: ProcessGroup | Communicator
    method: str = "auto"
    boundary: float = 1.0

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingConfig) -> Trainer:
        """A trainer on the part of this rank."""
        if not 0 < self.boundary <= 1:
            raise TrainingError(f"boundary: expected a share above 0 and up to 1, found {self.boundary}.")
        communicator = Communicator.of(self.group)
        parts = communicator.world_size
        owner = partition(data.edge_index.cpu(), data.num_nodes, parts, method=self.method)  # on all: none waits long
        communicator.broadcast(owner)
        task = PartClassification(model, data, split, owner, communicator, self.boundary)
        return PartTrainer(model, task, config, regularised=model.first_layer(), communicator=communicator)

    def identity(self, trainer: Any) -> dict[str, Any]:
        """The share of boundary rows; exact runs are those of one process."""
        return {"boundary": self.boundary} if self.boundary < 1 else {}

    def capped_rows(self, trainer: Any) -> int:
        """Number of rows of all ranks that lie farther out than the precision resolves."""
        task = trainer.task
        return int(trainer.communicator.all_reduce_sum(trainer.model.capped_rows(task.x, task.adjacency))[0])
