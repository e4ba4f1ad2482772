"""Features and labels of nodes as tensors, checked; conversions between torch, SciPy and NumPy."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from kappagcn.errors import GraphError

DENSE_LIMIT = 8 * 2**30  # largest dense feature matrix in bytes that is made from a sparse one
FULL = 0.2  # share of non-zero entries from which keeping features sparse no longer saves time
COUNTS_FULL, SHARES_FULL = 0.5, 0.2  # largest share of non-zero entries of words: as counts, and as fractions of rows
ALWAYS = 0.9  # share of rows from which a column is no word: a word is not in nearly every document


def as_features(matrix: Any, *, sparse: bool = False) -> Tensor:
    """Features (N, D) of any array or tensor type as a float32 tensor, dense or CSR; NaN and infinity are refused."""
    if isinstance(matrix, Tensor):
        matrix = from_tensor(matrix.detach().cpu())
    matrix = sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)
    if matrix.dtype.kind not in "biuf" or matrix.ndim != 2:
        raise GraphError(f"expected features as numbers (nodes, features), found {matrix.dtype} {matrix.shape}.")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    bad = int((~np.isfinite(matrix.data if sp.issparse(matrix) else matrix)).sum())
    if bad:
        raise GraphError(
            f"expected finite features, found {bad:,} {'entry' if bad == 1 else 'entries'} that are NaN, "
            "infinite or too large for float32. Fill them in or drop the column."
        )
    if sparse:
        rows = sp.csr_array(matrix)
        return csr_tensor(rows.indptr, rows.indices, rows.data, rows.shape)
    if matrix.shape[0] * matrix.shape[1] * 4 > DENSE_LIMIT:
        raise GraphError(
            f"expected features that fit in {DENSE_LIMIT >> 30} GiB, found {matrix.shape[0]:,} × {matrix.shape[1]:,}. "
            "Keep them sparse with sparse=True."
        )
    return torch.from_numpy(np.ascontiguousarray(matrix.toarray() if sp.issparse(matrix) else matrix))


def are_words(x: Tensor) -> bool:
    """Whether features are words of documents: counts, 0 and 1, or counts weighted or divided by row, mostly zero.

    The decision is by column, so that an income beside many columns of 0 and 1 is none: without the columns of 0 and 1,
    the entries must be mostly zero too, and no column may be non-zero in nearly all rows. The layout does not matter.

    >>> are_words(torch.eye(5)), are_words(torch.randn(5, 2))
    (True, False)
    >>> are_words(torch.cat([torch.eye(5), torch.tensor([[30.0], [41.0], [25.0], [67.0], [52.0]])], 1))
    False
    """
    if x.layout == torch.strided:
        present, other = (x != 0).sum(0), ((x != 0) & (x != 1)).any(0)
        entries = x
    else:
        entries, columns = x.values(), x.col_indices()
        present = torch.bincount(columns[entries != 0], minlength=x.shape[1])
        other = torch.bincount(columns[(entries != 0) & (entries != 1)], minlength=x.shape[1]) > 0
    rows = x.shape[0]
    if bool((entries < 0).any()) or 2 * int(present.sum()) >= rows * x.shape[1]:
        return False
    if not bool(other.any()):
        return True
    whole = bool((entries == entries.round()).all())
    density = present[other].double() / rows
    return float(density.mean()) < (COUNTS_FULL if whole else SHARES_FULL) and float(density.max()) < ALWAYS


def fits_dense(x: Tensor) -> bool:
    """Whether features are dense or small enough to become so."""
    return x.layout == torch.strided or x.shape[0] * x.shape[1] * 4 <= DENSE_LIMIT


def compact_features(x: Tensor) -> Tensor:
    """Features as networks take them fastest, whatever the layout they came in: words sparse, all others dense.

    >>> compact_features(torch.eye(9)).layout, compact_features(torch.ones(2, 3).to_sparse_csr()).layout
    (torch.sparse_csr, torch.strided)
    """
    entries = x if x.layout == torch.strided else x.values()
    if are_words(x) and int((entries != 0).sum()) <= FULL * x.shape[0] * x.shape[1]:
        return as_features(sp.csr_array(from_tensor(x)), sparse=True) if x.layout == torch.strided else x
    return x.to_dense() if fits_dense(x) else x


def one_hot(num_nodes: int) -> Tensor:
    """The identity matrix as features, one column per node, sparse (N, N)."""
    return as_features(sp.eye_array(num_nodes, format="csr"), sparse=True)


def from_tensor(x: Tensor) -> Any:
    """A dense tensor as a NumPy array, a sparse one of any layout as a SciPy CSR array."""
    if x.layout == torch.strided:
        return x.float().numpy() if x.is_floating_point() else x.numpy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        x = x.float().to_sparse_csr()
    return sp.csr_array((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=tuple(x.shape))


def csr_tensor(starts: Any, columns: Any, values: Any, size: tuple[int, ...]) -> Tensor:
    """A sparse CSR tensor of NumPy arrays or tensors that were checked."""
    starts, columns, values = (torch.as_tensor(part) for part in (starts, columns, values))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts.long(), columns.long(), values, size=size, check_invariants=False)


def as_labels(labels: Any, num_classes: int | None = None) -> Tensor:
    """Class numbers (N,) below `num_classes` or N, −1 for unknown, as int64; floats with integer values are fine."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "biuf":
        raise GraphError(f"expected labels as a list of integers, found {labels.dtype} of shape {labels.shape}.")
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.round(labels))).all():
        raise GraphError("expected labels that are integers, found fractions or NaN.")
    numbers = labels.astype(np.int64)
    top = (len(labels) if num_classes is None else num_classes) - 1
    if len(numbers) and not -1 <= int(numbers.min()) <= int(numbers.max()) <= top:
        raise GraphError(
            f"expected labels from 0 to {top}, or −1 for unknown, found {int(numbers.min())} to {int(numbers.max())}. "
            "Number the classes from 0."
        )
    return torch.from_numpy(numbers)
