"""HGCNConv: the hyperbolic graph convolution of Chami et al. 2019 (arXiv:1910.12933), the κ-GCN's rival."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot, zeros
from torch_geometric.utils import softmax

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, Stereographic
from kappagcn.graphs.sparse import SparseMatrix, normalized_adjacency
from kappagcn.nn.functional import aggregate, dropconnect, linear
from kappagcn.nn.sparse_input import Features, SparseInput

__all__ = ["HGCNConv"]


class HGCNConv(SparseInput):
    r"""Hyperbolic linear map with a Möbius bias, then aggregation in a tangent space, on tangent vectors at the origin.

    .. math:: h_i = \exp_0(v_i W) \oplus \exp_0(b),\qquad
              v'_i = \log_0 \exp_x\Big(\sum_j w_{ij}\log_x(h_j)\Big),

    at x = 0, as the authors' code does, or at x = h_i, as their paper writes. κ < 0 is trained and the layer's own. A
    non-linearity between layers of different curvature is the pointwise function of the result, as for the κ-GCN.

    Args:
        in_channels: Columns of x.
        out_channels: Columns of the result.
        curvature: κ at the start, below 0; it stays below.
        trainable: Whether κ is trained.
        attention: Weights w_ij learned from both ends of each edge, softmax over the edges that end in i; otherwise
            those of the normalised adjacency.
        at_node: Aggregate in the tangent space at the node instead of the origin.
        normalize: Of the adjacency without attention: ``"row"`` (theirs), ``"symmetric"`` or ``"none"``.
        bias: Whether there is a b.
        dropconnect: Probability for each entry of W to be left out in a training step.

    Shapes: x (N, in_channels), dense or a :class:`SparseMatrix`; edge_index (2, E), or a :class:`SparseMatrix` (N, N),
    used as it is → (N, out_channels).

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
        self.at_node, self.normalize, self.dropconnect = at_node, normalize, dropconnect
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.attention = nn.Parameter(torch.empty(2, out_channels)) if attention else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew; the curvature stays."""
        glorot(self.weight)
        zeros(self.bias)
        glorot(self.attention)

    def forward(self, x: Features, edge_index: Tensor | SparseMatrix, edge_weight: Tensor | None = None) -> Tensor:
        """(N, in_channels) → (N, out_channels)."""
        v = self._biased(linear(self.features(x), dropconnect(self.weight, self.dropconnect, self.training)))
        adjacency = edge_index
        if not isinstance(adjacency, SparseMatrix):
            adjacency = normalized_adjacency(
                adjacency, edge_weight, v.shape[0], normalization=self.normalize, dtype=v.dtype
            )
        if self.attention is not None:
            adjacency = self._attended(v, adjacency)
        how = "tangential-node" if self.at_node else "tangential"
        return aggregate(v, adjacency, self.manifold, aggregation=how)

    def _biased(self, v: Tensor) -> Tensor:
        if self.bias is None:
            return v
        space = self.manifold
        shift = space.expmap0(self.bias).expand_as(v)
        return space.logmap0(space.project(space.add(space.expmap0(v), shift)))

    def _attended(self, v: Tensor, adjacency: SparseMatrix) -> SparseMatrix:
        """The same edges with weights from the vectors at their ends: one number per edge."""
        assert self.attention is not None
        as_target, as_source = (v @ self.attention.t()).unbind(-1)
        scores = nn.functional.leaky_relu(as_target[adjacency.rows] + as_source[adjacency.cols], 0.2)
        shares = softmax(scores, adjacency.rows, num_nodes=adjacency.shape[0])
        return SparseMatrix(adjacency.rows, adjacency.cols, shares, adjacency.shape)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.in_channels}, {self.out_channels}"
