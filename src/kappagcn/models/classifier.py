"""Base of the networks: a list of steps, from features and a graph to logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypedDict

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.nn import KappaDropout
from kappagcn.nn.inputs import Adjacency, Features
from kappagcn.nn.prepared import as_features
from kappagcn.sparse import SparseMatrix

__all__ = ["ACTIVATIONS", "CommonOptions", "NodeClassifier", "Step"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "elu": nn.functional.elu,
    "none": lambda v: v,
}

PROBABILITIES = ("p", "dropout", "dropconnect", "adjacency_dropout")  # attributes of modules that drop something


class CommonOptions(TypedDict, total=False):
    """Options that all networks have.

    Attributes:
        num_layers: Number of hidden layers, 1 by default.
        dropout: Dropout probability of hidden rows, 0 by default.
        input_dropout: Dropout probability of features, 0 by default.
        dropconnect: Dropout probability of weights, 0 by default.
        act: Activation: ``"relu"`` (default), ``"tanh"``, ``"elu"`` or ``"none"``.

    >>> from kappagcn.models import GCN
    >>> options: CommonOptions = {"dropout": 0.5, "act": "tanh"}
    >>> GCN(10, 2, **options).options["act"]
    'tanh'
    """

    num_layers: int
    dropout: float
    input_dropout: float
    dropconnect: float
    act: str


class Step(NamedTuple):
    """A step of a network, with at most one product with the adjacency matrix.

    Attributes:
        run: Function of rows (N, D), and of a matrix (M, N) if the step aggregates, that returns rows (M, E).
        aggregates: Whether it multiplies with the adjacency matrix.
        needs_all_neighbors: Whether its result is wrong for a sample of the neighbours.

    >>> Step(torch.relu, aggregates=False).run(torch.tensor([[-1.0]]))
    tensor([[0.]])
    """

    run: Callable[..., Tensor]
    aggregates: bool
    needs_all_neighbors: bool = False


class NodeClassifier(nn.Module):
    """A network over the nodes of a graph: hidden layers in some space, and logits from the last of them.

    Args:
        arguments: Arguments of the constructor of the network, from its ``locals()``.
        num_layers, dropout, input_dropout, dropconnect, act: See `CommonOptions`.

    Attributes:
        hidden: The hidden layers.
        output: The layer from the last hidden layer to logits; None without classes.
        manifold: The space of the last hidden layer; None if it has none.
        options: The arguments that build the same network, as plain numbers and words.

    >>> from kappagcn.models import KappaGCN
    >>> model = KappaGCN(10, 2, "H4xS4")
    >>> isinstance(model, NodeClassifier), model.name, model.options["space"]
    (True, 'kappa-gcn', 'H4xS4')
    """

    name: ClassVar[str]
    hidden: Any  # an nn.ModuleList, whose items mypy cannot type
    output: Any  # an nn.Module, or None
    manifold: Stereographic | ProductManifold | None
    options: dict[str, Any]
    aggregates = True  # whether hidden layers multiply with the adjacency matrix
    output_aggregates = True  # whether the output layer does
    needs_all_neighbors = False
    needs_whole_graph = False  # whether it cannot be trained on sampled neighbours
    activates_last = True  # whether the last hidden layer has its activation

    def __init__(
        self,
        arguments: dict[str, Any],
        *,
        num_layers: int = 1,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        dropconnect: float = 0.0,
        act: str = "relu",
    ) -> None:
        super().__init__()
        if act not in ACTIVATIONS:
            raise GraphError(f"act: expected {', '.join(ACTIVATIONS)}, found {act!r}.")
        if num_layers < 1:
            raise GraphError(f"expected at least one hidden layer, found {num_layers}.")
        for name, p in (("dropout", dropout), ("input_dropout", input_dropout)):
            if not isinstance(p, Real) or not 0 <= p < 1:
                raise GraphError(f"{name}: expected a probability from 0 to below 1, found {p!r}.")
        own = {key: value for key, value in arguments.items() if key not in ("self", "__class__", "common")}
        common = {"dropout": dropout, "input_dropout": input_dropout, "dropconnect": dropconnect, "act": act}
        self.options = {**own, "num_layers": num_layers, **common}
        self.manifold, self.dropconnect = None, dropconnect
        self.act = ACTIVATIONS[act]
        self.dropout, self.input_dropout = KappaDropout(dropout), KappaDropout(input_dropout)

    def adjacency(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Any:
        """The matrix the network multiplies with, which can be passed as edge_index."""
        return self.hidden[0].adjacency(x, edge_index, edge_weight)

    def normalization(self) -> tuple[str, float | None]:
        """Normalisation of the adjacency matrix, and the weight of the self-loops that are added, None for none.

        >>> from kappagcn.models import GCN
        >>> GCN(10, 2).normalization()
        ('symmetric', 1.0)
        """
        layer = getattr(self, "propagation", self.hidden[0])
        return layer.normalize, layer.loop_weight

    def steps(self) -> list[Step]:
        """The network as steps: its hidden layers, then, where it has classes, its output.

        >>> from kappagcn.models import HGCN
        >>> [step.aggregates for step in HGCN(10, 2).steps()]  # its decoder looks at no neighbours
        [True, False]
        """
        hidden = [partial(self._hidden_step, i) for i in range(len(self.hidden))]
        steps = [Step(run, self.aggregates, self.needs_all_neighbors) for run in hidden]
        return [*steps, self.output_step()] if self.has_output else steps

    @property
    def is_same_in_training(self) -> bool:
        """Whether outputs in training are those of evaluation, without dropout.

        False for a class outside of this package with a `forward` of its own, unless it says otherwise.

        >>> from kappagcn.models import GCN
        >>> GCN(10, 2).is_same_in_training, GCN(10, 2, dropconnect=0.1).is_same_in_training
        (True, False)
        """
        modules = list(self.modules())
        probabilities = (vars(module).get(name, 0.0) for module in modules for name in PROBABILITIES)
        drops = any(p > 0 for p in probabilities)
        is_known = type(self).forward.__module__.partition(".")[0] == __name__.partition(".")[0]
        return is_known and not drops

    @property
    def has_output(self) -> bool:
        """Whether there are classes; otherwise the network ends in its last hidden layer."""
        return self.options.get("num_classes") is not None

    def output_step(self) -> Step:
        """The step from the last hidden layer to logits: dropout, then the output layer."""
        return Step(lambda v, *graph: self.output(self.dropout(v), *graph), self.output_aggregates)

    def _hidden_step(self, i: int, v: Features, *graph: SparseMatrix) -> Tensor:
        """One hidden layer with its dropout and activation, over the whole graph or over a block of its matrix."""
        layer = self.hidden[i]
        v = self.dropout(v) if i else self.input_dropout(v)
        at_node = getattr(layer, "at_node", False) or getattr(layer, "aggregation", "") == "tangential-node"
        if at_node and graph[0].shape[0] != v.shape[0]:
            # The layer needs the nodes themselves: extend the block to a square matrix, and keep its first rows.
            (block,) = graph
            square = SparseMatrix(block.rows, block.cols, block.values, (block.shape[1], block.shape[1]))
            return self._activated(i, layer(v, square)[: block.shape[0]])
        return self._activated(i, layer(v, *graph))

    def _activated(self, i: int, v: Tensor) -> Tensor:
        return self.act(v) if self.activates_last or i < len(self.hidden) - 1 else v

    def _run(self, steps: Sequence[Step], x: Features, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Steps over the whole graph."""
        adjacency = self.adjacency(x, edge_index, edge_weight)
        return _run_steps(steps, as_features(x), [adjacency] * len(steps))

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of the classes, (N, C); without classes the last hidden layer, (N, D).

        `edge_index` is needed by all networks except `MLP`.
        """
        return self._run(self.steps(), x, edge_index, edge_weight)

    def forward_blocks(self, x: Features, blocks: Sequence[SparseMatrix]) -> Tensor:
        """Logits of the seeds of a sample, (B, C), or without classes their last hidden layer.

        Args:
            x: Features of the nodes of the sample, (M, D).
            blocks: A matrix for each step that aggregates, as in `kappagcn.sparse.Sample`.
        """
        steps = self.steps()
        hops = sum(step.aggregates for step in steps)
        if hops != len(blocks):
            raise GraphError(f"blocks: expected {hops}, one for each product with the graph, found {len(blocks)}.")
        return _run_steps(steps, x, blocks)

    def tangent(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer as tangent vectors at the origin, (N, D)."""
        return self._run(self.steps()[: len(self.hidden)], x, edge_index, edge_weight)

    def embed(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer as points of its space, (N, D)."""
        v = self.tangent(x, edge_index, edge_weight)
        return v if self.manifold is None else self.manifold.expmap0(v)

    def first_layer(self) -> list[nn.Parameter]:
        """Parameters with L² regularisation."""
        layer = self.hidden[0]
        return [getattr(layer, "lin", layer).weight]

    def curvatures(self) -> list[Curvature]:
        """All curvatures, trained or not, in the order of layers and factors."""
        return [module for module in self.modules() if isinstance(module, Curvature)]

    def capped_rows(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> int:
        """Number of hidden rows that lie farther out than the precision resolves, and were taken as just inside."""
        return 0


def _run_steps(steps: Sequence[Step], v: Any, blocks: Sequence[SparseMatrix]) -> Tensor:
    remaining = iter(blocks)
    for step in steps:
        v = step.run(v, next(remaining)) if step.aggregates else step.run(v)
    rows: Tensor = v
    return rows
