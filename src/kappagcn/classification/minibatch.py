"""Node classification in mini-batches of training nodes with sampled neighbours, in memory for a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.distributed import ProcessGroup
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.classification.task import NodeClassification
from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.nn.inputs import Features
from kappagcn.sparse import SparseMatrix
from kappagcn.training.layer_by_layer import BATCH, take_rows
from kappagcn.training.minibatch import Batches, MiniBatchTrainer, SampledNetwork
from kappagcn.training.setting_field import check_count
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer


class MiniBatches(Batches, NodeClassification):
    """Cross-entropy on the current batch; loss and accuracy of stopping and validation nodes from all neighbours.

    Args:
        model: The network.
        data: The graph, with labels.
        split: Nodes for training, stopping and validation.
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

    network: SampledNetwork

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
        if model.needs_whole_graph:
            raise ConfigError(f"expected a network that takes mini-batches, found {model.name}. Use the whole graph.")
        self.batch_size = check_count("batch_size", batch_size)
        super().__init__(model, data, split, communicator)
        self.network = SampledNetwork(model, self.x, self.adjacency, num_neighbors, inference_batch_size)

    def _count(self) -> int:
        return len(self.nodes["train"])

    def _share(self, batch: Tensor, generator: torch.Generator) -> tuple[Tensor, float]:
        """Nodes, and the weight of each in the mean over the batch."""
        nodes = self.nodes["train"][batch]
        share = nodes[self.communicator.rank :: self.communicator.world_size]
        # A rank without nodes computes a loss of weight 0, because gradients are summed over all ranks.
        return (share, 1 / len(batch)) if len(share) else (nodes[:1], 0.0)

    def loss(self) -> Tensor:
        """Cross-entropy of the current batch; those of all ranks add up to its mean."""
        seeds, share = self._current()
        loss = cross_entropy(self.network.sampled(seeds), self.labels[seeds].long(), reduction="sum")
        return loss * float(share)

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy from all neighbours, computed on rank 0, so that all ranks stop together."""
        return self.communicator.run_on_rank0(self._exact_metrics)

    def _exact_metrics(self) -> dict[str, float]:
        parts = [self.nodes["stopping"], self.nodes["validation"]]
        stopping, validation = self.network.exact(torch.cat(parts)).split([len(nodes) for nodes in parts])
        return self._metrics({"stopping": stopping, "validation": validation}, Communicator())

    def identity(self) -> dict[str, Any]:
        """Batch size and numbers of neighbours."""
        return {"batches": {"batch_size": self.batch_size, "num_neighbors": list(self.network.num_neighbors)}}

    @torch.no_grad()
    def capped_rows(self) -> int:
        """Number of rows around one batch that lie farther out than the precision resolves."""
        return 0 if self.network.sampler is None else self.model.capped_rows(*self._around_a_batch())

    def _around_a_batch(self) -> tuple[Features, SparseMatrix]:
        """Features of the nodes around one batch, and the matrix of their edges."""
        assert self.network.sampler is not None
        sample = self.network.sampler.sample(self.nodes["train"][: self.batch_size])
        nodes, block = sample.nodes, sample.blocks[0]
        square = SparseMatrix(block.rows, block.cols, block.values, (len(nodes), len(nodes)))
        return take_rows(self.network.rows, nodes), square

    def collapsed(self) -> bool:
        """Whether too few units of the last hidden layer are active on the nodes around one batch."""
        if self.network.sampler is None:
            return super().collapsed()
        return self._too_few_active(self.model.tangent(*self._around_a_batch()))


@dataclass(frozen=True)
class MiniBatch:
    """Strategy of `fit` with a step for each mini-batch of training nodes and their sampled neighbours.

    Sums over sampled neighbours are unbiased (`kappagcn.sparse.NeighbourSampler`). Early stopping uses all neighbours
    of the stopping nodes. The processes of a group share each batch: all of them call `fit` with the same arguments,
    and rank 0 keeps the run folder. An epoch is one pass over the training nodes.

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
    >>> split, config = random_split(data.y, 0), TrainingSettings(epochs=5)
    >>> fit(KappaGCN(10, 2, "H4"), data, split, config, strategy=MiniBatch(40, (5, 3))).epochs
    5
    """

    batch_size: int = 512
    num_neighbors: int | Sequence[int] = 10
    inference_batch_size: int = BATCH
    group: ProcessGroup | Communicator | None = None

    def trainer(self, model: NodeClassifier, data: Data, split: Split, config: TrainingSettings) -> Trainer:
        """A trainer on mini-batches."""
        options = {name: value for name, value in vars(self).items() if name != "group"}
        task = MiniBatches(model, data, split, **options, communicator=Communicator.of(self.group))
        return MiniBatchTrainer(model, task, config, regularised=model.first_layer())
