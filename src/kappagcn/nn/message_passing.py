"""Bases of layers: NormalizedGraph normalises the graph, CurvedMessagePassing sums within PyG's message passing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch_geometric.nn import Linear
from torch_geometric.nn.conv import MessagePassing

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature
from kappagcn.geometry.manifold import Manifold
from kappagcn.kernels.rows import lift_rows, lower_by_torch
from kappagcn.nn.aggregation import aggregate
from kappagcn.nn.inputs import Adjacency, Features, NodeRows, Size, factors_of, space_name
from kappagcn.nn.precision import at_least_single, without_autocast
from kappagcn.nn.prepared import feature_product, prepared_adjacency
from kappagcn.sparse import NORMALIZATIONS, SparseMatrix

AGGR = ("add", "sum")


class NormalizedGraph(nn.Module):
    """A layer that normalises its graph as PyG's ``GCNConv`` does.

    Attributes:
        normalize: Normalisation, as in `normalized_adjacency`.
        add_self_loops: Whether each node gets a self-loop.
        improved: Whether added self-loops have weight 2 instead of 1.
        cached: Whether the first matrix is used in all calls; a copy of the layer does not contain it.
        flow: Whether rows belong to the second (``"source_to_target"``) or the first nodes of edges.
    """

    normalize: str | bool
    add_self_loops: bool
    improved = False
    cached = False
    flow = "source_to_target"
    _cached_edge_index: SparseMatrix | None = None

    def _set_normalization(self, normalize: bool | str, add_self_loops: bool | None = None) -> None:
        """By default self-loops are added with a normalisation and not without."""
        self.normalize = normalize if isinstance(normalize, str) else ("symmetric" if normalize else "none")
        if self.normalize not in NORMALIZATIONS:
            raise GraphError(f"expected normalize {', '.join(NORMALIZATIONS)}, found {normalize!r}.")
        self.add_self_loops = self.normalize != "none" if add_self_loops is None else add_self_loops

    @property
    def loop_weight(self) -> float | None:
        """Weight of self-loops that are added; None for no self-loops."""
        return (2.0 if self.improved else 1.0) if self.add_self_loops else None

    def adjacency(
        self, x: NodeRows, edge_index: Adjacency, edge_weight: Tensor | None = None, size: Size = None
    ) -> SparseMatrix:
        """The normalised matrix that `forward` multiplies with."""
        dtype = torch.promote_types((x[0] if isinstance(x, tuple) else x).dtype, torch.float32)
        first = self._cached_edge_index
        if self.cached and first is not None and first.dtype == dtype:
            return first
        options: Any = {"normalization": str(self.normalize), "loop_weight": self.loop_weight, "flow": self.flow}
        matrix = prepared_adjacency(x, edge_index, edge_weight, size, dtype=dtype, **options)
        if self.cached and not matrix.requires_grad:  # its autograd graph ends with the first call
            self._cached_edge_index = matrix
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached_edge_index": None}


def materialize(lin: Linear, x: Features) -> None:
    """Give a linear layer of unknown size the number of columns of x, unless a state has been loaded into it."""
    if isinstance(lin.weight, UninitializedParameter):
        lin.initialize_parameters(lin, (torch.empty(0, x.shape[1]),))


class CurvedMessagePassing(NormalizedGraph, MessagePassing):
    """Base of convolutions, a PyG ``MessagePassing`` whose sums over neighbours are sparse products.

    Messages are computed one by one only for explainers and hooks: the message of an edge is its
    weight times the lifted row of its source, with an additional column for the weight itself.
    """

    in_channels: int
    out_channels: int
    manifold: Manifold
    propagate: Callable[..., Tensor]

    def __init__(self, **kwargs: Any) -> None:
        aggr, node_dim = kwargs.setdefault("aggr", "add"), kwargs.get("node_dim", -2)
        if aggr not in AGGR:
            raise GraphError(
                f'aggr: expected "add", the weighted sum of which midpoints are made, found {aggr!r}; for means over '
                f'neighbours use normalize="row".'
            )
        if node_dim not in (-2, 0):
            raise GraphError(f"node_dim: expected -2, the axis before the last, found {node_dim!r}.")
        super().__init__(**kwargs)
        steps = ("propagate", "message", "aggregate")
        self._observers = [
            getattr(self, f"_{step}_forward_{kind}") for step in steps for kind in ("pre_hooks", "hooks")
        ]

    def _set_jittable_templates(self, raise_on_error: bool = False) -> None:
        """Generate no code for `propagate`, which runs for explainers and hooks only."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"

    def extra_repr(self) -> str:
        """Sizes, and the space where it is not flat."""
        curved = any(module.value != 0 for module in self.manifold.modules() if isinstance(module, Curvature))
        space = f", manifold={space_name(self.manifold)}" if curved else ""
        return f"{self.in_channels}, {self.out_channels}{space}"

    def reset_parameters(self) -> None:
        """Initialise the weights as PyG's layer does; curvatures get their initial values."""
        super().reset_parameters()
        self.manifold.reset_parameters()
        self._reset_weights()
        self._cached_edge_index = None

    def _reset_weights(self) -> None:
        """Initialise all but the space, which other layers may share."""

    def transformed(self, x: Features, lin: Linear | Tensor) -> Tensor:
        """x Wᵀ plus the layer's bias, (N, C) → (N, D), by a sparse product if the features are mostly zeros.

        A linear layer of unknown size takes it from x. It is called itself where hooks or autocast ask for it; a weight
        W, (D, C), is not.
        """
        if isinstance(lin, Tensor):
            return feature_product(x, lin.t())
        if isinstance(lin.weight, UninitializedParameter):
            materialize(lin, x)
        hooks = lin._forward_hooks or lin._forward_pre_hooks or lin._backward_hooks
        if (hooks or torch.is_autocast_enabled("cpu")) and isinstance(x, Tensor) and x.layout == torch.strided:
            product: Tensor = lin(x)
            return product
        rows = feature_product(x, lin.weight.t())
        return rows if lin.bias is None else rows + lin.bias

    def combine(
        self,
        v: Tensor,
        adjacency: SparseMatrix,
        aggregation: str = "midpoint",
        double: bool = False,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Sums over neighbours in the layer's space, plus a bias, (N, D) → (M, D); see `kappagcn.nn.aggregate`."""
        if not (self._explain or any(self._observers)):  # an explainer or a hook needs single messages
            return aggregate(v, adjacency, self.manifold, aggregation=aggregation, bias=bias, double=double)
        rows = self._by_messages(v, adjacency, aggregation)
        return rows if bias is None else rows + bias

    def _by_messages(self, v: Tensor, adjacency: SparseMatrix, aggregation: str) -> Tensor:
        if aggregation == "tangential":
            return self._propagated(at_least_single(v), adjacency).to(v.dtype)
        if aggregation != "midpoint":
            raise GraphError(
                f"expected aggregation midpoint or tangential with explainers and hooks, found {aggregation}."
            )
        with without_autocast(v):
            wide, (k, dims) = v.double(), factors_of(v, self.manifold)
            rows = torch.cat([lift_rows(wide, k.double(), dims), wide.new_ones(wide.shape[0], 1)], -1)
            sums = self._propagated(rows, adjacency)
            return lower_by_torch(sums[:, :-1], k.double(), sums[:, -1], dims).to(v.dtype)

    def _propagated(self, rows: Tensor, adjacency: SparseMatrix) -> Tensor:
        """Sums of messages, (N, D) → (M, D)."""
        ends, size = (adjacency.cols, adjacency.rows), adjacency.shape[::-1]
        if self.flow == "target_to_source":
            ends, size = ends[::-1], size[::-1]
        weight = adjacency.values.to(rows.dtype)
        return self.propagate(torch.stack(ends), x=rows, edge_weight=weight, size=size)

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        """Weighted rows of the edges' sources."""
        return edge_weight.unsqueeze(-1) * x_j
