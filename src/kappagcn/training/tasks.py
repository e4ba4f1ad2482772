"""What is trained: a loss to descend, and numbers to look at after each epoch."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix

__all__ = ["NodeClassification", "Task"]

Features = Tensor | SparseMatrix


class Task(Protocol):
    """Something a network can be trained for.

    >>> class Smallest:  # nothing to derive from: what has these three methods is a task
    ...     weight = torch.nn.Parameter(torch.ones(1))
    ...     def loss(self): return self.weight.square().sum()
    ...     def metrics(self): return {"size": self.loss().item()}
    ...     def watched(self, metrics): return metrics["size"], -metrics["size"]
    >>> Smallest().metrics()
    {'size': 1.0}
    """

    def loss(self) -> Tensor:
        """The training loss, as a tensor without axes."""

    def metrics(self) -> dict[str, float]:
        """Numbers to keep for each epoch."""

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """The loss that decides when to stop, and the score, higher the better, whose best weights are kept."""


class NodeClassification:
    """Cross-entropy on the training nodes; loss and accuracy on the stopping and validation nodes. Test nodes unseen.

    Args:
        model: The network.
        data: The graph; labels of test nodes are hidden from it before anything is computed.
        split: Which nodes are for what. Without stopping nodes the training loss decides.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> task = NodeClassification(model, data, random_split(data.y, 0))
    >>> with torch.no_grad():
    ...     sorted(task.metrics())
    ['stopping_accuracy', 'stopping_loss', 'validation_accuracy', 'validation_loss']
    """

    def __init__(self, model: NodeClassifier, data: Data, split: Split) -> None:
        view = split.training_view(data)
        self.model, self.split, self.labels = model, split, view.y
        self.x, self.adjacency = inputs(model, view)

    def scores(self) -> Tensor:
        """Logits of all nodes."""
        scores: Tensor = self.model(self.x, self.adjacency)
        return scores

    def loss(self) -> Tensor:
        """Cross-entropy on the training nodes."""
        return self._loss(self.scores(), self.split.train)

    def _loss(self, scores: Tensor, nodes: Tensor) -> Tensor:
        return cross_entropy(scores[nodes], self.labels[nodes])

    def _accuracy(self, scores: Tensor, nodes: Tensor) -> float:
        return float((scores[nodes].argmax(1) == self.labels[nodes]).double().mean())

    def metrics(self) -> dict[str, float]:
        """Loss and accuracy where the split has nodes for it."""
        scores = self.scores()
        deciding = self.split.stopping if len(self.split.stopping) else self.split.train
        metrics = {"stopping_loss": float(self._loss(scores, deciding))}
        metrics["stopping_accuracy"] = self._accuracy(scores, deciding)
        if len(self.split.validation):
            metrics["validation_loss"] = float(self._loss(scores, self.split.validation))
            metrics["validation_accuracy"] = self._accuracy(scores, self.split.validation)
        return metrics

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Loss and accuracy of the stopping nodes."""
        return metrics["stopping_loss"], metrics["stopping_accuracy"]


def inputs(model: NodeClassifier, data: Data) -> tuple[Features, SparseMatrix | Tensor]:
    """Features and matrix in the form that every epoch multiplies with, made once."""
    x = data.x if data.x.layout == torch.strided else SparseMatrix.from_tensor(data.x)
    return x, model.adjacency(x, data.edge_index, data.get("edge_weight"))
