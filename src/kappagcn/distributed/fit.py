"""Full-graph training in parts: the same loss, gradients and curvatures as in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.distributed.matrix import cut
from kappagcn.distributed.partition import partition
from kappagcn.distributed.workers import Workers
from kappagcn.errors import TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix
from kappagcn.training import TrainingConfig, seeded
from kappagcn.training.checks import check_graph, check_training
from kappagcn.training.run import TrainingResult, told
from kappagcn.training.sharing import SharedTrainer, rank, total, train_shared
from kappagcn.training.tasks import inputs
from kappagcn.training.trainer import Record

__all__ = ["PartClassification", "PartTrainer", "fit_parts"]

MIX = 0x9E3779B97F4A7C15  # makes one seed of three numbers


class PartTrainer(SharedTrainer):
    """A trainer of workers that each have rows of their own."""

    def run_epoch(self) -> Record:
        """One epoch; what is drawn depends on seed, epoch and worker alone, so that a run can be taken up."""
        with seeded(((self.config.seed * MIX + self.epoch) * MIX + rank()) % 2**63):
            self.random = torch.get_rng_state()
        return super().run_epoch()


class PartClassification:
    """Node classification on the nodes that live here; numbers are those of all workers.

    Args:
        model: The network, with the same weights everywhere.
        data: The whole graph, of which this worker keeps its rows.
        split: Which nodes are for what.
        owner: Worker of each node, (N,).
        rank: This worker's number.
        boundary: Share of other workers' rows that a training step takes.
    """

    def __init__(
        self, model: NodeClassifier, data: Data, split: Split, owner: Tensor, rank: int, boundary: float = 1.0
    ) -> None:
        view = split.training_view(data)
        x, matrix = inputs(model, view)
        self.model, self.boundary = model, boundary
        self.own = (owner == rank).nonzero().flatten()
        self.adjacency: Any = matrix
        if isinstance(matrix, SparseMatrix):  # an MLP looks at no matrix
            self.own, self.adjacency = cut(matrix, owner, rank)
        self.x = _rows(x, self.own)
        self.labels = view.y[self.own]
        deciding = split.stopping if len(split.stopping) else split.train
        self.parts = {"train": split.train, "stopping": deciding, "validation": split.validation}
        self.counts = {name: len(nodes) for name, nodes in self.parts.items()}
        self.here = {name: torch.isin(self.own, nodes).nonzero().flatten() for name, nodes in self.parts.items()}

    def _share(self, scores: Tensor, part: str) -> Tensor:
        """This worker's share of a mean over all nodes of a part."""
        nodes = self.here[part]
        return cross_entropy(scores[nodes], self.labels[nodes], reduction="sum") / self.counts[part]

    def loss(self) -> Tensor:
        """This worker's share of the cross-entropy on the training nodes."""
        adjacency = self.adjacency
        if self.boundary < 1 and isinstance(adjacency, SparseMatrix):
            adjacency = adjacency.sampled(self.boundary)  # type: ignore[attr-defined]
        return self._share(self.model(self.x, adjacency), "train")

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy of all workers' nodes."""
        scores = self.model(self.x, self.adjacency)
        found: dict[str, float] = {}
        for part in ("stopping", "validation"):
            if self.counts[part]:
                nodes = self.here[part]
                right = (scores[nodes].argmax(1) == self.labels[nodes]).sum()
                loss, correct = total(self._share(scores, part), right)
                found |= {f"{part}_loss": loss, f"{part}_accuracy": correct / self.counts[part]}
        return found

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


def fit_parts(
    model: NodeClassifier,
    data: Data,
    split: Split,
    config: TrainingConfig,
    workers: Workers,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callable[[Record], None]] = (),
    method: str = "auto",
    boundary: float = 1.0,
) -> TrainingResult:
    """What `kappagcn.training.fit` does, by all workers together; the first one alone writes.

    Args:
        model: The network; the first worker's weights count.
        data: The graph.
        split: Which nodes are for what.
        config: How to train.
        workers: From `joined`.
        folder: Where to keep the run; None to keep nothing. Any number of workers can take it up.
        resume: Go on with the run in `folder`, if there is one.
        callbacks: Called with each epoch's numbers, on the first worker.
        method: Of `partition`.
        boundary: Share of other workers' rows that a training step takes, 1 for exact training.
    """
    if not 0 < boundary <= 1:
        raise TrainingError(f"boundary: expected a share above 0 and up to 1, found {boundary}.")
    check_graph(model, data)
    check_training(model, data, split)
    owner = partition(data.edge_index.cpu(), data.num_nodes, workers.size, method=method)  # by all: nobody waits long
    dist.broadcast(owner, 0)
    task = PartClassification(model, data, split, owner, workers.rank, boundary)
    trainer = PartTrainer(model, task, config, regularised=model.first_layer(), alive=workers.at)
    about = told(model, data, split, config)
    if boundary < 1:  # exact runs are those of one process
        about["boundary"] = boundary
    result = train_shared(trainer, folder, about, resume=resume, callbacks=callbacks)
    result.capped_rows = int(total(model.capped_rows(task.x, task.adjacency))[0])
    return result
