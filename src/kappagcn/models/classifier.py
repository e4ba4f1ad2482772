"""What all node models have in common: features and a graph in, logits out; their embedding; their curvatures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.models.steps import Step
from kappagcn.nn import KappaDropout
from kappagcn.nn.inputs import Adjacency, Features
from kappagcn.sparse import SparseMatrix

__all__ = ["ACTIVATIONS", "NodeClassifier"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "elu": nn.functional.elu,
    "none": lambda v: v,
}


class NodeClassifier(nn.Module):
    """A network over the nodes of a graph, with one hidden representation in some space and logits from it.

    Attributes:
        hidden: The hidden layers, each of which can prepare sparse features and, but for the MLP's, an adjacency.
        manifold: The space of the last hidden layer, None where there is no notion of one.
        options: The arguments that build the same network, as plain numbers and words.

    >>> from kappagcn.models import KappaGCN
    >>> model = KappaGCN(10, 2, "H4xS4")
    >>> isinstance(model, NodeClassifier), model.name, model.options["space"]
    (True, 'kappa-gcn', 'H4xS4')
    """

    name: ClassVar[str]
    hidden: Any  # an nn.ModuleList, whose items mypy knows nothing of
    manifold: Stereographic | ProductManifold | None
    options: dict[str, Any]

    def __init__(self, options: dict[str, Any], *, dropout: float, input_dropout: float, act: str) -> None:
        super().__init__()
        if act not in ACTIVATIONS:
            raise GraphError(f"act: expected {', '.join(ACTIVATIONS)}, found {act!r}.")
        for name, p in (("dropout", dropout), ("input_dropout", input_dropout)):
            if not isinstance(p, Real) or not 0 <= p < 1:
                raise GraphError(f"{name}: expected a probability from 0 to below 1, found {p!r}.")
        self.options = {key: value for key, value in options.items() if key not in ("self", "__class__")}
        self.manifold = None
        self.act = ACTIVATIONS[act]
        self.dropout, self.input_dropout = KappaDropout(dropout), KappaDropout(input_dropout)

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Any:
        """The SparseMatrix the network multiplies with, to be made once and given as edge_index."""
        return self.hidden[0].adjacency(x, edge_index, edge_weight)

    def tangent(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer as tangent vectors at the origin, (N, D)."""
        return self._through(self.hidden, x, self.adjacency(x, edge_index, edge_weight))

    def _through(self, layers: Any, x: Features, *graph: Adjacency) -> Tensor:
        """Hidden layers one after the other, each with the activation, with dropout between them."""
        v = self.input_dropout(self.hidden[0].features(x))
        for i, layer in enumerate(layers):
            v = self.act(layer(self.dropout(v) if i else v, *graph))
        rows: Tensor = v
        return rows

    def steps(self) -> list[Step]:
        """The network as steps, for mini-batches and for inference layer by layer.

        >>> from kappagcn.models import HGCN
        >>> [step.aggregates for step in HGCN(10, 2).steps()]  # its decoder looks at no neighbours
        [True, False]
        """
        return [Step(partial(self._hidden_step, i), aggregates=True) for i in range(len(self.hidden))]

    def _hidden_step(self, i: int, v: Features, *graph: SparseMatrix) -> Tensor:
        """One hidden layer with its dropout and activation, over a block of the adjacency matrix."""
        layer = self.hidden[i]
        v = self.dropout(v) if i else self.input_dropout(v)
        if graph and (getattr(layer, "at_node", False) or getattr(layer, "aggregation", "") == "tangential-node"):
            # The node itself is looked at: the block as a square one, of which the first rows are wanted.
            (block,) = graph
            square = SparseMatrix(block.rows, block.cols, block.values, (block.shape[1], block.shape[1]))
            return self.act(layer(v, square)[: block.shape[0]])
        return self.act(layer(v, *graph))

    def embed(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer as points of its space, (N, D)."""
        v = self.tangent(x, edge_index, edge_weight)
        return v if self.manifold is None else self.manifold.expmap0(v)

    def first_layer(self) -> list[nn.Parameter]:
        """The weights that L² regularisation looks at."""
        return [self.hidden[0].weight]

    def curvatures(self) -> list[Curvature]:
        """All curvatures, trained or not, in the order of layers and factors."""
        return [module for module in self.modules() if isinstance(module, Curvature)]

    def capped_rows(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> int:
        """How many hidden rows lie farther out than the precision resolves, and were taken as just inside."""
        return 0
