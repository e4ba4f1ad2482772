"""HGCNConv: the hyperbolic graph convolution of Chami et al. 2019 (arXiv:1910.12933)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import Linear
from torch_geometric.nn.inits import glorot, zeros
from torch_geometric.utils import softmax

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, Stereographic
from kappagcn.geometry.numerics import ROW_TRANSLATED, arsinc
from kappagcn.kernels.rows import lift_rows, within
from kappagcn.nn.inputs import Features, check_rows
from kappagcn.nn.message_passing import CurvedMessagePassing
from kappagcn.sparse import SparseMatrix


def translated(v: Tensor, b: Tensor, k: Tensor) -> Tensor:
    r"""log_0(exp_0(v) ⊕ exp_0(b)) for κ < 0, (N, D) and (D,) → (N, D). κ → 0: v + b.

    With the lifts (X, h) and (B, g) the sum is (B + cX, gh − κ⟨X, B⟩), c = g − κ⟨X, B⟩/(1 + h), a point of the
    hyperboloid whose distance from the origin is arsin_κ of its first part: exact in float64 at any distance. Rows
    are cut where the square of a sine would overflow float64; there a translation only changes the radius.
    """
    wide, k = v.double(), k.double()
    near = within(wide, k, ROW_TRANSLATED)
    e, shift = lift_rows(near, k), lift_rows(within(b.double().unsqueeze(0), k, ROW_TRANSLATED), k)
    x, h, other, g = e[:, :-1], e[:, -1:], shift[:, :-1], shift[:, -1:]
    along = k * (x * other).sum(-1, keepdim=True)
    moved = other + (g - along / (1 + h)) * x
    return (0.5 * arsinc(k * (moved * moved).sum(-1, keepdim=True)) * moved + (wide - near)).to(v.dtype)


class HGCNConv(CurvedMessagePassing):
    r"""Hyperbolic linear map with a Möbius bias, then aggregation in a tangent space, on tangent vectors at the origin.

        h_i = exp_0(v_i W) ⊕ exp_0(b),    v'_i = log_0 exp_x(Σ_j w_ij log_x(h_j)),

    at x = 0, as in the authors' code, or at x = h_i, as in their paper. Each layer trains its own κ < 0, which at
    x = 0 has an effect only through b, and b starts at 0. A non-linearity between layers of different curvature is the
    pointwise function of the result, as for the κ-GCN.

    Args:
        in_channels: Columns of x.
        out_channels: Columns of the result.
        curvature: Initial curvature κ; it stays below 0.
        trainable: Whether κ is trained.
        attention: Whether weights w_ij are learned from both ends of each edge, with a softmax over the edges that end
            in i, instead of taken from the normalised adjacency; edges of weight 0 are left out.
        at_node: Aggregate in the tangent space at the node instead of the origin.
        normalize: Normalisation of the adjacency, without attention: ``"row"``, ``"symmetric"`` or ``"none"``.
        bias: Whether to add b.
        dropconnect: Probability for each entry of W to be left out in a training step.

    Shapes: x (N, in_channels), dense or sparse; edge_index (2, E), or a sparse tensor with a row for each target, or a
    `SparseMatrix` (N, N), used as it is → (N, out_channels).

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> HGCNConv(10, 2, attention=True)(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        curvature: float = -1.0,
        trainable: bool = True,
        attention: bool = False,
        at_node: bool = False,
        normalize: str = "row",
        bias: bool = True,
        dropconnect: float = 0.0,
    ) -> None:
        super().__init__()
        if curvature >= 0:
            raise GraphError(f"curvature: expected a number below 0, found {curvature}; KappaGCNConv takes any sign.")
        self.manifold = Stereographic(Curvature(curvature, trainable=trainable, upper=0.0), dim=out_channels)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.at_node, self.dropconnect = at_node, dropconnect
        self._set_normalization(normalize, add_self_loops=True)
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.attention = nn.Parameter(torch.empty(2, out_channels)) if attention else None
        self._reset_weights()

    def _reset_weights(self) -> None:
        self.lin.reset_parameters()
        zeros(self.bias)
        glorot(self.attention)

    def forward(self, x: Features, edge_index: Tensor | SparseMatrix, edge_weight: Tensor | None = None) -> Tensor:
        """(N, in_channels) → (N, out_channels)."""
        check_rows(x, self.in_channels, self.lin.weight.dtype)
        v = self.transformed(x, nn.functional.dropout(self.lin.weight, self.dropconnect, self.training))
        if self.bias is not None:
            v = translated(v, self.bias, self.manifold.k)
        adjacency = self.adjacency(x, edge_index, edge_weight)
        if self.attention is not None:
            adjacency = self._attended(v, adjacency)
        return self.combine(v, adjacency, "tangential-node" if self.at_node else "tangential")

    def _attended(self, v: Tensor, adjacency: SparseMatrix) -> SparseMatrix:
        """The edges of non-zero weight, with attention weights from the vectors at both ends."""
        assert self.attention is not None
        ends = v @ self.attention.t()
        as_target, as_source = ends[:, 0], adjacency.gather(ends[:, 1:])[:, 0]
        scores = nn.functional.leaky_relu(as_target[adjacency.rows] + as_source[adjacency.cols], 0.2)
        scores = torch.where(adjacency.values == 0, torch.finfo(scores.dtype).min / 4, scores)
        shares = softmax(scores, adjacency.rows, num_nodes=adjacency.shape[0])
        return adjacency.with_values(shares)
