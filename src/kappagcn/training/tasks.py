"""Training tasks: a loss to minimise, metrics after each epoch, and checks of the graph of a network."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from kappagcn.errors import ConfigError, described
from kappagcn.models import NodeClassifier
from kappagcn.nn.inputs import Features
from kappagcn.sparse import MappedAdjacency, SparseMatrix

LAYOUTS = (torch.strided, torch.sparse_csr, torch.sparse_coo)


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


def check_graph(model: NodeClassifier, data: Data) -> None:
    """Refuse a graph whose features or edges do not fit the network."""
    if not isinstance(model, NodeClassifier):
        raise ConfigError(
            f"expected a network of kappagcn.models, found {type(model).__name__}; Trainer takes any with a task."
        )
    if not isinstance(data, Data):
        raise ConfigError(f"expected a graph as PyG's Data, found {type(data).__name__}.")
    x = data.get("x")
    if x is None:
        raise ConfigError("expected features, data.x (N, D), found none. A one-hot matrix torch.eye(N) would do.")
    if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point() or x.layout not in LAYOUTS:
        form = f"{x.dtype} {tuple(x.shape)} {x.layout}" if isinstance(x, Tensor) else type(x).__name__
        raise ConfigError(
            f"expected features as a tensor (N, D) of floating-point numbers, dense, CSR or COO, found {form}."
        )
    dtype, in_channels = next(model.parameters()).dtype, model.options.get("in_channels")
    if x.dtype != dtype:
        raise ConfigError(
            f"expected features of {dtype}, as the network's weights, found {x.dtype}. Use x.to({dtype})."
        )
    values = x if x.layout == torch.strided else x.values() if x.layout == torch.sparse_csr else x.coalesce().values()
    bad = ~torch.isfinite(values)
    if bad.any():
        rows = f", first in row {int(bad.any(1).nonzero()[0])}" if x.layout == torch.strided else ""
        raise ConfigError(
            f"expected finite features, found {int(bad.sum())} entries that are NaN or infinite{rows}. Fill them first."
        )
    if in_channels is not None and x.shape[1] != in_channels:
        raise ConfigError(f"expected {in_channels} features, as the network takes, found {x.shape[1]}.")
    edges = data.get("edge_index")
    if not isinstance(edges, Tensor) or edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise ConfigError("expected edges, data.edge_index (2, E) of integers, found none of that form.")
    if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < x.shape[0]:
        raise ConfigError(
            f"expected edges between nodes 0 and {x.shape[0] - 1}, found {int(edges.min())} to {int(edges.max())} in "
            f"edge_index. Features have one row for each of {x.shape[0]} nodes."
        )
    weight = data.get("edge_weight")
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != edges.shape[1:]):
        raise ConfigError(
            f"expected one weight per edge, data.edge_weight ({edges.shape[1]},), found {described(weight)}."
        )
    if weight is not None and not (torch.isfinite(weight) & (weight >= 0)).all():
        raise ConfigError("expected finite edge weights from 0, found others in data.edge_weight.")
