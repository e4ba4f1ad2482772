"""The networks the κ-GCN is measured against: GCN, HGCN, and an MLP that does not look at the graph."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.models.classifier import NodeClassifier
from kappagcn.nn import HGCNConv, KappaGCNConv, KappaLinear
from kappagcn.nn.inputs import Adjacency, Features

__all__ = ["GCN", "HGCN", "MLP"]


def _sizes(in_channels: int, hidden: int, layers: int) -> list[tuple[int, int]]:
    if not isinstance(hidden, int):
        raise GraphError(f"hidden: expected a number of columns, found {hidden!r}.")
    if layers < 1 or hidden < 1:
        raise GraphError(f"expected at least one hidden layer of at least one column, found {layers} of {hidden}.")
    return list(pairwise([in_channels, *[hidden] * layers]))


class GCN(NodeClassifier):
    """Graph convolutional network (Kipf and Welling 2017), on the same sparse products as the κ-GCN.

    Args:
        in_channels: Columns of the features.
        num_classes: C.
        hidden: Columns of the hidden layers.
        layers: How many hidden layers.
        dropout: Of hidden rows, in training.
        input_dropout: Of the features.
        dropconnect: Of the weights.
        adjacency_dropout: Of the entries of Â.
        activation: ``"relu"``, ``"tanh"``, ``"elu"`` or ``"none"``.
        normalize: ``"symmetric"``, ``"row"`` or ``"none"``.
        bias: Of the convolutions.

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> GCN(10, 2)(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    name = "gcn"

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        hidden: int = 16,
        *,
        layers: int = 1,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        dropconnect: float = 0.0,
        adjacency_dropout: float = 0.0,
        activation: str = "relu",
        normalize: str = "symmetric",
        bias: bool = True,
    ) -> None:
        super().__init__(locals(), dropout=dropout, input_dropout=input_dropout, activation=activation)
        *inner, self.output = (
            KappaGCNConv(
                *size,
                0.0,
                normalize=normalize,
                aggregation="tangential",
                bias=bias,
                dropconnect=dropconnect,
                adjacency_dropout=adjacency_dropout,
            )
            for size in [*_sizes(in_channels, hidden, layers), (hidden, num_classes)]
        )
        self.hidden = nn.ModuleList(inner)

    def forward(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        adjacency = self.adjacency(x, edge_index, edge_weight)
        scores: Tensor = self.output(self.dropout(self.tangent(x, adjacency)), adjacency)
        return scores


class HGCN(NodeClassifier):
    """Hyperbolic graph convolutional network (Chami et al. 2019) with their linear decoder.

    Args:
        in_channels: Columns of the features.
        num_classes: C.
        hidden: Dimension of the hidden spaces, each with a trained curvature of its own.
        layers: How many hidden layers.
        curvature: κ at the start, below 0.
        trainable: Whether curvatures are trained.
        attention: Whether edges have learned weights.
        at_node: Aggregate in the tangent space at the node instead of the origin.
        dropout: Of hidden rows, in training.
        input_dropout: Of the features.
        dropconnect: Of the weights.
        activation: ``"relu"``, ``"tanh"``, ``"elu"`` or ``"none"``.
        normalize: ``"row"`` (theirs), ``"symmetric"`` or ``"none"``.

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> HGCN(10, 2)(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    name = "hgcn"

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        hidden: int = 16,
        *,
        layers: int = 1,
        curvature: float = -1.0,
        trainable: bool = True,
        attention: bool = False,
        at_node: bool = False,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        dropconnect: float = 0.0,
        activation: str = "relu",
        normalize: str = "row",
    ) -> None:
        super().__init__(locals(), dropout=dropout, input_dropout=input_dropout, activation=activation)
        self.hidden = nn.ModuleList(
            HGCNConv(
                *size,
                curvature=curvature,
                trainable=trainable,
                attention=attention,
                at_node=at_node,
                normalize=normalize,
                dropconnect=dropconnect,
            )
            for size in _sizes(in_channels, hidden, layers)
        )
        self.manifold = self.hidden[-1].manifold
        self.decoder = KappaLinear(hidden, num_classes)

    def forward(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        scores: Tensor = self.decoder(self.dropout(self.tangent(x, edge_index, edge_weight)))
        return scores


class MLP(NodeClassifier):
    """Fully connected layers on the features alone: what the graph adds is the difference to this.

    Args:
        in_channels: Columns of the features.
        num_classes: C.
        hidden: Columns of the hidden layers.
        layers: How many hidden layers.
        dropout: Of hidden rows, in training.
        input_dropout: Of the features.
        dropconnect: Of the weights.
        activation: ``"relu"``, ``"tanh"``, ``"elu"`` or ``"none"``.

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> MLP(10, 2)(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    name = "mlp"

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        hidden: int = 16,
        *,
        layers: int = 1,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        dropconnect: float = 0.0,
        activation: str = "relu",
    ) -> None:
        super().__init__(locals(), dropout=dropout, input_dropout=input_dropout, activation=activation)
        sizes = [*_sizes(in_channels, hidden, layers), (hidden, num_classes)]
        *inner, self.output = (KappaLinear(*size, dropconnect=dropconnect) for size in sizes)
        self.hidden = nn.ModuleList(inner)

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Any:
        """The edges as they are: the graph is not looked at."""
        return edge_index

    def tangent(self, x: Features, edge_index: Adjacency | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer, (N, hidden)."""
        return self._through(self.hidden, x)

    def forward(self, x: Features, edge_index: Adjacency | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        scores: Tensor = self.output(self.dropout(self.tangent(x)))
        return scores
