"""Edges and features as matrices, cached beside the tensors that they were made from.

Layers get the same tensors in every call: a matrix is made at the first one, and found again by the identity of its
tensor, with which it is removed. Changes in place that torch counts are noticed; those through NumPy or ``.data`` are
not.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.library import custom_op
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric import EdgeIndex

from kappagcn.errors import GraphError
from kappagcn.nn.inputs import Adjacency, Features, NodeRows, Size
from kappagcn.sparse import CSR, SparseMatrix, bipartite_adjacency, multiply, normalized_adjacency
from kappagcn.tracing import is_compiled_for_cpu, is_concrete

__all__ = ["as_features", "cached", "feature_product", "prepared_adjacency", "sparse_features"]

MOST = 4  # most values beside one tensor, such as matrices with different weights, normalisations or dtypes
LARGEST_DENSITY = 0.2  # largest share of non-zero entries for which a sparse product is faster
SMALLEST = 100_000  # fewest entries of features for which counting zeros is worth its time

T = TypeVar("T")


class _Entry(NamedTuple):
    versions: tuple[int, ...]  # version counters of the tensors, which change with every change in place
    other: weakref.ref[Tensor] | None
    value: Any


_cache: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # by identity; entries are removed with their tensor


def _is_plain(t: Tensor) -> bool:
    """Whether a tensor on the CPU gets no gradient, and torch counts its changes."""
    return type(t) is Tensor and t.is_cpu and not t.requires_grad and not t.is_inference()


def cached(source: Tensor, key: Any, make: Callable[[], T], other: Tensor | None = None) -> T:
    """The value of `make`, kept as long as `source` lives and neither it nor `other` is changed in place.

    It is made anew for tensors whose values cannot be read, whose changes are not counted or that get gradients. The
    value must not refer to `source`, which would then never be removed.
    """
    tensors = (source,) if other is None else (source, other)
    if torch.compiler.is_compiling() or not all(_is_plain(t) for t in tensors) or not is_concrete(*tensors):
        return make()
    entries: dict[Any, _Entry] = _cache.setdefault(source, {})
    values = source if source.layout == torch.strided else source._values() if source.is_sparse else source.values()
    versions = (values._version,) if other is None else (values._version, other._version)
    entry = entries.get(key)
    if entry is not None and entry.versions == versions and (entry.other and entry.other()) is other:
        return cast(T, entry.value)
    with torch.inference_mode(False):  # training may follow
        value = make()
    if len(entries) >= MOST:
        entries.clear()
    entries[key] = _Entry(versions, None if other is None else weakref.ref(other), value)
    return value


def prepared_adjacency(
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
    """The normalised matrix (M, N) of edges in any form, cached; a :class:`SparseMatrix` is used as it is.

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
    nodes = tuple(None if part is None else part.shape[0] for part in (x if isinstance(x, tuple) else (x,)))
    form = _Form(normalization, loop_weight, flow, dtype)
    if type(edge_index) is not Tensor or edge_index.layout != torch.strided:
        return _adjacency(nodes, edge_index, edge_weight, size, form)
    if not torch.compiler.is_compiling():
        return cached(
            edge_index,
            (nodes, size, form),
            lambda: _adjacency(nodes, edge_index.clone(), edge_weight, size, form),
            edge_weight,
        )
    matrix = _adjacency(nodes, edge_index, edge_weight, size, form)
    if not matrix.is_local():
        return matrix
    # Arrays for products come from the cache; what they replace is dropped from the compiled function.
    (rows, cols), bipartite = matrix.shape, size is not None or len(nodes) == 2
    arrays = prepared_arrays(edge_index, edge_weight, cols, rows, bipartite, dtype == torch.float64, *form[:3])
    return matrix.with_arrays(CSR(*arrays[:3]), CSR(*arrays[3:6]), arrays[6])


class _Form(NamedTuple):
    """Arguments of `prepared_adjacency` that say which matrix is made."""

    normalization: str
    loop_weight: float | None
    flow: str
    dtype: torch.dtype


def _adjacency(
    nodes: tuple[int | None, ...], edge_index: Tensor, edge_weight: Tensor | None, size: Size, form: _Form
) -> SparseMatrix:
    """As `prepared_adjacency`, for numbers of nodes, or of sources and targets."""
    edges: Tensor = edge_index.as_tensor() if isinstance(edge_index, EdgeIndex) else edge_index
    if isinstance(edges, Tensor) and edges.layout != torch.strided:
        if edge_weight is not None:
            raise GraphError("expected no edge_weight beside a sparse adjacency tensor, which has its own.")
        if form.flow != "source_to_target":
            raise GraphError("flow: expected source_to_target with a sparse adjacency tensor; transpose it instead.")
        entries = edges.to_sparse_coo().coalesce()
        if edges.shape[0] != edges.shape[1] and size is None:
            size = (edges.shape[1], edges.shape[0])
        edges, edge_weight = entries.indices().flip(0).clone(), entries.values().clone()  # views cannot be compiled
    elif form.flow != "source_to_target" and isinstance(edges, Tensor):
        edges = edges.flip(0)
    sources = nodes[0]
    assert sources is not None
    if len(nodes) == 2:
        size = size if nodes[1] is None else (sources, nodes[1])
        if size is None:
            raise GraphError("expected the number of targets where x is (sources, None): give size=(N, M).")
    if size is None:
        with_loops, weight = form.loop_weight is not None, form.loop_weight or 0.0
        same: dict[str, Any] = {"normalization": form.normalization, "dtype": form.dtype}
        return normalized_adjacency(edges, edge_weight, sources, add_self_loops=with_loops, loop_weight=weight, **same)
    if size[0] != sources:
        raise GraphError(f"size: expected {sources} sources, as x has rows, found {size[0]}.")
    return bipartite_adjacency(edges, size, edge_weight, normalization=form.normalization, dtype=form.dtype)


