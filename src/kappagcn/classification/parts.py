"""Full-graph training on parts: each process holds its rows of Â; loss and gradients are those of one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.classification.task import NodeClassification
from kappagcn.distributed import Communicator, PartMatrix, cut, part_matrix
from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.graphs.partition import assign_parts
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix, SparseRows
from kappagcn.training.layer_by_layer import take_rows
from kappagcn.training.minibatch import PartTrainer
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.tasks import mapped_adjacency
from kappagcn.training.trainer import Trainer


class PartClassification(NodeClassification):
    """Node classification on this rank's nodes of a whole graph; metrics are those of all ranks.

    `owner` is the rank of each node, (N,), and `boundary` the share of other ranks' rows in a training step.
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
        super().__init__(model, data, split, communicator)
        self.boundary, self.own = boundary, (owner == communicator.rank).nonzero().flatten()
        if isinstance(self.adjacency, SparseMatrix):  # an MLP has none
            self.own, self.adjacency = cut(self.adjacency, owner, communicator)
        self.x = take_rows(SparseRows(self.x) if isinstance(self.x, SparseMatrix) else self.x, self.own)
        self.labels = self.labels[self.own]
        self.nodes = {name: torch.isin(self.own, nodes).nonzero().flatten() for name, nodes in self.nodes.items()}

    def _training_scores(self) -> Tensor:
        if self.boundary < 1 and isinstance(self.adjacency, PartMatrix):
            scores: Tensor = self.model(self.x, self.adjacency.sampled(self.boundary))
            return scores
        return super()._training_scores()

    def _can_be_reused(self) -> bool:
        return self.boundary == 1 and super()._can_be_reused()

    def identity(self) -> dict[str, Any]:
        """The share of boundary rows; exact runs are those of one process."""
        return {"boundary": self.boundary} if self.boundary < 1 else {}


@dataclass(frozen=True)
class Partitioned:
    """Strategy of `fit` in the processes of a group, each on its part of the graph; exact full-graph training.

    All processes call `fit` with the same arguments; rank 0's weights count, and rank 0 alone writes. Any number of
    processes can resume the run.

    Args:
        group: Process group of torch.distributed, or the communicator of `kappagcn.distributed.process_group`.
        method: Method of `kappagcn.graphs.partition.assign_parts`.
        boundary: Share of other ranks' rows in a training step, 1 for exact training.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import fit
    >>> data, alone = disease(200), Communicator()  # under torchrun: torch.distributed.group.WORLD
    >>> model, split, config = KappaGCN(10, 2, "H4"), random_split(data.y, 0), TrainingSettings(epochs=5)
    >>> fit(model, data, split, config, strategy=Partitioned(alone)).epochs
    5
    """

    group: ProcessGroup | Communicator
    method: str = "auto"
    boundary: float = 1.0

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingSettings) -> Trainer:
        """A trainer on the part of this rank."""
        if not 0 < self.boundary <= 1:
            raise ConfigError(f"boundary: expected a share above 0 and up to 1, found {self.boundary}.")
        communicator = Communicator.of(self.group)
        # Computed on every rank, which takes no longer than on one.
        owner = node_owners(data, communicator.world_size, self.method)
        communicator.broadcast(owner)
        task = PartClassification(model, data, split, owner, communicator, self.boundary)
        return PartTrainer(model, task, config, regularised=model.first_layer(), communicator=communicator)


class HaloClassification(PartClassification):
    """Node classification on the part of this rank in a mapped folder; only its rows are read.

    The graph is that of a folder with as many parts as ranks, from `kappagcn.classification.large.folder_data`.
    """

    def __init__(self, model: NodeClassifier, data: Data, split: Split, communicator: Communicator) -> None:
        offsets = data.parts or [0, data.num_nodes]
        if len(offsets) != communicator.world_size + 1:
            raise ConfigError(
                f"expected as many processes as the folder has parts, {len(offsets) - 1}, found "
                f"{communicator.world_size}. Convert it again with --parts {communicator.world_size}."
            )
        start, stop = offsets[communicator.rank], offsets[communicator.rank + 1]
        self.model, self.communicator, self.boundary = model, communicator, 1.0
        self.own = torch.arange(start, stop)
        rows = data.x[self.own]
        self.x = rows.to(next(model.parameters()).dtype)
        adjacency = mapped_adjacency(model, data.edge_index)
        self.adjacency = None
        if adjacency is not None:
            self.adjacency = part_matrix(*adjacency.rows_between(start, stop), offsets, communicator)
        self.labels = data.y[start:stop].long()
        stopping = split.stopping if len(split.stopping) else split.train
        nodes = {"train": split.train, "stopping": stopping, "validation": split.validation}
        self.counts = {name: len(part) for name, part in nodes.items()}
        self.nodes = {name: part[(part >= start) & (part < stop)] - start for name, part in nodes.items()}


@dataclass(frozen=True)
class HaloParts:
    """Strategy of full-graph training on a mapped folder, in a process for the rows of each of its parts."""

    group: ProcessGroup | Communicator

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingSettings) -> Trainer:
        """A trainer on the part of this rank."""
        communicator = Communicator.of(self.group)
        task = HaloClassification(model, data, split, communicator)
        return PartTrainer(model, task, config, regularised=model.first_layer(), communicator=communicator)


def node_owners(data: Data, parts: int, method: str = "auto") -> Tensor:
    """Part of each node of a graph in memory, (N,)."""
    edges = data.edge_index.cpu().numpy()
    edges = edges[:, edges[0] != edges[1]]
    matrix = sp.csr_array((np.ones(edges.shape[1], bool), edges), shape=(data.num_nodes, data.num_nodes))
    matrix = (matrix + matrix.T).tocsr()
    return torch.from_numpy(assign_parts(matrix.indptr, matrix.indices, parts, method)).long()
