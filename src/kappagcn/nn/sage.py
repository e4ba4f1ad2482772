"""KappaSAGEConv: GraphSAGE's convolution in a space of constant curvature, in place of PyG's ``SAGEConv``."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional
from torch_geometric.nn import Linear

from kappagcn.errors import GraphError
from kappagcn.nn.inputs import Adjacency, NodeRows, Size, Space, as_manifold, check_rows, observe_rows
from kappagcn.nn.message_passing import CurvedMessagePassing, materialize
from kappagcn.nn.prepared import prepared_adjacency


class KappaSAGEConv(CurvedMessagePassing):
    r"""The midpoint of a node's neighbours, plus a term of the node itself (Hamilton et al. 2017), on tangent vectors.

        v'_i = log_0(midpoint of exp_0(v_j W_l), j ∈ N(i)) + v_i W_r + b,

    at κ = 0 PyG's ``SAGEConv`` with its mean, whose state it loads with ``strict=False``. Without neighbours the
    midpoint is the origin.

    Args:
        in_channels: Columns of x, or a pair: columns of sources and of targets.
        out_channels: Columns of the result.
        aggr: Aggregation; only ``"mean"`` is supported.
        normalize: Whether rows of the result are scaled to length 1.
        root_weight: Whether to add the term of the node itself, v_i W_r.
        project: Whether neighbours first go through a linear layer and a ReLU.
        bias: Whether to add b.
        manifold: Space of the neighbours' midpoint, as in `KappaGCNConv`.
        **kwargs: Arguments of ``MessagePassing``, such as ``flow``.

    Shapes: x (N, in_channels) or a pair (sources, targets), edge_index as in `KappaGCNConv`, edge_weight (E,) for
    weighted midpoints → (M, out_channels).

    >>> from kappagcn.graphs import disease
    >>> data = disease()
    >>> KappaSAGEConv(10, 2, manifold="H2")(data.x, data.edge_index).shape
    torch.Size([1000, 2])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
        manifold: Space = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if aggr != "mean":
            raise GraphError(f'aggr: expected "mean", which the midpoint generalises, found {aggr!r}.')
        if project and -1 in (in_channels if isinstance(in_channels, tuple) else (in_channels,)):
            raise GraphError("project: expected known in_channels, found -1.")
        sources, targets = in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        self.in_channels = sources
        self.out_channels, self.normalize = out_channels, normalize
        self.root_weight, self.project = root_weight, project
        if project:
            self.lin = Linear(sources, sources)
        self.manifold = as_manifold(manifold, out_channels, relative=True)
        self.lin_l = Linear(sources, out_channels, bias=bias)
        if root_weight:
            self.lin_r = Linear(targets, out_channels, bias=False)

    def _reset_weights(self) -> None:
        if self.project:
            self.lin.reset_parameters()
        self.lin_l.reset_parameters()
        if self.root_weight:
            self.lin_r.reset_parameters()

    def forward(
        self, x: NodeRows, edge_index: Adjacency, edge_weight: Tensor | None = None, size: Size = None
    ) -> Tensor:
        """The convolved features, (N, in_channels) → (M, out_channels); `size` is (N, M) if x is not a pair."""
        sources, targets = x if isinstance(x, tuple) else (x, x)
        if self.in_channels == -1:
            check_rows(sources, None)
            materialize(self.lin_l, sources)
            self.in_channels = sources.shape[1]
        check_rows(sources, self.in_channels, self.lin_l.weight.dtype)
        projected = self.transformed(sources, self.lin).relu() if self.project else sources
        v = self.transformed(projected, self.lin_l.weight)
        options = {"normalization": "row", "loop_weight": None, "flow": self.flow, "dtype": self.lin_l.weight.dtype}
        adjacency = prepared_adjacency(x, edge_index, edge_weight, size, **options)
        observe_rows(v, self.manifold, adjacency)
        out = self.combine(v, adjacency, bias=self.lin_l.bias)
        if self.root_weight and targets is not None:
            out = out + self.transformed(targets, self.lin_r)
        return functional.normalize(out, dim=-1) if self.normalize else out
