"""Training on batches of nodes and some of their neighbours: memory for the batch, not for the graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributed import ProcessGroup
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix
from kappagcn.sparse.sampler import NeighbourSampler, SparseRows
from kappagcn.training.config import TrainingConfig
from kappagcn.training.layerwise import BATCH, Inference, take_rows, through
from kappagcn.training.tasks import inputs
from kappagcn.training.trainer import Trainer

__all__ = ["MiniBatch", "MiniBatchTrainer", "MiniBatches", "check_batches"]


def check_batches(batch_size: Any, num_neighbors: Any, hops: int) -> tuple[int, ...]:
    """The numbers of neighbours for so many hops, from one for all or one for each; refuses what cannot be.

    >>> check_batches(512, 10, 2), check_batches(512, (10, -1), 2)
    ((10, 10), (10, -1))
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise TrainingError(f"batch_size: expected a whole number of nodes from 1, found {batch_size!r}.")
    each: Any = [num_neighbors] * max(hops, 1) if isinstance(num_neighbors, Integral) else num_neighbors
    if not isinstance(each, Sequence) or not all(isinstance(k, Integral) and not isinstance(k, bool) for k in each):
        raise TrainingError(f"num_neighbors: expected a whole number, or one for each hop, found {num_neighbors!r}.")
    if not all(k == -1 or k >= 1 for k in each):
        raise TrainingError(f"num_neighbors: expected numbers from 1, or -1 for all, found {num_neighbors!r}.")
    if hops and len(each) != hops:
        raise TrainingError(
            f"num_neighbors: expected {hops} numbers, one for each product of the network with the graph, found "
            f"{len(each)}; one number alone counts for all."
        )
    return tuple(int(k) for k in each[:hops])


class MiniBatches:
    """Cross-entropy on the batch at hand; loss and accuracy of stopping and validation nodes from all neighbours.

    Args:
        model: The network.
        data: The graph; labels of test nodes are hidden from it before anything is computed.
        split: Which nodes are for what. Without stopping nodes the training nodes decide.
        batch_size: Training nodes in a batch, over all ranks.
        num_neighbors: Neighbours sampled for each node: one number, or one for each hop, next to the batch first.
        inference_batch_size: Rows in a block of the evaluation.
        communicator: Connects the processes that share each batch; one process by default.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = MiniBatches(model, data, random_split(data.y, 0), batch_size=50, num_neighbors=5)
    >>> [task.loss().dim() for count in task.batches(seed=0, epoch=1)]
    [0, 0, 0]
    """

    def __init__(
        self,
        model: NodeClassifier,
        data: Data,
        split: Split,
        *,
        batch_size: int = 512,
        num_neighbors: int | Sequence[int] = 10,
        inference_batch_size: int = BATCH,
        communicator: Communicator | None = None,
    ) -> None:
        self.communicator = Communicator() if communicator is None else communicator
        view = split.training_view(data)
        hops = sum(step.aggregates for step in model.steps())
        self.num_neighbors = check_batches(batch_size, num_neighbors, hops)
        if any(step.needs_all_neighbors for step in model.steps()) and set(self.num_neighbors) != {-1}:
            raise TrainingError(
                "expected a network without attention, whose shares need all neighbours, found one with attention. "
                "Use num_neighbors=-1, attention=False, or fit on the whole graph."
            )
        x, adjacency = inputs(model, view)
        self.model, self.split, self.labels, self.batch_size = model, split, view.y, int(batch_size)
        self.x = SparseRows(x) if isinstance(x, SparseMatrix) else x
        self.sampler = None
        if hops:
            assert isinstance(adjacency, SparseMatrix)
            self.sampler = NeighbourSampler(adjacency, self.num_neighbors)
        self.inference = Inference(model, self.x, self.sampler, batch_size=inference_batch_size)
        self._batch: tuple[Tensor, float] | None = None

    def batches(self, seed: int, epoch: int) -> Iterator[int]:
        """The sizes of an epoch's batches over all ranks; `loss` is this rank's share of the current one."""
        rank, world_size = self.communicator.rank, self.communicator.world_size
        order = torch.Generator().manual_seed(_mixed(seed, epoch))
        shuffled = self.split.train[torch.randperm(len(self.split.train), generator=order)]
        if self.sampler is not None:
            self.sampler.manual_seed(_mixed(seed, epoch, 1 + rank))
        for batch in shuffled.split(self.batch_size):
            own = batch[rank::world_size]
            # A rank without a share computes something of weight 0, as gradients of all ranks are added up.
            self._batch = (own, 1 / len(batch)) if len(own) else (batch[:1], 0.0)
            yield len(batch)

    def loss(self) -> Tensor:
        """Cross-entropy of the current batch; those of all ranks add up to its mean."""
        if self._batch is None:
            raise TrainingError("expected a batch to be at hand, found none: go through batches() first.")
        seeds, share = self._batch
        return share * cross_entropy(self.scores(seeds), self.labels[seeds], reduction="sum")

    def scores(self, seeds: Tensor) -> Tensor:
        """Logits of these nodes from neighbours drawn anew, (B, C)."""
        if self.sampler is None:
            return through(self.model, take_rows(self.x, seeds), [])
        sample = self.sampler.sample(seeds)
        return through(self.model, take_rows(self.x, sample.nodes), sample.blocks)

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy from all neighbours, computed on rank 0, so that all ranks stop together."""
        return self.communicator.run_on_rank0(self._metrics)

    def _metrics(self) -> dict[str, float]:
        """Loss and accuracy where the split has nodes for it."""
        deciding = self.split.stopping if len(self.split.stopping) else self.split.train
        parts = {"stopping": deciding, "validation": self.split.validation}
        nodes = torch.cat(list(parts.values()))
        scores, metrics = self.inference.scores(nodes), {}
        for (name, part), own in zip(parts.items(), scores.split([len(p) for p in parts.values()]), strict=True):
            if len(part):
                metrics[f"{name}_loss"] = float(cross_entropy(own, self.labels[part]))
                metrics[f"{name}_accuracy"] = float((own.argmax(1) == self.labels[part]).double().mean())
        return metrics

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Loss and accuracy of the stopping nodes."""
        return metrics["stopping_loss"], metrics["stopping_accuracy"]

    @torch.no_grad()
    def capped_rows(self) -> int:
        """How many rows around one batch lie farther out than the precision resolves."""
        if self.sampler is None:
            return 0
        sample = self.sampler.sample(self.split.train[: self.batch_size])
        nodes, block = sample.nodes, sample.blocks[0]
        square = SparseMatrix(block.rows, block.cols, block.values, (len(nodes), len(nodes)))
        return self.model.capped_rows(take_rows(self.x, nodes), square)


