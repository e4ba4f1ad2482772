"""KappaGCN: the paper's network, κ-GCN for one space and Prod-GCN for a product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.models.classifier import CommonOptions, NodeClassifier, Step
from kappagcn.nn import KappaGCNConv, KappaLinear, KappaLogits, aggregate, capped_rows
from kappagcn.nn.inputs import Adjacency, Features, relative_space
from kappagcn.sparse import SparseMatrix

__all__ = ["OUTPUTS", "KappaGCN"]

OUTPUTS = ("paper", "paper-bias", "midpoint")


class KappaGCN(NodeClassifier):
    r"""Layers of κ-convolutions and a κ-logit layer (section 3 of arXiv:1911.05076).

        H⁽ˡ⁺¹⁾ = σ^⊗(Â ⊠ (H⁽ˡ⁾ ⊗ W⁽ˡ⁾)),    Y = softmax(Â logits(H⁽ᴸ⁾)).

    The average over neighbours multiplies the offsets of hyperplanes by the row sums of Â, which grow with the degree.
    Two other forms of `output` add a bias b instead; ℓ are the logits of hyperplanes through the origin:

        ``"paper"``: Â logits(H),    ``"paper-bias"``: Â ℓ(H) + b,    ``"midpoint"``: ℓ(Â ⊠ H) + b.

    For κ = 0 both of these are the output of a GCN, and are trained in the same way.

    Args:
        in_channels: Number of features.
        num_classes: Number of classes C; None for a network that ends in its last hidden layer.
        space: Signature of the hidden layers, such as ``"H16"`` or ``"H8xS8"``, shared by them with its curvatures; or
            one signature for each layer, which then has curvatures of its own.
        trainable: Whether curvatures are trained.
        relative: Whether curvatures without a number in the signature are in units of the rows, as in `KappaGCNConv`,
            and start near zero; otherwise they start at ±1.
        output: Form of the output layer, as above.
        self_features: Whether a fully connected layer on a node's own features adds its logits, for graphs whose
            neighbours are of other classes (as H2GCN separates a node from its neighbours); Â then has no self-loops.
        split_input: Whether each factor of a product gets its equal share of the features (the paper) or all of them.
        adjacency_dropout: Dropout probability of entries of Â.
        adjacency_norm: Normalisation of the adjacency matrix: ``"symmetric"``, ``"row"`` or ``"none"``.
        aggregation: Aggregation of neighbours, as in `KappaGCNConv`.
        bias: Whether convolutions have a bias.
        double: Whether to aggregate in float64.
        **common: Number of layers, dropout and activation, see `CommonOptions`.

    Shapes: x (N, in_channels), tangent vectors at the origin; see `kappagcn.nn.TangentFeatures` → (N, C).

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> model = KappaGCN(10, 2, "H4xS4")
    >>> model(data.x, data.edge_index).shape, model.embed(data.x, data.edge_index).shape
    (torch.Size([1000, 2]), torch.Size([1000, 8]))
    """

    name = "kappa-gcn"

    def __init__(
        self,
        in_channels: int,
        num_classes: int | None,
        space: str | Sequence[str] = "H16",
        *,
        trainable: bool = True,
        relative: bool = False,
        output: str = "paper",
        self_features: bool = False,
        split_input: bool = False,
        adjacency_dropout: float = 0.0,
        adjacency_norm: str = "symmetric",
        aggregation: str = "midpoint",
        bias: bool = True,
        double: bool = False,
        **common: Unpack[CommonOptions],
    ) -> None:
        super().__init__(locals(), **common)
        num_layers = self.options["num_layers"]
        spaces = [space] if isinstance(space, str) else space
        if not isinstance(spaces, Sequence) or not all(isinstance(each, str) for each in spaces):
            raise GraphError(f'space: expected a signature such as "H16", or a list of them, found {space!r}.')
        if not isinstance(space, str) and spaces and num_layers not in (1, len(spaces)):
            raise GraphError(f"num_layers: expected {len(space)}, as many as there are signatures, found {num_layers}.")
        if not spaces:
            raise GraphError("expected at least one hidden layer, found 0.")
        if output not in OUTPUTS:
            raise GraphError(f"output: expected {', '.join(OUTPUTS)}, found {output!r}.")
        make = relative_space if relative else ProductManifold.from_signature
        manifolds = [make(each, trainable=trainable) for each in spaces]
        if isinstance(space, str):
            manifolds = manifolds * num_layers  # layers share one space with its curvatures
        self.manifold = manifolds[-1]
        sizes = [in_channels, *(manifold.dim for manifold in manifolds)]
        self.hidden = nn.ModuleList(
            KappaGCNConv(
                sizes[i],
                manifold.dim,
                manifold=manifold,
                normalize=adjacency_norm,
                add_self_loops=False if self_features else None,
                aggregation=aggregation,
                bias=bias,
                dropconnect=self.dropconnect,
                adjacency_dropout=adjacency_dropout,
                split_input=split_input and i == 0 and manifold.num_factors > 1,
                double=double,
            )
            for i, manifold in enumerate(manifolds)
        )
        self.logits, self.own, self.own_logits = None, None, None
        if num_classes is not None:
            biased = output != "paper"
            dropped = self.dropconnect if biased else 0.0
            self.logits = KappaLogits(sizes[-1], num_classes, manifolds[-1], bias=biased, dropconnect=dropped)
            if biased:  # drawn twice, as in a convolution: with one seed this network and GCN start from equal weights
                self.logits.reset_parameters()
        if num_classes is not None and self_features:
            self.own = KappaLinear(in_channels, sizes[-1], dropconnect=self.dropconnect)
            self.own_logits = KappaLinear(sizes[-1], num_classes, bias=output == "paper", dropconnect=self.dropconnect)
        self.output, self.adjacency_dropout, self.double_precision = output, adjacency_dropout, double

    def first_layer(self) -> list[nn.Parameter]:
        """Parameters with L² regularisation."""
        return [*super().first_layer(), *([] if self.own is None else [self.own.weight])]

    @property
    def has_output(self) -> bool:
        """Whether there are classes."""
        return self.logits is not None

    def _hidden_step(self, i: int, v: Features, *graph: SparseMatrix) -> Tensor:
        """A hidden layer; columns beyond those of the space are the nodes' own features."""
        if self.own is None or self.logits is None:
            return super()._hidden_step(i, v, *graph)
        (block,) = graph
        if i == 0:
            v = self.input_dropout(v)
            inner, own = self.act(self.hidden[0](v, block)), self.act(self.own(v))
        else:
            assert isinstance(v, Tensor)  # a hidden layer's rows
            width = self.hidden[i].in_channels
            inner, own = super()._hidden_step(i, v[:, :width], block), v[:, width:]
        return torch.cat([inner, own[: block.shape[0]]], 1)  # the first rows of a block's nodes are its targets

    def output_step(self) -> Step:
        """Logits from neighbours, and from own features where they are separate."""
        return Step(self._output, aggregates=True)

    def _output(self, v: Tensor, block: SparseMatrix) -> Tensor:
        assert self.logits is not None
        if self.own_logits is None:
            return self._neighbour_logits(v, block)
        width = self.logits.normals.shape[1]
        own: Tensor = self.own_logits(self.dropout(v[: block.shape[0], width:]))
        return self._neighbour_logits(v[:, :width], block) + own

    def _neighbour_logits(self, v: Tensor, block: SparseMatrix) -> Tensor:
        assert self.logits is not None
        dropped = self.adjacency_dropout if self.training else 0.0
        if self.output == "paper":
            block = block.dropout(dropped)
            return block.product(self.logits(self.dropout(v)))
        v = self.dropout(v)
        if self.output == "midpoint":
            rows = aggregate(v, block.dropout(dropped), self.logits.manifold, double=self.double_precision)
            scores: Tensor = self.logits(rows)
            return scores
        assert self.logits.bias is not None
        return block.dropout(dropped).product(self.logits.distances(v)) + self.logits.bias

    def tangent(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        """The last hidden layer as tangent vectors at the origin, (N, D), without own features."""
        return super().tangent(x, edge_index, edge_weight)[:, : self.hidden[-1].out_channels]

    @torch.no_grad()
    def capped_rows(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> int:
        """Number of rows of all layers that lie farther out than float64 resolves."""
        adjacency, count = self.adjacency(x, edge_index, edge_weight), 0
        for i, conv in enumerate(self.hidden):
            if conv.aggregation == "midpoint":
                rows = self._run(self.steps()[:i], x, adjacency)
                v = conv.linear(rows[:, : conv.in_channels] if i else rows)
                count += capped_rows(v, adjacency, conv.manifold)
        if self.output == "midpoint" and self.logits is not None:
            count += capped_rows(self.tangent(x, adjacency), adjacency, self.logits.manifold)
        return count
