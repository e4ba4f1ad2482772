"""KappaGCN: the paper's network, κ-GCN for one space and Prod-GCN for a product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.models.classifier import NodeClassifier, Step
from kappagcn.nn import KappaGCNConv, KappaLogits, capped_rows
from kappagcn.nn.inputs import Adjacency, Features
from kappagcn.sparse import SparseMatrix

__all__ = ["KappaGCN"]


class KappaGCN(NodeClassifier):
    r"""Layers of κ-convolutions and a κ-logit layer (section 3 of arXiv:1911.05076).

        H⁽ˡ⁺¹⁾ = σ^⊗(Â ⊠ (H⁽ˡ⁾ ⊗ W⁽ˡ⁾)),    Y = softmax(Â logits(H⁽ᴸ⁾)).

    As all κ → 0 it is GCN with a linear output.

    Args:
        in_channels: Number of features.
        num_classes: Number of classes C; None for a network that ends in its last hidden layer.
        space: Signature of the hidden layers, such as ``"H16"`` or ``"H8xS8"``, shared by them with its curvatures; or
            one signature for each layer, which then has curvatures of its own.
        num_layers: Number of hidden layers that share the one signature.
        trainable: Whether curvatures are trained.
        split_input: Whether each factor of a product gets its equal share of the features (the paper) or all of them.
        dropout: Dropout probability of hidden rows.
        input_dropout: Dropout probability of features.
        dropconnect: Dropout probability of weights.
        adjacency_dropout: Dropout probability of entries of Â.
        act: Activation: ``"relu"``, ``"tanh"``, ``"elu"`` or ``"none"``.
        adjacency_norm: Normalisation of the adjacency matrix: ``"symmetric"``, ``"row"`` or ``"none"``.
        aggregation: Aggregation of neighbours, as in `KappaGCNConv`.
        bias: Whether convolutions have a bias.
        double: Whether to aggregate in float64.

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
        num_layers: int = 1,
        trainable: bool = True,
        split_input: bool = False,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        dropconnect: float = 0.0,
        adjacency_dropout: float = 0.0,
        act: str = "relu",
        adjacency_norm: str = "symmetric",
        aggregation: str = "midpoint",
        bias: bool = True,
        double: bool = False,
    ) -> None:
        super().__init__(locals(), dropout=dropout, input_dropout=input_dropout, act=act)
        spaces = [space] if isinstance(space, str) else space
        if not isinstance(spaces, Sequence) or not all(isinstance(each, str) for each in spaces):
            raise GraphError(f'space: expected a signature such as "H16", or a list of them, found {space!r}.')
        if not isinstance(space, str) and spaces and num_layers not in (1, len(spaces)):
            raise GraphError(f"num_layers: expected {len(space)}, as many as there are signatures, found {num_layers}.")
        if num_layers < 1 or not spaces:
            raise GraphError(f"expected at least one hidden layer, found {num_layers if spaces else 0}.")
        manifolds = [ProductManifold.from_signature(each, trainable=trainable) for each in spaces]
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
                aggregation=aggregation,
                bias=bias,
                dropconnect=dropconnect,
                adjacency_dropout=adjacency_dropout,
                split_input=split_input and i == 0 and manifold.num_factors > 1,
                double=double,
            )
            for i, manifold in enumerate(manifolds)
        )
        self.logits = None if num_classes is None else KappaLogits(sizes[-1], num_classes, manifolds[-1])
        self.adjacency_dropout = adjacency_dropout

    @property
    def has_output(self) -> bool:
        """Whether there are classes."""
        return self.logits is not None

    def output_step(self) -> Step:
        """Logits averaged over neighbours."""
        return Step(self._averaged_logits, aggregates=True)

    def _averaged_logits(self, v: Tensor, block: SparseMatrix) -> Tensor:
        assert self.logits is not None
        if self.training and self.adjacency_dropout:
            block = block.dropout(self.adjacency_dropout)
        return block.product(self.logits(self.dropout(v)))

    @torch.no_grad()
    def capped_rows(self, x: Features, edge_index: Adjacency, edge_weight: Tensor | None = None) -> int:
        """Number of rows of all layers that lie farther out than float64 resolves."""
        adjacency, count = self.adjacency(x, edge_index, edge_weight), 0
        for i, conv in enumerate(self.hidden):
            if conv.aggregation == "midpoint":
                v = conv.linear(self._run(self.steps()[:i], x, adjacency))
                count += capped_rows(v, adjacency, conv.manifold)
        return count
