"""Matrices cached with the tensors that they were made from, for layers that get the same tensors in every call.

The normalised adjacency of an edge_index, and the entries of dense features that are mostly zeros.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from kappagcn.nn.inputs import Adjacency, NodeRows, Size, as_adjacency
from kappagcn.sparse import SparseMatrix
from kappagcn.tracing import is_cheap_to_read

__all__ = ["prepared_adjacency", "sparse_features"]

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
    x: NodeRows, edge_index: Adjacency, edge_weight: Tensor | None = None, size: Size = None, **options: Any
) -> SparseMatrix:
    """`as_adjacency`, whose matrix is kept as long as calls have the same, unchanged tensors.

    Changes of a tensor that torch does not count, through NumPy or ``.data``, are not noticed.
    """
    tensors = [edge_index] if edge_weight is None else [edge_index, edge_weight]
    if not all(_is_plain(t) for t in tensors):
        return as_adjacency(x, edge_index, edge_weight, size, **options)
    rows = tuple(None if part is None else part.shape[0] for part in (x if isinstance(x, tuple) else (x,)))
    key, versions = (rows, size, *sorted(options.items())), tuple(t._version for t in tensors)
    matrices: dict[Any, _KeptMatrix] = _adjacencies.setdefault(edge_index, {})
    kept = matrices.get(key)
    if kept is not None and kept.versions == versions and _refers(kept.weight, edge_weight):
        return kept.matrix
    matrix = as_adjacency(x, edge_index, edge_weight, size, **options)
    matrix.rows, matrix.cols, matrix.values = (_own_copy(t) for t in (matrix.rows, matrix.cols, matrix.values))
    if len(matrices) >= MOST:
        matrices.clear()
    matrices[key] = _KeptMatrix(versions, None if edge_weight is None else weakref.ref(edge_weight), matrix)
    return matrix


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


def _is_plain(t: Any) -> bool:
    """Whether a tensor's values can be read, are not differentiated, and their changes are counted."""
    if type(t) is not Tensor or t.layout != torch.strided or t.requires_grad:
        return False
    return is_cheap_to_read(t) and not t.is_inference()


def _refers(reference: weakref.ref[Tensor] | None, weight: Tensor | None) -> bool:
    return weight is None if reference is None else reference() is weight


def _own_copy(t: Tensor) -> Tensor:
    """The tensor, copied if it is a view of another one, which would be kept too."""
    return t if t._base is None else t.clone()
