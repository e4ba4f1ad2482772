"""Full-graph training in parts: the same loss, gradients and curvatures as in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.distributed.matrix import cut
from kappagcn.distributed.partition import partition
from kappagcn.distributed.workers import Workers, by_first
from kappagcn.errors import TrainingError
from kappagcn.graphs.sparse import SparseMatrix
from kappagcn.graphs.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training import Trainer, TrainingConfig, seeded
from kappagcn.training.checks import check_graph, check_training
from kappagcn.training.run import RunFolder, TrainingResult, fingerprint, finish
from kappagcn.training.tasks import Task, inputs
from kappagcn.training.trainer import Record

__all__ = ["PartClassification", "PartTrainer", "fit_parts", "total", "train_parts"]

MIX = 0x9E3779B97F4A7C15  # makes one seed of three numbers


def total(*values: Tensor | float) -> list[float]:
    """Sums over all workers."""
    sums = torch.stack([torch.as_tensor(value, dtype=torch.float64).detach() for value in values])
    dist.all_reduce(sums)
    return sums.tolist()


class PartTrainer(Trainer):
    """A trainer whose loss is the workers' together, and whose gradients add up."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        config: TrainingConfig,
        workers: Workers,
        *,
        regularised: list[nn.Parameter] | None = None,
    ) -> None:
        super().__init__(model, task, config, regularised=regularised)
        self.workers = workers

    def run_epoch(self) -> Record:
        """One epoch; what is drawn depends on seed, epoch and worker alone, so that a run can be taken up."""
        self.workers.epoch = self.epoch + 1
        with seeded(((self.config.seed * MIX + self.epoch) * MIX + self.workers.rank) % 2**63):
            self.random = torch.get_rng_state()
        return super().run_epoch()

    def value_of(self, loss: Tensor) -> float:
        """The sum of all workers' shares."""
        return total(loss)[0]

    def share_gradients(self) -> None:
        """Sums over all workers, in one message."""
        params = list(self.named.values())
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
        flat = torch.cat([grad.flatten() for grad in grads])
        dist.all_reduce(flat)
        for p, part in zip(params, flat.split([p.numel() for p in params]), strict=True):
            p.grad = part.view_as(p)

    def agreed(self, stop: bool) -> bool:
        """Whether any worker was asked to stop."""
        return total(float(stop or self.workers.stopping))[0] > 0


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
    place = torch.full((x.shape[0],), -1)
    place[nodes] = torch.arange(len(nodes))
    kept = place[x.rows] >= 0
    return SparseMatrix(place[x.rows[kept]], x.cols[kept], x.values[kept], (len(nodes), x.shape[1]))


def _started(
    folder: Path | None, about: dict[str, Any], trainer: PartTrainer, *, resume: bool
) -> tuple[RunFolder | None, list[Record]]:
    """The run's folder on the first worker; its state and history on all."""
    if folder is None:
        return None, []
    run = RunFolder(folder)

    def start() -> tuple[dict[str, Tensor], dict[str, Any], list[Record]]:
        history = run.start(about, trainer, resume=resume)
        return trainer.tensors(), trainer.about(), history

    tensors, state, history = by_first(trainer.workers, start)
    trainer.load(tensors, state)
    return run if trainer.workers.rank == 0 else None, history


def train_parts(
    trainer: PartTrainer,
    folder: str | Path | None,
    about: dict[str, Any],
    *,
    resume: bool = False,
    callbacks: Sequence[Callable[[Record], None]] = (),
) -> TrainingResult:
    """What `kappagcn.training.train_in` does, by all workers; the first one alone writes and calls back."""
    run, history = _started(None if folder is None else Path(folder), about, trainer, resume=resume)
    return finish(trainer, run, history, about, callbacks=callbacks if trainer.workers.rank == 0 else ())


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
    owner = torch.zeros(data.num_nodes, dtype=torch.long)
    if workers.rank == 0:
        owner = partition(data.edge_index, data.num_nodes, workers.size, method=method)
    dist.broadcast(owner, 0)
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, 0)
    task = PartClassification(model, data, split, owner, workers.rank, boundary)
    trainer = PartTrainer(model, task, config, workers, regularised=model.first_layer())
    about = {
        "model": model.name,
        "options": model.options,
        "dtype": str(next(model.parameters()).dtype),
        "training": asdict(config),
        **({"boundary": boundary} if boundary < 1 else {}),  # exact runs are those of one process
        "split": split.name,
        "nodes": fingerprint(split.train, split.stopping, split.validation, split.final_test_nodes()),
        "data": fingerprint(data.x, data.edge_index, data.get("edge_weight"), split.training_view(data).y),
    }
    result = train_parts(trainer, folder, about, resume=resume, callbacks=callbacks)
    result.capped_rows = int(total(model.capped_rows(task.x, task.adjacency))[0])
    return result
