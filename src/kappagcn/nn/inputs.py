"""Arguments of layers: the space, checked features, sparse features prepared for products, edges of every kind."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import EdgeIndex

from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.geometry.manifold import Manifold
from kappagcn.sparse import SparseMatrix, bipartite_adjacency, normalized_adjacency

Features = Tensor | SparseMatrix
Adjacency = Tensor | SparseMatrix
NodeRows = Features | tuple[Features, Features | None]  # rows of all nodes, or of sources and of targets
Size = tuple[int, int] | None  # numbers of sources and targets
Space = Manifold | str | float | None


def as_manifold(space: Space, dim: int | None) -> Manifold:
    """The manifold itself, or one from a signature (curvatures trained), a number (fixed) or None (trained, from 0)."""
    if space is None:
        return Stereographic(Curvature(0.0, trainable=True), dim=dim)
    if isinstance(space, str):
        space = ProductManifold.from_signature(space, trainable=True)
    elif isinstance(space, float | int) and not isinstance(space, bool):
        space = Stereographic(float(space), dim=dim)
    if not isinstance(space, Manifold):
        raise GraphError(
            f'expected a manifold, a signature such as "H8xS8", a number or None, found {type(space).__name__}.'
        )
    if dim is not None and space.dim is not None and space.dim != dim:
        raise GraphError(f"expected {space.dim} channels, as the space {space_name(space)} has, found {dim}.")
    return space


def space_name(space: Manifold) -> str:
    """The signature of a space of known dimension, or its curvature."""
    if isinstance(space, Stereographic):
        if space.dim is None:
            return f"{space.curvature.value:.4g}"
        space = ProductManifold([space])
    assert isinstance(space, ProductManifold)
    return space.signature


def factors_of(v: Tensor, manifold: Manifold) -> tuple[Tensor, list[int]]:
    """Curvatures (F,) and dimensions of the factors, which must fit v's columns."""
    if isinstance(manifold, ProductManifold):
        manifold.split(v)
        return manifold.k, manifold.dims
    if manifold.dim is not None and manifold.dim != v.shape[-1]:
        raise GraphError(f"expected {manifold.dim} columns, as the space has dimensions, found {v.shape[-1]}.")
    return manifold.k.reshape(1), [v.shape[-1]]


def check_rows(x: Any, columns: int | None, dtype: torch.dtype | None = None) -> None:
    """Refuse anything but rows of floating-point numbers with this number of columns and this dtype."""
    if not isinstance(x, Tensor | SparseMatrix):
        raise GraphError(f"x: expected a tensor (N, D), found {type(x).__name__}.")
    own = x.values.dtype if isinstance(x, SparseMatrix) else x.dtype
    wanted = "N, D" if columns is None else f"N, {columns}"
    if len(x.shape) != 2 or (columns is not None and x.shape[1] != columns):
        raise GraphError(f"x: expected ({wanted}), found {tuple(x.shape)}.")
    if not own.is_floating_point:
        raise GraphError(f"x: expected floating-point numbers, found {own}; use x.float().")
    autocast = torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    if dtype is not None and own != dtype and not autocast:
        raise GraphError(
            f"x: expected {dtype}, as the layer's weights, found {own}; use x.to({dtype}) or layer.to({own})."
        )


class SparseInput(nn.Module):
    """A layer that keeps its last sparse input as a `SparseMatrix`, which multiplies fast."""

    in_channels: int
    out_channels: int

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._features: tuple[Tensor, int, SparseMatrix] | None = None

    def extra_repr(self) -> str:
        """Numbers of input and output channels."""
        return f"{self.in_channels}, {self.out_channels}"

    def features(self, x: Features) -> Features:
        """A sparse tensor as a :class:`SparseMatrix`, kept as long as calls have the same, unchanged tensor."""
        if not isinstance(x, Tensor) or x.layout == torch.strided:
            return x
        version = (x._values() if x.layout == torch.sparse_coo else x.values())._version
        if self._features is None or self._features[0] is not x or self._features[1] != version:
            self._features = (x, version, SparseMatrix.from_tensor(x))
        return self._features[2]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_features": None}  # a copy of the layer does not contain the data


def as_adjacency(
    x: NodeRows,
    edge_index: Adjacency,
    edge_weight: Tensor | None = None,
    size: Size = None,
    *,
    normalization: str = "symmetric",
    loop_weight: float | None = 1.0,
    flow: str = "source_to_target",
    dtype: torch.dtype = torch.float32,
) -> SparseMatrix:
    """The normalised matrix (M, N) of edges in any form; a :class:`SparseMatrix` is used as it is.

    Args:
        x: Features of the nodes, or of sources and targets.
        edge_index: Edges.
        edge_weight: Edge weights, (E,).
        size: Numbers of sources and targets, where x does not determine them.
        normalization: Normalisation, as in `normalized_adjacency`.
        loop_weight: Weight of self-loops that are added; None for no self-loops.
        flow: Whether rows belong to the second (``"source_to_target"``) or the first nodes of edges.
        dtype: Floating-point type of the entries.
    """
    if isinstance(edge_index, SparseMatrix):
        if edge_weight is not None:
            raise GraphError("expected no edge_weight beside a SparseMatrix, which has its own.")
        return edge_index
    edges: Tensor = edge_index.as_tensor() if isinstance(edge_index, EdgeIndex) else edge_index
    if isinstance(edges, Tensor) and edges.layout != torch.strided:
        if edge_weight is not None:
            raise GraphError("expected no edge_weight beside a sparse adjacency tensor, which has its own.")
        if flow != "source_to_target":
            raise GraphError("flow: expected source_to_target with a sparse adjacency tensor; transpose it instead.")
        entries = edges.to_sparse_coo().coalesce()
        if edges.shape[0] != edges.shape[1] and size is None:
            size = (edges.shape[1], edges.shape[0])
        edges, edge_weight = entries.indices().flip(0).clone(), entries.values().clone()  # views cannot be compiled
    elif flow != "source_to_target" and isinstance(edges, Tensor):
        edges = edges.flip(0)
    if isinstance(x, tuple):
        source, target = x
        size = (source.shape[0], target.shape[0]) if target is not None else size
        if size is None:
            raise GraphError("expected the number of targets where x is (sources, None): give size=(N, M).")
    else:
        source = x
    if size is not None:
        if size[0] != source.shape[0]:
            raise GraphError(f"size: expected {source.shape[0]} sources, as x has rows, found {size[0]}.")
        return bipartite_adjacency(edges, size, edge_weight, normalization=normalization, dtype=dtype)
    return normalized_adjacency(
        edges,
        edge_weight,
        source.shape[0],
        normalization=normalization,
        add_self_loops=loop_weight is not None,
        loop_weight=1.0 if loop_weight is None else loop_weight,
        dtype=dtype,
    )
