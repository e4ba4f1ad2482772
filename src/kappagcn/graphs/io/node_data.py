"""Features and labels of nodes as tensors, checked; conversions between torch, SciPy and NumPy."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from kappagcn.errors import GraphError

DENSE_LIMIT = 8 * 2**30  # largest dense feature matrix in bytes that is made from a sparse one


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
        return _sparse_tensor(sp.csr_array(matrix))
    if matrix.shape[0] * matrix.shape[1] * 4 > DENSE_LIMIT:
        raise GraphError(
            f"expected features that fit in {DENSE_LIMIT >> 30} GiB, found {matrix.shape[0]:,} × {matrix.shape[1]:,}. "
            "Keep them sparse with sparse=True."
        )
    return torch.from_numpy(np.ascontiguousarray(matrix.toarray() if sp.issparse(matrix) else matrix))


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


def _sparse_tensor(matrix: sp.csr_array) -> Tensor:
    rows, cols = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data.astype(np.float32))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(rows, cols, values, size=matrix.shape, check_invariants=False)


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
