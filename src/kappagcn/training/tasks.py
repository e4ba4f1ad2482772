"""Training tasks: a loss to minimise, and metrics after each epoch."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from kappagcn.models import NodeClassifier
from kappagcn.nn.inputs import Features
from kappagcn.sparse import MappedAdjacency, SparseMatrix

__all__ = ["Task", "inputs", "mapped_adjacency", "versions"]


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


def versions(model: nn.Module) -> list[int]:
    """Numbers that differ as soon as a parameter or buffer has been changed or replaced."""
    return [number for t in (*model.parameters(), *model.buffers()) for number in (id(t), t._version)]


def inputs(model: NodeClassifier, data: Data) -> tuple[Features, Any]:
    """Features and adjacency matrix in the form that every epoch multiplies with."""
    if isinstance(data.edge_index, MappedAdjacency):
        return data.x, mapped_adjacency(model, data.edge_index)
    x = data.x if data.x.layout == torch.strided else SparseMatrix.from_tensor(data.x)
    return x, model.adjacency(x, data.edge_index, data.get("edge_weight"))


def mapped_adjacency(model: NodeClassifier, adjacency: MappedAdjacency) -> MappedAdjacency | None:
    """The normalised adjacency that a network multiplies with; None for a network without a graph."""
    if not (model.aggregates or hasattr(model, "propagation")):
        return None
    return adjacency.normalized(*model.normalization(), dtype=next(model.parameters()).dtype)