class MiniBatchTrainer(Trainer):
    """A trainer whose epoch is a step for each batch; the task's communicator shares each batch among processes.

    Random numbers of an epoch depend on the seed, the epoch and the rank alone.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = MiniBatches(model, data, random_split(data.y, 0), batch_size=50)
    >>> MiniBatchTrainer(model, task, TrainingConfig(epochs=2)).run_epoch()["epoch"]
    1
    """

    task: MiniBatches

    def __init__(self, model: NodeClassifier, task: MiniBatches, config: TrainingConfig, **options: Any) -> None:
        super().__init__(model, task, config, communicator=task.communicator, **options)
        self._begun = False

    def _step(self, epoch: int) -> float:
        torch.manual_seed(_mixed(self.config.seed, epoch, 1 + self.communicator.rank))
        total, self._begun = 0.0, False
        for count in self.task.batches(self.config.seed, epoch):
            total += count * super()._step(epoch)
            self._begun = True
        return total / len(self.task.split.train)

    def _remember(self) -> None:
        """What a failed step goes back to is the state before the epoch."""
        if not self._begun:
            super()._remember()


@dataclass(frozen=True)
class MiniBatch:
    """Strategy of `fit` with a step for each mini-batch of training nodes and their sampled neighbours.

    Sums over sampled neighbours are right on average (`kappagcn.sparse.NeighbourSampler`). When to stop is decided on
    all neighbours of the stopping nodes. The processes of a group share each batch: all of them call `fit` with the
    same arguments, and rank 0 keeps the run directory. An epoch is once through the training nodes.

    Args:
        batch_size: Training nodes in a batch, over all ranks.
        num_neighbors: Neighbours sampled for each node: one number, or one for each product of the network with the
            graph, next to the batch first; −1 for all. A KappaGCN or GCN makes one more than it has hidden layers,
            HGCN as many.
        inference_batch_size: Rows in a block of the evaluation.
        group: Process group of torch.distributed to share the work with; None to work in this process alone.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.nn import TangentFeatures
    >>> from kappagcn.training import fit
    >>> data = TangentFeatures(scale=0.1)(disease(200))
    >>> split, config = random_split(data.y, 0), TrainingConfig(epochs=5)
    >>> fit(KappaGCN(10, 2, "H4"), data, split, config, strategy=MiniBatch(40, (5, 3))).epochs
    5
    """

    batch_size: int = 512
    num_neighbors: int | Sequence[int] = 10
    inference_batch_size: int = BATCH
    group: ProcessGroup | Communicator | None = None

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingConfig) -> Trainer:
        """A trainer on mini-batches."""
        check_batches(self.inference_batch_size, 1, 0)
        task = MiniBatches(
            model,
            data,
            split,
            batch_size=self.batch_size,
            num_neighbors=self.num_neighbors,
            inference_batch_size=self.inference_batch_size,
            communicator=Communicator.of(self.group),
        )
        return MiniBatchTrainer(model, task, config, regularised=model.first_layer())

    def identity(self, trainer: Any) -> dict[str, Any]:
        """Batch size and numbers of neighbours."""
        task = trainer.task
        return {"batches": {"batch_size": task.batch_size, "num_neighbors": list(task.num_neighbors)}}

    def capped_rows(self, trainer: Any) -> int:
        """Number of rows around one batch that lie farther out than the precision resolves."""
        return int(trainer.task.capped_rows())


def _mixed(*numbers: int) -> int:
    """One seed of several numbers, as different as they are."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
