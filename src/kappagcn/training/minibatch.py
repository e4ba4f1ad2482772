"""Training on batches of nodes and sampled neighbours, and on parts of a graph, one for each process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.models import NodeClassifier
from kappagcn.nn.inputs import Features
from kappagcn.sparse import NeighbourSampler, SparseMatrix, SparseRows
from kappagcn.training.layer_by_layer import BATCH, Inference, take_rows
from kappagcn.training.setting_field import check_count
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.tasks import Task
from kappagcn.training.trainer import Record, Trainer, seeded


def check_neighbors(num_neighbors: Any, hops: int) -> tuple[int, ...]:
    """Number of neighbours for each hop, from one number for all or one for each.

    >>> check_neighbors(10, 2), check_neighbors((10, -1), 2)
    ((10, 10), (10, -1))
    """
    each: Any = [num_neighbors] * max(hops, 1) if isinstance(num_neighbors, Integral) else num_neighbors
    whole = isinstance(each, Sequence) and all(isinstance(k, Integral) and not isinstance(k, bool) for k in each)
    if not whole or not all(k == -1 or k >= 1 for k in each):
        raise ConfigError(
            f"num_neighbors: expected a number from 1, or -1 for all, or one for each hop, found {num_neighbors!r}."
        )
    if hops and len(each) != hops:
        raise ConfigError(
            f"num_neighbors: expected {hops} numbers, one for each product of the network with the graph, found "
            f"{len(each)}; one number alone counts for all."
        )
    return tuple(int(k) for k in each[:hops])


class SampledNetwork:
    """A network on sampled neighbours of some nodes, and on all of them for evaluation.

    Args:
        model: The network.
        x: Features of all nodes, (N, D).
        adjacency: The matrix that the network multiplies with.
        num_neighbors: Neighbours sampled for each node: one number, or one for each hop.
        inference_batch_size: Rows in a block of the evaluation.

    Attributes:
        num_neighbors: Neighbours sampled in each hop.
        rows: The features, whose rows are taken by node.
        sampler: The neighbour sampler; None for a network without a graph.
    """

    def __init__(
        self, model: NodeClassifier, x: Features, adjacency: Any, num_neighbors: Any, inference_batch_size: int = BATCH
    ) -> None:
        steps = model.steps()
        hops = sum(step.aggregates for step in steps)
        self.model, self.num_neighbors = model, check_neighbors(num_neighbors, hops)
        if any(step.needs_all_neighbors for step in steps) and set(self.num_neighbors) != {-1}:
            raise ConfigError(
                "expected a network without attention, whose weights need all neighbours, found one with attention. "
                "Use num_neighbors=-1, attention=False, or fit on the whole graph."
            )
        self.rows: Any = SparseRows(x) if isinstance(x, SparseMatrix) else x
        self.sampler = NeighbourSampler(adjacency, self.num_neighbors) if hops else None
        size = check_count("inference_batch_size", inference_batch_size)
        self._inference = Inference(model, self.rows, self.sampler, batch_size=size)

    def manual_seed(self, *numbers: int) -> None:
        """Seed the sampling."""
        if self.sampler is not None:
            self.sampler.manual_seed(mixed_seed(*numbers))

    def sampled(self, nodes: Tensor) -> Tensor:
        """Output for these nodes from newly sampled neighbours, (B, C)."""
        if self.sampler is None:
            return self.model.forward_blocks(take_rows(self.rows, nodes), [])
        sample = self.sampler.sample(nodes)
        return self.model.forward_blocks(take_rows(self.rows, sample.nodes), sample.blocks)

    def exact(self, nodes: Tensor) -> Tensor:
        """Output for these nodes from all neighbours, in evaluation mode, (B, C)."""
        return self._inference.scores(nodes)


class BatchedTask(Task, Protocol):
    """A task whose loss is that of the current batch of an epoch."""

    communicator: Communicator

    def batches(self, seed: int, epoch: int) -> Iterator[int]:
        """Sizes of an epoch's batches; `loss` is this rank's share of the current one."""


class Batches(ABC):
    """The batches of an epoch, drawn at random by its number, of which each process has its share."""

    batch_size: int
    communicator: Communicator
    network: SampledNetwork | None
    _batch: Any = None

    @abstractmethod
    def _count(self) -> int:
        """Number of items of an epoch, such as training nodes."""

    @abstractmethod
    def _share(self, batch: Tensor, generator: torch.Generator) -> Any:
        """This rank's share of the items with these numbers; all ranks have the same generator."""

    def batches(self, seed: int, epoch: int) -> Iterator[int]:
        """Sizes of an epoch's batches over all ranks; `loss` is this rank's share of the current one."""
        generator = torch.Generator().manual_seed(mixed_seed(seed, epoch))
        if self.network is not None:
            self.network.manual_seed(seed, epoch, 1 + self.communicator.rank)
        for batch in torch.randperm(self._count(), generator=generator).split(self.batch_size):
            self._batch = self._share(batch, generator)
            yield len(batch)

    def _current(self) -> Any:
        if self._batch is None:
            raise ConfigError("expected a current batch, found none: iterate over batches() first.")
        return self._batch


class _BatchLoss(nn.Module):
    """The loss of a task as a module, whose gradients `DistributedDataParallel` averages."""

    def __init__(self, model: nn.Module, task: BatchedTask) -> None:
        super().__init__()
        self.model, self.task = model, task

    def forward(self) -> Tensor:
        """This rank's share of the loss of the current batch."""
        return self.task.loss()


class MiniBatchTrainer(Trainer):
    """A trainer whose epoch is a step for each batch, which the processes of the task's communicator share.

    Random numbers of an epoch depend on the seed, the epoch and the rank alone.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import MiniBatches
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = MiniBatches(model, data, random_split(data.y, 0), batch_size=50)
    >>> MiniBatchTrainer(model, task, TrainingSettings(epochs=2)).run_epoch()["epoch"]
    1
    """

    task: BatchedTask

    def __init__(self, model: nn.Module, task: BatchedTask, config: TrainingSettings, **options: Any) -> None:
        super().__init__(model, task, config, communicator=task.communicator, **options)
        self._parallel: DistributedDataParallel | None = None
        if self.communicator.world_size > 1:
            loss = _BatchLoss(model, task)
            group = self.communicator.group
            self._parallel = DistributedDataParallel(
                loss, process_group=group, forward_sync_buffers=False, static_graph=True
            )

    def _gradients(self, epoch: int) -> float:
        if self._parallel is None:
            return super()._gradients(epoch)
        loss = self._parallel()
        (value,) = self.communicator.all_reduce_sum(loss)
        self._check_finite({"training loss": value}, epoch)
        (self.communicator.world_size * loss).backward()  # shares of a mean are summed, not averaged
        self.share_scales()
        return value

    def _step(self, epoch: int) -> float:
        torch.manual_seed(mixed_seed(self.config.random_state, epoch, 1 + self.communicator.rank))
        total, items = 0.0, 0
        for count in self.task.batches(self.config.random_state, epoch):
            total, items = total + count * super()._step(epoch), items + count
        return total / items


class PartTrainer(Trainer):
    """A trainer whose random numbers depend on seed, epoch and rank alone, so that any number of ranks can resume.

    >>> [kind.__name__ for kind in PartTrainer.__bases__]
    ['Trainer']
    """

    def run_epoch(self) -> Record:
        """One epoch from its own seed."""
        with seeded(mixed_seed(self.config.random_state, self.epoch, self.communicator.rank)):
            self.random = torch.get_rng_state()
        return super().run_epoch()


def mixed_seed(*numbers: int) -> int:
    """One seed from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
