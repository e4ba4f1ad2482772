"""The networks the κ-GCN is measured against: GCN, HGCN, and an MLP that does not look at the graph."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.models.classifier import Adjacency, NodeClassifier
from kappagcn.nn import HGCNConv, KappaGCNConv, KappaLinear, SparseMatrix
from kappagcn.nn.inputs import Features

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
        sizes = [*_sizes(in_channels, hidden, layers), (hidden, num_classes)]
        self.convs = nn.ModuleList(
            KappaGCNConv(
                *size,
                0.0,
                normalize=normalize,
                aggregation="tangential",
                bias=bias,
                dropconnect=dropconnect,
                adjacency_dropout=adjacency_dropout,
            )
            for size in sizes
        )

    def _convs(self) -> list[KappaGCNConv]:
        return [cast(KappaGCNConv, conv) for conv in self.convs]

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> SparseMatrix:
        """Â, to be made once and given as edge_index."""
        return self._convs()[0].adjacency(x, edge_index, edge_weight)

    def tangent(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer, (N, hidden)."""
        return self._through(self._convs()[:-1], x, self.adjacency(x, edge_index, edge_weight))

    def forward(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        adjacency = self.adjacency(x, edge_index, edge_weight)
        scores: Tensor = self._convs()[-1](self.dropout(self.tangent(x, adjacency)), adjacency)
        return scores

    def first_layer(self) -> list[nn.Parameter]:
        """Weights of the first convolution."""
        return [self._convs()[0].weight]


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
        self.convs = nn.ModuleList(
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
        self.manifold = self._convs()[-1].manifold
        self.decoder = KappaLinear(hidden, num_classes)

    def _convs(self) -> list[HGCNConv]:
        return [cast(HGCNConv, conv) for conv in self.convs]

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> SparseMatrix:
        """Â, to be made once and given as edge_index."""
        return self._convs()[0].adjacency(x, edge_index, edge_weight)

    def tangent(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer as tangent vectors at the origin, (N, hidden)."""
        return self._through(self._convs(), x, self.adjacency(x, edge_index, edge_weight))

    def forward(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        scores: Tensor = self.decoder(self.dropout(self.tangent(x, edge_index, edge_weight)))
        return scores

    def first_layer(self) -> list[nn.Parameter]:
        """Weights of the first convolution."""
        return [self._convs()[0].weight]


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
        self.linears = nn.ModuleList(KappaLinear(*size, dropconnect=dropconnect) for size in sizes)

    def _linears(self) -> list[KappaLinear]:
        return [cast(KappaLinear, layer) for layer in self.linears]

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> None:
        """None: the graph is not looked at."""

    def tangent(self, x: Features, edge_index: Adjacency | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer, (N, hidden)."""
        return self._through(self._linears()[:-1], x)

    def forward(self, x: Features, edge_index: Adjacency | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        scores: Tensor = self._linears()[-1](self.dropout(self.tangent(x)))
        return scores

    def first_layer(self) -> list[nn.Parameter]:
        """Weights of the first layer."""
        return [self._linears()[0].weight]
