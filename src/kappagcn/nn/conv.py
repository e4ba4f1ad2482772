"""KappaGCNConv: a graph convolution in a space of constant curvature, in place of PyG's ``GCNConv``."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot, zeros

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.nn.functional import AGGREGATIONS, aggregate, dropconnect, linear
from kappagcn.nn.inputs import Adjacency, Features, Space, SparseInput, as_adjacency, as_manifold, check_rows
from kappagcn.sparse import NORMALIZATIONS, SparseMatrix


class KappaGCNConv(SparseInput):
    r"""The κ-GCN layer (section 3 of arXiv:1911.05076) without its non-linearity.

        V' = log_0(Â ⊠ exp_0(V W)) + b,

    on tangent vectors at the origin: ordinary feature vectors go in and come out, and at κ = 0 it is ``GCNConv``.
    ``manifold.expmap0(out)`` gives points.

    Args:
        in_channels: Columns of x.
        out_channels: Columns of the result; for a product its dimension.
        manifold: Space of the result; layers that get the same object share its curvature. A signature such as
            ``"H8xS8"`` makes a new space with trained curvatures, a number one with that κ, fixed. By default a new
            space with trained curvature that starts flat.
        cached: Keep the normalised adjacency of the first call, for one graph that does not change.
        add_self_loops: As in ``GCNConv``; by default where there is a normalisation.
        normalize: ``"symmetric"`` (True), ``"row"`` or ``"none"`` (False).
        bias: Whether to add b.
        aggregation: ``"midpoint"`` (the paper), ``"tangential"``, ``"tangential-node"`` or ``"frechet"``; see
            `kappagcn.nn.aggregate`. In ``"tangential"`` κ plays no part, and gets no gradient.
        dropconnect: Probability for each entry of W to be left out in a training step.
        adjacency_dropout: The same for each entry of Â.
        split_input: Whether each factor of a product sees only its share of x's columns (the paper's products); shares
            are equal to within one.
        double: Aggregate in float64, for embeddings that reach far.

    Shapes: x (N, in_channels), dense, sparse or a `SparseMatrix`, or a pair (sources, targets) for edges between
    two kinds of nodes; edge_index (2, E), or a sparse tensor with a row for each target, or a `SparseMatrix`
    (M, N), which is used as it is; edge_weight (E,) → (M, out_channels).

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.geometry import Stereographic
    >>> data = disease()
    >>> conv = KappaGCNConv(10, 2, Stereographic(-1.0))
    >>> conv(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    mask: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        manifold: Space = None,
        *,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool | str = "symmetric",
        bias: bool = True,
        aggregation: str = "midpoint",
        dropconnect: float = 0.0,
        adjacency_dropout: float = 0.0,
        split_input: bool = False,
        double: bool = False,
    ) -> None:
        super().__init__()
        if aggregation not in AGGREGATIONS:
            raise GraphError(f"expected aggregation {', '.join(AGGREGATIONS)}, found {aggregation!r}.")
        for name, p in (("dropconnect", dropconnect), ("adjacency_dropout", adjacency_dropout)):
            if not 0 <= p < 1:
                raise GraphError(f"{name}: expected a probability from 0 to below 1, found {p}.")
        if in_channels < 1 or out_channels < 1:
            raise GraphError(f"expected channels from 1 (sizes are not inferred), found {in_channels}, {out_channels}.")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.manifold = as_manifold(manifold, out_channels)
        self.normalize = normalize if isinstance(normalize, str) else ("symmetric" if normalize else "none")
        if self.normalize not in NORMALIZATIONS:
            raise GraphError(f"expected normalize {', '.join(NORMALIZATIONS)}, found {normalize!r}.")
        self.cached, self.aggregation, self.double_precision = cached, aggregation, double
        self.add_self_loops = self.normalize != "none" if add_self_loops is None else add_self_loops
        self.dropconnect, self.adjacency_dropout = dropconnect, adjacency_dropout
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.register_buffer("mask", self._shares() if split_input else None, persistent=False)
        self._adjacency: SparseMatrix | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the weights as ``GCNConv`` does; the curvature stays."""
        glorot(self.weight)
        zeros(self.bias)
        if self.mask is not None:
            self.weight.data *= self.mask
        self._adjacency = self._features = None

    def _shares(self) -> Tensor:
        """1 where an input column belongs to the factor of an output column, (in_channels, out_channels)."""
        if not isinstance(self.manifold, ProductManifold) or self.manifold.num_factors > self.in_channels:
            raise GraphError(
                f"split_input: expected a product of at most {self.in_channels} factors to share {self.in_channels} "
                f"columns, found {self.manifold}."
            )
        inputs = torch.tensor_split(torch.ones(self.in_channels, 1), self.manifold.num_factors)
        blocks = (part.expand(-1, dim) for part, dim in zip(inputs, self.manifold.dims, strict=True))
        mask: Tensor = torch.block_diag(*blocks)
        return mask

    def forward(
        self,
        x: Features | tuple[Features, Features | None],
        edge_index: Adjacency,
        edge_weight: Tensor | None = None,
        size: tuple[int, int] | None = None,
    ) -> Tensor:
        """The convolved features, (N, in_channels) → (M, out_channels); `size` is (N, M) where x is no pair."""
        v = self.linear(x[0] if isinstance(x, tuple) else x)
        adjacency = self.adjacency(x, edge_index, edge_weight, size)
        if self.training and self.adjacency_dropout:
            adjacency = adjacency.dropout(self.adjacency_dropout)
        out = aggregate(v, adjacency, self.manifold, aggregation=self.aggregation, double=self.double_precision)
        return out if self.bias is None else out + self.bias

    def linear(self, x: Features) -> Tensor:
        """V W, with W as training leaves it: masked, some of its entries left out."""
        check_rows(x, self.in_channels, self.weight.dtype)
        weight: Tensor = self.weight if self.mask is None else self.weight * self.mask
        return linear(self.features(x), dropconnect(weight, self.dropconnect, self.training))

    def adjacency(
        self,
        x: Features | tuple[Features, Features | None],
        edge_index: Adjacency,
        edge_weight: Tensor | None = None,
        size: tuple[int, int] | None = None,
    ) -> SparseMatrix:
        """The normalised matrix that `forward` multiplies with."""
        if self.cached and self._adjacency is not None and self._adjacency.values.dtype == self.weight.dtype:
            return self._adjacency
        dtype = self.weight.dtype
        matrix = as_adjacency(x, edge_index, edge_weight, size, self.normalize, self.add_self_loops, dtype)
        if self.cached and not isinstance(edge_index, SparseMatrix):
            self._adjacency = matrix
        return matrix

    def extra_repr(self) -> str:
        """Sizes, and the aggregation where it is not the paper's."""
        return super().extra_repr() + ("" if self.aggregation == "midpoint" else f", aggregation={self.aggregation}")
