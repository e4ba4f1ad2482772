"""Baselines of the κ-GCN: GCN, HGCN, and an MLP without the graph."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Unpack

from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.models.classifier import CommonOptions, NodeClassifier
from kappagcn.nn import HGCNConv, KappaGCNConv, KappaLinear
from kappagcn.nn.inputs import Adjacency, Features

__all__ = ["GCN", "HGCN", "MLP"]


def _sizes(
    in_channels: int, hidden_channels: int, num_layers: int, num_classes: int | None = None
) -> list[tuple[int, int]]:
    """Columns before and after each layer."""
    if not isinstance(hidden_channels, int) or hidden_channels < 1:
        raise GraphError(f"hidden_channels: expected a number of columns from 1, found {hidden_channels!r}.")
    outputs = [] if num_classes is None else [num_classes]
    return list(pairwise([in_channels, *[hidden_channels] * num_layers, *outputs]))


class GCN(NodeClassifier):
    """Graph convolutional network (Kipf and Welling 2017), on the same sparse products as the κ-GCN.

    Args:
        in_channels: Number of features.
        num_classes: Number of classes C; None for a network that ends in its last hidden layer.
        hidden_channels: Dimension of the hidden layers.
        adjacency_dropout: Dropout probability of entries of Â.
        adjacency_norm: Normalisation of the adjacency matrix: ``"symmetric"``, ``"row"`` or ``"none"``.
        bias: Whether convolutions have a bias.
        **common: Number of layers, dropout and activation, see `CommonOptions`.

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> GCN(10, 2)(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    name = "gcn"

    def __init__(
        self,
        in_channels: int,
        num_classes: int | None,
        hidden_channels: int = 16,
        *,
        adjacency_dropout: float = 0.0,
        adjacency_norm: str = "symmetric",
        bias: bool = True,
        **common: Unpack[CommonOptions],
    ) -> None:
        super().__init__(locals(), **common)
        layers = nn.ModuleList(
            KappaGCNConv(
                *size,
                manifold=0.0,
                normalize=adjacency_norm,
                aggregation="tangential",
                bias=bias,
                dropconnect=self.dropconnect,
                adjacency_dropout=adjacency_dropout,
            )
            for size in _sizes(in_channels, hidden_channels, self.options["num_layers"], num_classes)
        )
        self.hidden, self.output = (layers, None) if num_classes is None else (layers[:-1], layers[-1])


class HGCN(NodeClassifier):
    """Hyperbolic graph convolutional network (Chami et al. 2019) with their linear decoder.

    Args:
        in_channels: Number of features.
        num_classes: Number of classes C; None for a network that ends in its last hidden layer.
        hidden_channels: Dimension of the hidden spaces, each with a trained curvature of its own.
        curvature: Initial curvature κ, below 0.
        trainable: Whether curvatures are trained.
        attention: Whether edges have learned weights.
        at_node: Whether to aggregate in the tangent space at the node instead of the origin.
        adjacency_norm: Normalisation of the adjacency matrix: ``"row"`` (the authors), ``"symmetric"`` or ``"none"``.
        **common: Number of layers, dropout and activation, see `CommonOptions`.

    >>> len(HGCN(10, 2, num_layers=3).curvatures())
    3
    """

    name = "hgcn"
    output_aggregates = False

    def __init__(
        self,
        in_channels: int,
        num_classes: int | None,
        hidden_channels: int = 16,
        *,
        curvature: float = -1.0,
        trainable: bool = True,
        attention: bool = False,
        at_node: bool = False,
        adjacency_norm: str = "row",
        **common: Unpack[CommonOptions],
    ) -> None:
        super().__init__(locals(), **common)
        self.hidden = nn.ModuleList(
            HGCNConv(
                *size,
                curvature=curvature,
                trainable=trainable,
                attention=attention,
                at_node=at_node,
                normalize=adjacency_norm,
                dropconnect=self.dropconnect,
            )
            for size in _sizes(in_channels, hidden_channels, self.options["num_layers"])
        )
        self.manifold, self.needs_all_neighbors = self.hidden[-1].manifold, attention
        self.output = None if num_classes is None else KappaLinear(hidden_channels, num_classes)

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        # Not inherited: torch.compile treats bounds of curvatures as variables if networks with other bounds share it.
        return super().forward(x, edge_index, edge_weight)


class MLP(NodeClassifier):
    """Fully connected layers on the features alone, without the graph.

    Args:
        in_channels: Number of features.
        num_classes: Number of classes C; None for a network that ends in its last hidden layer.
        hidden_channels: Dimension of the hidden layers.
        **common: Number of layers, dropout and activation, see `CommonOptions`.

    >>> import torch
    >>> MLP(10, 2)(torch.zeros(5, 10)).shape
    torch.Size([5, 2])
    """

    name = "mlp"
    aggregates = False
    output_aggregates = False

    def __init__(
        self, in_channels: int, num_classes: int | None, hidden_channels: int = 16, **common: Unpack[CommonOptions]
    ) -> None:
        super().__init__(locals(), **common)
        sizes = _sizes(in_channels, hidden_channels, self.options["num_layers"], num_classes)
        layers = nn.ModuleList(KappaLinear(*size, dropconnect=self.dropconnect) for size in sizes)
        self.hidden, self.output = (layers, None) if num_classes is None else (layers[:-1], layers[-1])

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Any:
        """The edges, unchanged."""
        return edge_index
