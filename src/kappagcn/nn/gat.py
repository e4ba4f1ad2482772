"""KappaGATConv: attention in a space of constant curvature, in place of PyG's ``GATConv`` and ``GATv2Conv``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, leaky_relu
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import glorot, zeros
from torch_geometric.utils import add_self_loops, remove_self_loops, softmax

from kappagcn.errors import GraphError
from kappagcn.nn.inputs import Adjacency, Features, Space, as_manifold, check_rows, observe_rows
from kappagcn.nn.message_passing import CurvedMessagePassing
from kappagcn.nn.prepared import prepared_adjacency
from kappagcn.sparse import SparseMatrix
from kappagcn.tracing import is_cheap_to_read

SCORES = ("gat", "gatv2")


class KappaGATConv(CurvedMessagePassing):
    r"""Midpoints of neighbours with learned weights, on tangent vectors at the origin.

        v'_i = log_0(midpoint of exp_0(v_j W) with weights softmax_j(s_ij)) + b

    for each head; all heads share the space. Scores come from tangent vectors at the origin, as in HGCN (Chami et al.
    2019):
    ``"gat"`` s_ij = σ(⟨a, v_j W⟩ + ⟨a', v_i W⟩ + ⟨a'', e_ij U⟩), or ``"gatv2"`` s_ij = ⟨a, σ(v_j W + v_i W' + e_ij U)⟩,
    σ a leaky ReLU and e_ij features of the edge, if any. At κ = 0 it is PyG's ``GATConv`` or ``GATv2Conv``, whose
    arguments come first and whose state it loads with ``strict=False``.

    Args:
        in_channels: Columns of x; -1 to take them from the first x.
        out_channels: Columns of each head, the dimension of the space.
        heads: Number of heads.
        concat: Whether to concatenate the heads; otherwise they are averaged.
        negative_slope: Negative slope of the leaky ReLU.
        dropout: Probability for each weight to be left out in a training step.
        add_self_loops: Whether each node is its own neighbour.
        edge_dim: Columns of edge features, if there are any.
        fill_value: Features of self-loops: a number, or a reduction of the node's edges such as ``"mean"``.
        bias: Whether to add b.
        score: ``"gat"`` or ``"gatv2"``.
        manifold: Space of the heads, as in `KappaGCNConv`.
        **kwargs: Arguments of ``MessagePassing``.

    Shapes: x (N, in_channels), edge_index (2, E), edge_attr (E, edge_dim) → (N, heads · out_channels), or
    (N, out_channels) without `concat`.

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> KappaGATConv(10, 4, heads=2, manifold="H4")(data.x, data.edge_index).shape
    torch.Size([1000, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        *,
        score: str = "gat",
        manifold: Space = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(node_dim=0, **kwargs)
        if score not in SCORES:
            raise GraphError(f"score: expected {', '.join(SCORES)}, found {score!r}.")
        if not isinstance(in_channels, int):
            raise GraphError(
                f"in_channels: expected one number, found {in_channels}; for edges between two kinds of nodes there is "
                "KappaSAGEConv."
            )
        if self.flow != "source_to_target":
            raise GraphError(f"flow: expected source_to_target, found {self.flow}; reverse the edges instead.")
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.score = negative_slope, dropout, score
        self.add_self_loops, self.edge_dim, self.fill_value = add_self_loops, edge_dim, fill_value
        self.manifold = as_manifold(manifold, out_channels, relative=True)
        width = heads * out_channels
        if score == "gat":
            self.lin = Linear(in_channels, width, bias=False, weight_initializer="glorot")
            self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
            self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
            self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(1, heads, out_channels))
        else:
            self.lin_l = Linear(in_channels, width, bias=bias, weight_initializer="glorot")
            self.lin_r = Linear(in_channels, width, bias=bias, weight_initializer="glorot")
            self.att = nn.Parameter(torch.empty(1, heads, out_channels))
        if edge_dim is not None:
            self.lin_edge = Linear(edge_dim, width, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(width if concat else out_channels)) if bias else None
        self._reset_weights()

    def _reset_weights(self) -> None:
        for module in self.children():
            if isinstance(module, Linear):
                module.reset_parameters()
        for name in ("att_src", "att_dst", "att_edge", "att"):
            glorot(getattr(self, name, None))
        zeros(self.bias)

    def forward(self, x: Features, edge_index: Adjacency, edge_attr: Tensor | None = None) -> Tensor:
        """The convolved features."""
        check_rows(x, None)
        if edge_attr is not None and self.edge_dim is None:
            raise GraphError("edge_attr: expected none, as the layer has no edge_dim; give it edge_dim.")
        add_loops = self.add_self_loops
        if edge_attr is not None and add_loops:  # loops that are replaced take their features from other edges
            edge_index, edge_attr = remove_self_loops(edge_index, edge_attr)
            edge_index, edge_attr = add_self_loops(edge_index, edge_attr, self.fill_value, x.shape[0])
            add_loops = False
        loops = 1.0 if add_loops else None
        adjacency = prepared_adjacency(x, edge_index, normalization="none", loop_weight=loops, dtype=x.dtype)
        v, scores = self._scored(x, adjacency.cols, adjacency.rows, edge_attr)
        if add_loops and not is_cheap_to_read(adjacency.values):  # loops that were replaced stay, with weight 0
            scores = scores.masked_fill((adjacency.values == 0).unsqueeze(1), torch.finfo(scores.dtype).min / 4)
        self.in_channels = x.shape[1]
        observe_rows(v.flatten(0, 1), self.manifold)
        weights = softmax(scores, adjacency.rows, num_nodes=x.shape[0])
        weights = dropout(weights, self.dropout, self.training)
        rows = self._combined(v, adjacency, weights)
        out = rows.flatten(1) if self.concat else rows.mean(1)
        return out if self.bias is None else out + self.bias

    def _combined(self, v: Tensor, adjacency: SparseMatrix, weights: Tensor) -> Tensor:
        """Midpoints of each head, (N, heads, out_channels)."""
        if self._explain or any(self._observers):
            heads = zip(v.unbind(1), weights.unbind(1), strict=True)
            return torch.stack([self.combine(rows, adjacency.with_values(weight)) for rows, weight in heads], 1)
        return self.combine(v.flatten(0, 1), adjacency.with_heads(weights)).view(v.shape)

    def _scored(self, x: Features, source: Tensor, target: Tensor, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Rows that are combined, (N, heads, out_channels), and scores of edges, (E, heads)."""
        shape = (-1, self.heads, self.out_channels)
        edge = None if edge_attr is None else self.lin_edge(edge_attr.view(len(edge_attr), -1)).view(shape)
        if self.score == "gatv2":
            v, own = self.transformed(x, self.lin_l).view(shape), self.transformed(x, self.lin_r).view(shape)
            both = own.index_select(0, target) + v.index_select(0, source)
            both = both if edge is None else both + edge
            return v, (leaky_relu(both, self.negative_slope) * self.att).sum(-1)
        v = self.transformed(x, self.lin).view(shape)
        as_source, as_target = (v * self.att_src).sum(-1), (v * self.att_dst).sum(-1)
        scores = as_source.index_select(0, source) + as_target.index_select(0, target)
        if edge is not None:
            scores = scores + (edge * self.att_edge).sum(-1)
        return v, leaky_relu(scores, self.negative_slope)

    def extra_repr(self) -> str:
        """Sizes, heads and space."""
        return super().extra_repr() + f", heads={self.heads}"
