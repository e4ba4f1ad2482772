"""Training tasks: a loss to minimise, and metrics after each epoch."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.nn.inputs import Features
from kappagcn.sparse import SparseMatrix

__all__ = ["NodeClassification", "Task", "inputs", "versions"]


class Task(Protocol):
    """A loss that a network is trained to minimise, and the metrics that decide on early stopping.

    >>> class Smallest:  # nothing to derive from: what has these three methods is a task
    ...     weight = torch.nn.Parameter(torch.ones(1))
    ...     def loss(self): return self.weight.square().sum()
    ...     def metrics(self): return {"size": self.loss().item()}
    ...     def watched(self, metrics): return metrics["size"], -metrics["size"]
    >>> Smallest().metrics()
    {'size': 1.0}
    """

    def loss(self) -> Tensor:
        """Training loss, a tensor without axes."""

    def metrics(self) -> dict[str, float]:
        """Metrics of an epoch."""

    def watched(self, metrics: dict[str, float]) -> tuple[float, float] | None:
        """The loss for early stopping, and the score, higher the better, whose best weights are kept.

        None in an epoch without an evaluation.
        """


class NodeClassification:
    """Cross-entropy on the training nodes; loss and accuracy on the stopping and validation nodes.

    Labels of test nodes are hidden before anything is computed. Without stopping nodes, training
    nodes decide on early stopping. Where outputs in training are those of evaluation, an epoch is one forward pass: the
    scores after one step give its metrics, and the loss of the next step.

    Args:
        model: The network.
        data: The graph, with labels.
        split: Nodes for training, stopping and validation.
        communicator: Connects the processes that share the nodes; one process by default.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = NodeClassification(model, data, random_split(data.y, 0))
    >>> with torch.no_grad():
    ...     sorted(task.metrics())
    ['stopping_accuracy', 'stopping_loss', 'validation_accuracy', 'validation_loss']
    """

    _kept: tuple[Tensor, list[int]] | None = None  # scores of the last metrics, and the versions of the weights

    def __init__(
        self, model: NodeClassifier, data: Data, split: Split, communicator: Communicator | None = None
    ) -> None:
        view = split.training_view(data)
        self.model, self.labels, self.communicator = model, view.y, communicator or Communicator()
        self.x, self.adjacency = inputs(model, view)
        stopping = split.stopping if len(split.stopping) else split.train
        self.nodes = {"train": split.train, "stopping": stopping, "validation": split.validation}
        self.counts = {name: len(nodes) for name, nodes in self.nodes.items()}

    def loss(self) -> Tensor:
        """Cross-entropy on the training nodes; those of all ranks add up to the mean."""
        return self._loss("train", self._training_scores()[self.nodes["train"]])

    def _training_scores(self) -> Tensor:
        """Scores of all nodes: those of the last metrics, unless weights have changed since."""
        scores, self._kept = self._kept, None
        if scores is not None and scores[1] == versions(self.model):
            return scores[0]
        computed: Tensor = self.model(self.x, self.adjacency)
        return computed

    def _is_kept(self) -> bool:
        """Whether the scores of the metrics are also those of the next training step."""
        return self.model.is_same_in_training

    def _loss(self, part: str, scores: Tensor) -> Tensor:
        """This rank's share of the mean loss over a part of the nodes."""
        return cross_entropy(scores, self.labels[self.nodes[part]], reduction="sum") / self.counts[part]

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy over the stopping and validation nodes of all ranks."""
        self._kept = None
        if self._is_kept():
            with torch.enable_grad():
                scores = self.model(self.x, self.adjacency)
            self._kept = scores, versions(self.model)
        else:
            scores = self.model(self.x, self.adjacency)
        parts = {name: scores.detach()[self.nodes[name]] for name in ("stopping", "validation")}
        return self._metrics(parts, self.communicator)

    def _metrics(self, scores: dict[str, Tensor], communicator: Communicator) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for part, rows in scores.items():
            if self.counts[part]:
                right = (rows.argmax(1) == self.labels[self.nodes[part]]).sum()
                loss, correct = communicator.all_reduce_sum(self._loss(part, rows), right)
                metrics |= {f"{part}_loss": loss, f"{part}_accuracy": correct / self.counts[part]}
        return metrics

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Loss and accuracy of the stopping nodes."""
        return metrics["stopping_loss"], metrics["stopping_accuracy"]

    def identity(self) -> dict[str, Any]:
        """Settings, beside network, data and configuration, that a resumed run must share."""
        return {}

    def collapsed(self) -> bool:
        """Whether fewer units of the last hidden layer than there are classes are active on any node.

        A unit of a ReLU layer that is 0 on every node gets no gradient and stays 0; the few remaining units cannot
        separate the classes.
        """
        return self._too_few_active(self.model.tangent(self.x, self.adjacency))

    def _too_few_active(self, rows: Tensor) -> bool:
        active = self.communicator.all_reduce_sum(*(rows != 0).any(0).long())
        return sum(count > 0 for count in active) < min(int(self.model.options["num_classes"]), rows.shape[1])

    def capped_rows(self) -> int:
        """Number of rows of all layers that lie farther out than the precision resolves."""
        return int(self.communicator.all_reduce_sum(self.model.capped_rows(self.x, self.adjacency))[0])


def versions(model: nn.Module) -> list[int]:
    """Numbers that differ as soon as a parameter or buffer has been changed or replaced."""
    return [number for t in (*model.parameters(), *model.buffers()) for number in (id(t), t._version)]


def inputs(model: NodeClassifier, data: Data) -> tuple[Features, Any]:
    """Features and adjacency matrix in the form that every epoch multiplies with."""
    x = data.x if data.x.layout == torch.strided else SparseMatrix.from_tensor(data.x)
    return x, model.adjacency(x, data.edge_index, data.get("edge_weight"))
