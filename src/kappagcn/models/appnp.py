"""APPNP in a space of constant curvature: layers on the features alone, then propagation; APPNP itself if flat."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from kappagcn.geometry import ProductManifold
from kappagcn.models.classifier import CommonOptions, NodeClassifier, Step
from kappagcn.nn import KappaAPPNP, KappaLinear, KappaLogits, capped_rows
from kappagcn.nn.inputs import Adjacency, Features, observe_rows, relative_space
from kappagcn.sparse import SparseMatrix

__all__ = ["APPNP"]


class APPNP(NodeClassifier):
    r"""κ-APPNP: fully connected layers into a space, personalised PageRank by κ-midpoints in it, then κ-logits.

    In flat space, ``"E64"``, this is APPNP (Gasteiger et al. 2019) with the bias of its last layer added after the
    propagation; logits are then computed first, so that only their columns are propagated.

    Args:
        in_channels: Number of features.
        num_classes: Number of classes C; None for a network that ends in the propagated points.
        space: Signature of the hidden layers, whose points are propagated, such as ``"H16"`` or ``"H8xS8"``.
        trainable: Whether curvatures are trained.
        relative: Whether curvatures without a number in the signature are in units of the rows and start near zero;
            otherwise they start at ±1.
        bias: Whether hidden layers have a bias. Published APPNP has none: with small features, Adam's first steps of
            the biases could set ReLU units to 0 on every node.
        steps: Number K of propagation steps.
        alpha: Share α of a node's own point in each step.
        adjacency_dropout: Dropout probability of entries of Â, drawn in each propagation step.
        adjacency_norm: Normalisation of the adjacency matrix: ``"symmetric"``, ``"row"`` or ``"none"``.
        **common: Number of layers, dropout and activation, see `CommonOptions`.

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> APPNP(10, 2, "H4xS4")(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    name = "appnp"
    aggregates = False
    needs_whole_graph = True

    def __init__(
        self,
        in_channels: int,
        num_classes: int | None,
        space: str = "H16",
        *,
        trainable: bool = True,
        relative: bool = False,
        bias: bool = False,
        steps: int = 10,
        alpha: float = 0.1,
        adjacency_dropout: float = 0.0,
        adjacency_norm: str = "symmetric",
        **common: Unpack[CommonOptions],
    ) -> None:
        super().__init__(locals(), **common)
        manifold = (relative_space if relative else ProductManifold.from_signature)(space, trainable=trainable)
        sizes = [in_channels, *[manifold.dim] * self.options["num_layers"]]
        self.hidden = nn.ModuleList(
            KappaLinear(first, second, bias=bias, dropconnect=self.dropconnect) for first, second in pairwise(sizes)
        )
        self.manifold = manifold
        self.propagation = KappaAPPNP(
            steps, alpha, manifold=manifold, dropout=adjacency_dropout, normalize=adjacency_norm
        )
        self.logits = None
        if num_classes is not None:
            self.logits = KappaLogits(manifold.dim, num_classes, manifold, bias=True, dropconnect=self.dropconnect)
        self.flat = all(c.value == 0 and not c.trainable for c in self.curvatures())

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> SparseMatrix:
        """The matrix the network multiplies with, which can be passed as edge_index."""
        return self.propagation.adjacency(x, edge_index, edge_weight)

    def steps(self) -> list[Step]:
        """Hidden layers, then the propagation, with logits where there are classes."""
        return [*super().steps()[: len(self.hidden)], self.output_step()]

    def output_step(self) -> Step:
        """Propagation and logits."""
        return Step(self._propagated, aggregates=True)

    def _propagated(self, v: Tensor, adjacency: SparseMatrix) -> Tensor:
        v = self.dropout(v)
        if self.logits is None:
            return self._propagate(v, adjacency)
        if self.flat:
            assert self.logits.bias is not None
            return self.propagation.page_rank(adjacency).product(self.logits.distances(v)) + self.logits.bias
        rows: Tensor = self.logits(self._propagate(v, adjacency))
        return rows

    def _propagate(self, v: Tensor, adjacency: SparseMatrix) -> Tensor:
        observe_rows(v, self.propagation.manifold, adjacency)
        rows: Tensor = self.propagation(v, adjacency)
        return rows

    def tangent(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        """The propagated points, whose distances to hyperplanes are the logits, as tangent vectors, (N, D)."""
        adjacency = self.adjacency(x, edge_index, edge_weight)
        return self._propagate(super().tangent(x, adjacency), adjacency)

    @torch.no_grad()
    def capped_rows(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> int:
        """Number of propagated rows that lie farther out than float64 resolves."""
        adjacency = self.adjacency(x, edge_index, edge_weight)
        steps = self.propagation.page_rank(adjacency)
        return capped_rows(super().tangent(x, adjacency), steps, self.propagation.manifold)