@custom_op("kappagcn::prepared_arrays", mutates_args=())
def prepared_arrays(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    sources: int,
    targets: int,
    bipartite: bool,
    double: bool,
    normalization: str,
    loop_weight: float | None,
    flow: str,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Arrays of `prepared_adjacency` as a function that ``torch.compile`` calls as it is.

    Arguments are those of `prepared_adjacency`, with the numbers of nodes in place of x.

    Returns:
        The arrays of the matrix by rows and of its transpose, with unused places behind the entries if edges include
        self-loops, and the row sums, (M,).
    """
    x, size = edge_index.new_empty(sources, 0), (sources, targets) if bipartite else None
    matrix = prepared_adjacency(
        x, edge_index, edge_weight, size,
        normalization=normalization, loop_weight=loop_weight, flow=flow, dtype=_dtype(double),
    )  # fmt: skip
    places = _places(edge_index, sources, bipartite, loop_weight)
    arrays = [part for csr in (matrix.csr(), matrix.csr_transpose()) for part in csr]
    copies = [nn.functional.pad(part, (0, places - len(part))) for part in (*arrays[1:3], *arrays[4:])]
    indices, values, turned_indices, turned_values = copies
    starts, turned_starts, weight = arrays[0].clone(), arrays[3].clone(), matrix.row_sums().clone()
    return starts, indices, values, turned_starts, turned_indices, turned_values, weight


@prepared_arrays.register_fake
def _(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    sources: int,
    targets: int,
    bipartite: bool,
    double: bool,
    normalization: str,
    loop_weight: float | None,
    flow: str,
) -> tuple[Tensor, ...]:
    places, new = _places(edge_index, sources, bipartite, loop_weight), edge_index.new_empty
    arrays = [
        new(size, dtype=dtype)
        for rows in (targets, sources)
        for size, dtype in ((rows + 1, torch.int32), (places, torch.int32), (places, _dtype(double)))
    ]
    return *arrays, new(targets, dtype=_dtype(double))


def _places(edge_index: Tensor, nodes: int, bipartite: bool, loop_weight: float | None) -> int:
    """Most entries that the matrix of these edges can have."""
    return edge_index.shape[1] + (nodes if loop_weight is not None and not bipartite else 0)


def _dtype(double: bool) -> torch.dtype:
    return torch.float64 if double else torch.float32


def as_features(x: Features) -> Features:
    """A sparse tensor as a `SparseMatrix`, cached; other features as they are."""
    if not isinstance(x, Tensor) or x.layout == torch.strided:
        return x
    return cached(x, "matrix", lambda: SparseMatrix.from_tensor(x))


def sparse_features(x: Tensor) -> Tensor | SparseMatrix:
    """Dense features as a sparse matrix if they are mostly zeros, from the second call with the same tensor on.

    Their zeros are counted and the matrix is made once, which takes as long as a few products.
    """
    if x.requires_grad or x.dim() != 2 or x.numel() < SMALLEST:
        return x
    seen: list[SparseMatrix | None] = cached(x, "features", list)
    if len(seen) == 1:
        is_sparse = int(torch.count_nonzero(x)) <= LARGEST_DENSITY * x.numel() and bool(x.isfinite().all())
        seen.append(SparseMatrix.from_tensor(x) if is_sparse else None)
    elif not seen:
        seen.append(None)
    return seen[-1] or x


def feature_product(x: Features, weight: Tensor) -> Tensor:
    """X W for features X, (N, D) and (D, E) → (N, E), with `sparse_features`; also in compiled functions.

    >>> feature_product(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if isinstance(x, Tensor) and x.layout == torch.strided:
        if torch.compiler.is_compiling():
            if x.requires_grad or x.dim() != 2 or not is_compiled_for_cpu(x) or x.numel() < SMALLEST:
                return x @ weight
            return cast(Tensor, feature_product_operation(x, weight, False))
        x = x if x.numel() < SMALLEST else sparse_features(x)
    else:
        x = as_features(x)
    return x.product(weight) if isinstance(x, SparseMatrix) else x @ weight


@custom_op("kappagcn::feature_product", mutates_args=())
def feature_product_operation(x: Tensor, factor: Tensor, transposed: bool) -> Tensor:
    """X W, or XᵀG, as a function that ``torch.compile`` calls as it is; differentiable in W or G."""
    features = sparse_features(x)
    if isinstance(features, SparseMatrix):
        return multiply(features.matrices()[transposed], factor).contiguous()
    return ((x.t() if transposed else x) @ factor).contiguous()


@feature_product_operation.register_fake
def _(x: Tensor, factor: Tensor, transposed: bool) -> Tensor:
    return x.new_empty(x.shape[1 if transposed else 0], factor.shape[1])


def _save_features(ctx: Any, inputs: tuple[Tensor, Tensor, bool], output: Tensor) -> None:
    x, _, ctx.transposed = inputs
    ctx.save_for_backward(x)


def _feature_product_backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
    return None, feature_product_operation(*ctx.saved_tensors, grad, not ctx.transposed), None


feature_product_operation.register_autograd(_feature_product_backward, setup_context=_save_features)
