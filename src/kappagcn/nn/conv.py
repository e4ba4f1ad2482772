"""KappaGCNConv: a graph convolution in a space of constant curvature, in place of PyG's ``GCNConv``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import zeros

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.geometry.manifold import Manifold
from kappagcn.nn.aggregation import AGGREGATIONS
from kappagcn.nn.inputs import (
    Adjacency,
    Features,
    NodeRows,
    RelativeCurvature,
    RowScale,
    Size,
    Space,
    as_manifold,
    check_rows,
    observe_rows,
)
from kappagcn.nn.message_passing import CurvedMessagePassing, materialize
from kappagcn.nn.prepared import as_features


class KappaGCNConv(CurvedMessagePassing):
    r"""The κ-GCN layer (section 3 of arXiv:1911.05076) without its non-linearity.

        V' = log_0(Â ⊠ exp_0(V W)) + b,

    on tangent vectors at the origin: ordinary feature vectors go in and come out, and at κ = 0 it is ``GCNConv``, whose
    arguments come first and whose state it loads with
    ``strict=False``, as it has no κ. ``manifold.expmap0(out)`` gives points.

    Args:
        in_channels: Columns of x; -1 to take them from the first x.
        out_channels: Columns of the result; for a product its dimension.
        improved: Whether added self-loops have weight 2 instead of 1.
        cached: Keep the normalised adjacency of the first call, for one graph that does not change. Without it the
            adjacency is kept as long as calls have the same, unchanged edge_index and edge_weight tensors.
        add_self_loops: As in ``GCNConv``; by default True with a normalisation, False without.
        normalize: ``"symmetric"`` (True), ``"row"`` or ``"none"`` (False).
        bias: Whether to add b.
        manifold: Space of the result; layers that get the same object share its curvature. A signature such as
            ``"H8xS8"`` makes a new space with trained curvatures, in units of the input rows, or with a given
            initial value as in ``"H8(-1)"``; a number makes a space with this fixed κ. By default a new space with
            trained curvature that starts flat. If curvatures are in units of the input rows, rows with a median length
            above 4 are scaled down to it.
        aggregation: ``"midpoint"`` (the paper), ``"tangential"``, ``"tangential-node"`` or ``"frechet"``; see
            `kappagcn.nn.aggregate`. ``"tangential"`` does not depend on κ, which then gets no gradient.
        dropconnect: Probability for each entry of W to be left out in a training step.
        adjacency_dropout: Probability for each entry of Â to be left out in a training step.
        split_input: Whether each factor of a product gets only its share of the columns of x (the paper's products);
            the shares differ by at most one column.
        double: Aggregate in float64, for points far from the origin.
        **kwargs: Arguments of ``MessagePassing``, such as ``flow``; ``aggr`` can only be ``"add"``.

    Shapes: x (N, in_channels), dense, sparse or a `SparseMatrix`, or (B, N, in_channels) for several signals on one
    graph, or a pair (sources, targets) for edges between two kinds of nodes; edge_index (2, E), or a sparse tensor with
    a row for each target, or a `SparseMatrix` (M, N), which is used as it is; edge_weight (E,) → (M, out_channels).

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.geometry import Stereographic
    >>> data = disease()
    >>> conv = KappaGCNConv(10, 2, manifold=Stereographic(-1.0))
    >>> conv(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    mask: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool | str = True,
        bias: bool = True,
        manifold: Space = None,
        *,
        aggregation: str = "midpoint",
        dropconnect: float = 0.0,
        adjacency_dropout: float = 0.0,
        split_input: bool = False,
        double: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(improved, bool):
            raise GraphError(f"improved: expected True or False, found {improved!r}; a space is given as manifold=.")
        if aggregation not in AGGREGATIONS:
            raise GraphError(f"expected aggregation {', '.join(AGGREGATIONS)}, found {aggregation!r}.")
        for name, p in (("dropconnect", dropconnect), ("adjacency_dropout", adjacency_dropout)):
            if not 0 <= p < 1:
                raise GraphError(f"{name}: expected a probability from 0 to below 1, found {p}.")
        if (in_channels < 1 and in_channels != -1) or out_channels < 1:
            raise GraphError(f"expected channels from 1, or -1 for in_channels, found {in_channels}, {out_channels}.")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.manifold = as_manifold(manifold, out_channels, relative=True)
        is_relative = any(isinstance(module, RelativeCurvature) for module in self.manifold.modules())
        self.row_scale = RowScale() if is_relative and not isinstance(manifold, Manifold) else None
        self._set_normalization(normalize, add_self_loops)
        if self.add_self_loops and self.normalize == "none":
            raise GraphError(
                "add_self_loops: KappaGCNConv does not support adding self-loops without a normalisation, found "
                "normalize none; add them to edge_index."
            )
        self.improved, self.cached, self.aggregation, self.double_precision = improved, cached, aggregation, double
        self.dropconnect, self.adjacency_dropout = dropconnect, adjacency_dropout
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.register_buffer("mask", self._shares() if split_input else None, persistent=False)
        self._reset_weights()

    def _reset_weights(self) -> None:
        self.lin.reset_parameters()
        zeros(self.bias)
        if self.mask is not None:
            self.mask = self._shares().to(self.mask.device)
            self.lin.weight.data *= self.mask
        if self.row_scale is not None:
            self.row_scale.reset_parameters()

    def _shares(self) -> Tensor:
        """1 where an input column belongs to the factor of an output column, (out_channels, in_channels)."""
        if not isinstance(self.manifold, ProductManifold) or self.manifold.num_factors > self.in_channels:
            raise GraphError(
                f"split_input: expected a product of at most {self.in_channels} factors to share {self.in_channels} "
                f"columns, found {self.manifold}."
            )
        inputs = torch.tensor_split(torch.ones(1, self.in_channels), self.manifold.num_factors, 1)
        blocks = (part.expand(dim, -1) for part, dim in zip(inputs, self.manifold.dims, strict=True))
        mask: Tensor = torch.block_diag(*blocks)
        return mask

    def forward(
        self, x: NodeRows, edge_index: Adjacency, edge_weight: Tensor | None = None, size: Size = None
    ) -> Tensor:
        """The convolved features, (N, in_channels) → (M, out_channels); `size` is (N, M) if x is not a pair."""
        signals, sources = None, x[0] if isinstance(x, tuple) else x
        if isinstance(x, Tensor) and x.dim() == 3:  # several signals on one graph
            signals, sources, x = x.shape[:2], x.flatten(0, 1), x[0]
        sources = sources if isinstance(sources, Tensor) and sources.layout == torch.strided else as_features(sources)
        v, adjacency = self.linear(sources), self.adjacency(x, edge_index, edge_weight, size)
        shared = adjacency if signals is None else None
        v = observe_rows(v, self.manifold, shared, x=sources, row_scale=self.row_scale)
        rows = []
        for signal in [v] if signals is None else v.unflatten(0, signals).unbind():
            drops = self.training and self.adjacency_dropout
            matrix = adjacency.dropout(self.adjacency_dropout) if drops else adjacency
            rows.append(self.combine(signal, matrix, self.aggregation, self.double_precision, self.bias))
        return rows[0] if signals is None else torch.stack(rows)

    def linear(self, x: Features) -> Tensor:
        """V W, with W masked and, in training, some of its entries left out; rows are not scaled."""
        if self.in_channels == -1:
            check_rows(x, None)
            materialize(self.lin, x)
            self.in_channels = x.shape[1]
        check_rows(x, self.in_channels, self.lin.weight.dtype)
        if self.mask is None and not (self.dropconnect and self.training):
            return self.transformed(x, self.lin)
        weight: Tensor = self.lin.weight if self.mask is None else self.lin.weight * self.mask
        return self.transformed(x, nn.functional.dropout(weight, self.dropconnect, self.training))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Load a state; with that of a ``GCNConv`` (strict=False) rows are not scaled, as there."""
        if self.row_scale is not None and not any(key.startswith(f"{prefix}manifold.") for key in state_dict):
            state_dict[f"{prefix}row_scale.factor"] = torch.ones_like(self.row_scale.factor)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def extra_repr(self) -> str:
        """Sizes, and the aggregation where it is not the paper's."""
        return super().extra_repr() + ("" if self.aggregation == "midpoint" else f", aggregation={self.aggregation}")
