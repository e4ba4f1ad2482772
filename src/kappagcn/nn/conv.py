"""KappaGCNConv: a graph convolution in a space of constant curvature, in place of PyG's ``GCNConv``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot, zeros

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.graphs.sparse import SparseMatrix, normalized_adjacency
from kappagcn.nn.functional import aggregate

__all__ = ["KappaGCNConv"]


class KappaGCNConv(nn.Module):
    r"""The κ-GCN layer (section 3 of arXiv:1911.05076) without its non-linearity.

    .. math:: V' = \mathrm{log}_0(\hat A \boxtimes \exp_0(V W)) + b,

    on tangent vectors at the origin: ordinary feature vectors go in and come out, and at κ = 0 it is ``GCNConv``.
    ``manifold.expmap0(out)`` gives points.

    Args:
        in_channels: Columns of x.
        out_channels: Columns of the result; for a product its dimension.
        manifold: Space of the result, shared by whoever is given the same one; its κ is trained if it is trainable. A
            signature such as ``"H8xS8"`` makes a space of its own with trained curvatures, a number one with that κ,
            fixed. By default a space of its own with trained curvature that starts flat.
        cached: Keep the normalised adjacency of the first call, for one graph that does not change.
        add_self_loops: As in ``GCNConv``.
        normalize: ``"symmetric"`` (True), ``"row"`` or ``"none"`` (False).
        bias: Whether to add b.
        double: Aggregate in float64, for embeddings that reach far (see :func:`kappagcn.nn.functional.aggregate`).

    Shapes: x (N, in_channels), dense or sparse; edge_index (2, E) or a :class:`SparseMatrix` (M, N), used as it is;
    edge_weight (E,) → (N, out_channels).

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> conv = KappaGCNConv(10, 2, Stereographic(-1.0))
    >>> conv(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        manifold: Stereographic | ProductManifold | str | float | None = None,
        *,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool | str = "symmetric",
        bias: bool = True,
        double: bool = False,
    ) -> None:
        super().__init__()
        if manifold is None:
            manifold = Stereographic(Curvature(0.0, trainable=True), dim=out_channels)
        elif isinstance(manifold, str):
            manifold = ProductManifold.from_signature(manifold, trainable=True)
        elif isinstance(manifold, float | int):
            manifold = Stereographic(float(manifold))
        if manifold.dim is not None and manifold.dim != out_channels:
            raise GraphError(f"expected out_channels of {manifold.dim}, as the manifold has, found {out_channels}.")
        self.in_channels, self.out_channels, self.manifold = in_channels, out_channels, manifold
        self.cached, self.add_self_loops, self.double_precision = cached, add_self_loops, double
        self.normalize = normalize if isinstance(normalize, str) else ("symmetric" if normalize else "none")
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self._adjacency: SparseMatrix | None = None
        self._features: tuple[Any, SparseMatrix] | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew, as ``GCNConv`` does; the curvature stays."""
        glorot(self.weight)
        zeros(self.bias)
        self._adjacency = self._features = None

    def forward(self, x: Tensor, edge_index: Tensor | SparseMatrix, edge_weight: Tensor | None = None) -> Tensor:
        """The convolved features, (N, in_channels) → (N, out_channels)."""
        adjacency = self._prepared(x, edge_index, edge_weight)
        out = aggregate(self._linear(x), adjacency, self.manifold, double=self.double_precision)
        return out if self.bias is None else out + self.bias

    def _linear(self, x: Tensor) -> Tensor:
        if x.layout == torch.strided:
            return x @ self.weight
        if self._features is None or self._features[0] is not x:  # the transpose is kept while the same x comes
            self._features = (x, SparseMatrix.from_tensor(x))
        return self._features[1].product(self.weight)

    def _prepared(self, x: Tensor, edge_index: Tensor | SparseMatrix, edge_weight: Tensor | None) -> SparseMatrix:
        if isinstance(edge_index, SparseMatrix):
            return edge_index
        if self.cached and self._adjacency is not None:
            return self._adjacency
        adjacency = normalized_adjacency(
            edge_index,
            edge_weight,
            x.shape[0],
            normalization=self.normalize,
            add_self_loops=self.add_self_loops,
            dtype=self.weight.dtype,
        )
        if self.cached:
            self._adjacency = adjacency
        return adjacency

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.in_channels}, {self.out_channels}"
