"""Matrices cached with the tensors that they were made from, for layers that get the same tensors in every call.

The normalised adjacency of an edge_index, and the entries of dense features that are mostly zeros.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.library import custom_op
from torch.utils.weak import WeakTensorKeyDictionary

from kappagcn.nn.inputs import Adjacency, NodeRows, Size, as_adjacency
from kappagcn.sparse import CSR, SparseMatrix, multiply
from kappagcn.tracing import is_cheap_to_read, is_compiled_for_cpu

__all__ = ["feature_product", "prepared_adjacency", "sparse_features"]

MOST = 4  # most matrices of one edge_index, with different weights, normalisations or dtypes
LARGEST_DENSITY = 0.2  # largest share of non-zero entries for which a sparse product is faster
SMALLEST = 100_000  # fewest entries of features for which counting zeros is worth its time


class _KeptMatrix(NamedTuple):
    versions: tuple[int, ...]  # version counters of edge_index and edge_weight, which change with every change in place
    weight: weakref.ref[Tensor] | None
    matrix: SparseMatrix


_adjacencies: WeakTensorKeyDictionary = (
    WeakTensorKeyDictionary()
)  # by identity; an entry is removed with its edge_index
_features: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # version and matrix, or None, of dense features


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
    """`as_adjacency`, whose matrix is kept as long as calls have the same, unchanged tensors.

    Matrices belong to their edge_index: they are found by its identity and removed with it. Changes in place that torch
    counts are noticed; those through NumPy or ``.data`` are not.
    """
    options: dict[str, Any] = {"normalization": normalization, "loop_weight": loop_weight, "flow": flow, "dtype": dtype}
    tensors: list[Any] = [edge_index] if edge_weight is None else [edge_index, edge_weight]
    if not all(_is_plain(t) for t in tensors):
        matrix = as_adjacency(x, edge_index, edge_weight, size, **options)
        if torch.compiler.is_compiling() and type(edge_index) is Tensor and edge_index.layout == torch.strided:
            return _with_arrays(matrix, edge_index, edge_weight, size is not None or isinstance(x, tuple), options)
        return matrix
    nodes = tuple(None if part is None else part.shape[0] for part in (x if isinstance(x, tuple) else (x,)))
    key, versions = (nodes, size, *options.values()), tuple(t._version for t in tensors)
    matrices: dict[Any, _KeptMatrix] = _adjacencies.setdefault(edge_index, {})
    kept = matrices.get(key)
    if kept is not None and kept.versions == versions and _refers(kept.weight, edge_weight):
        return kept.matrix
    with torch.inference_mode(False):  # training may follow
        matrix = as_adjacency(x, edge_index, edge_weight, size, **options)
        rows, cols, values = (_without_base(t) for t in (matrix.rows, matrix.cols, matrix.values))
        matrix = SparseMatrix(rows, cols, values, matrix.shape)
    if len(matrices) >= MOST:
        matrices.clear()
    matrices[key] = _KeptMatrix(versions, None if edge_weight is None else weakref.ref(edge_weight), matrix)
    return matrix


def _with_arrays(
    matrix: SparseMatrix, edge_index: Tensor, edge_weight: Tensor | None, bipartite: bool, options: dict[str, Any]
) -> SparseMatrix:
    """The matrix with arrays for products from the cache; what they replace is dropped from the compiled function."""
    if not matrix.is_local():
        return matrix
    (rows, cols), dtype = matrix.shape, options.pop("dtype")
    arrays = prepared_arrays(edge_index, edge_weight, cols, rows, bipartite, dtype == torch.float64, **options)
    return matrix.with_arrays(CSR(*arrays[:3]), CSR(*arrays[3:6]), arrays[6])


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

    Args:
        edge_index: Edges, (2, E).
        edge_weight: Weights, (E,); None for 1.
        sources: Number of sources N.
        targets: Number of targets M.
        bipartite: Whether sources and targets are two kinds of nodes.
        double: Whether entries are of float64 instead of float32.
        normalization: As in `prepared_adjacency`.
        loop_weight: As in `prepared_adjacency`.
        flow: As in `prepared_adjacency`.

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


def sparse_features(x: Tensor) -> Tensor | SparseMatrix:
    """Dense features as a sparse matrix if they are mostly zeros, from the second call with the same tensor on.

    Their zeros are counted and the matrix is made once, which takes as long as a few products.
    """
    if x.dim() != 2 or not _is_plain(x) or x.numel() < SMALLEST:  # while exporting, the number of rows is not known
        return x
    version, matrix = _features.get(x, (-1, None))
    if version != x._version:  # not seen before
        _features[x] = (x._version, None)
        return x
    if matrix is None:
        sparse = int(torch.count_nonzero(x)) <= LARGEST_DENSITY * x.numel() and bool(x.isfinite().all())
        matrix = SparseMatrix.from_tensor(x) if sparse else False
        _features[x] = (version, matrix)
    return matrix or x


def feature_product(x: Tensor, weight: Tensor) -> Tensor:
    """X W for dense features X, (N, D) and (D, E) → (N, E), with `sparse_features`; also in compiled functions.

    >>> feature_product(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if not is_compiled_for_cpu(x):
        features = sparse_features(x)
        return features.product(weight) if isinstance(features, SparseMatrix) else features @ weight
    if x.layout != torch.strided or x.dim() != 2 or x.requires_grad or x.numel() < SMALLEST:
        return x @ weight
    return cast(Tensor, feature_product_operation(x, weight))


@custom_op("kappagcn::feature_product", mutates_args=())
def feature_product_operation(x: Tensor, weight: Tensor) -> Tensor:
    """`feature_product` as a function that ``torch.compile`` calls as it is; differentiable in the weights."""
    features = sparse_features(x)
    return (features.product(weight) if isinstance(features, SparseMatrix) else x @ weight).contiguous()


@custom_op("kappagcn::feature_product_backward", mutates_args=())
def feature_product_backward(x: Tensor, grad: Tensor) -> Tensor:
    """The gradient of X W with respect to W, XᵀG, (N, D) and (N, E) → (D, E)."""
    features = sparse_features(x)
    if isinstance(features, SparseMatrix):
        return multiply(features.matrices()[1], grad).contiguous()
    return (x.t() @ grad).contiguous()


@feature_product_operation.register_fake
def _(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], weight.shape[1])


@feature_product_backward.register_fake
def _(x: Tensor, grad: Tensor) -> Tensor:
    return x.new_empty(x.shape[1], grad.shape[1])


def _save_features(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])


def _feature_product_backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
    return None, feature_product_backward(*ctx.saved_tensors, grad)


feature_product_operation.register_autograd(_feature_product_backward, setup_context=_save_features)


def _is_plain(t: Any) -> bool:
    """Whether a tensor's values can be read, are not differentiated, and their changes are counted."""
    if type(t) is not Tensor or t.layout != torch.strided or t.requires_grad:
        return False
    return is_cheap_to_read(t) and not t.is_inference()


def _refers(reference: weakref.ref[Tensor] | None, weight: Tensor | None) -> bool:
    return weight is None if reference is None else reference() is weight


def _without_base(t: Tensor) -> Tensor:
    """The tensor, copied if it is a view of another one, which would be kept too."""
    return t if t._base is None else t.clone()
