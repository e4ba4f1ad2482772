"""Preparation of features before training: normalised rows, standardised columns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import as_features, from_tensor

__all__ = ["column_statistics", "normalize_rows", "standardize_columns"]

FLOOR = 1e-12  # PPNP's: rows without features stay zero


def normalize_rows(x: Tensor, *, order: int = 1) -> Tensor:
    """Each row of the features divided by its L¹ norm, or its length (order 2), floored at 1e-12; sparse stays sparse.

    >>> normalize_rows(torch.tensor([[1.0, -3.0], [0.0, 0.0]])).tolist()
    [[0.25, -0.75], [0.0, 0.0]]
    >>> normalize_rows(torch.tensor([[3.0, -4.0]]), order=2)
    tensor([[ 0.6000, -0.8000]])
    """
    if order not in (1, 2):
        raise GraphError(f"order: expected 1 or 2, found {order!r}.")
    if x.layout == torch.sparse_csr:
        matrix = from_tensor(x)
        sums = (np.abs(matrix) if order == 1 else matrix.power(2)).sum(axis=1)
        norms = np.maximum(sums if order == 1 else np.sqrt(sums), FLOOR).astype(np.float32)
        return as_features(sp.diags_array(1 / norms) @ matrix, sparse=True)
    lengths: Tensor = torch.linalg.vector_norm(x, ord=order, dim=1, keepdim=True)
    return x / lengths.clamp_min(FLOOR)


def _check_dense(x: Tensor) -> None:
    if x.layout != torch.strided:
        raise GraphError("standardize: expected dense features, found sparse ones, which would become dense.")


def column_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column of dense features; 0 and 1 for those that hold only zeros and ones.

    A constant column counts as one of those, whatever its value.
    """
    _check_dense(x)
    spread = x.std(dim=0, correction=0)
    kept = (spread == 0) | ((x == 0) | (x == 1)).all(dim=0)
    return torch.where(kept, 0, x.mean(dim=0)), torch.where(kept, 1, spread)


def standardize_columns(x: Tensor, statistics: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Each column of dense features brought to mean 0 and standard deviation 1; columns of zeros and ones stay.

    Args:
        x: Features, (N, D).
        statistics: What `column_statistics` said of the features a network was trained on; by default of x.

    >>> standardize_columns(torch.tensor([[1.0, 1.0], [3.0, 0.0]])).tolist()
    [[-1.0, 1.0], [1.0, 0.0]]
    """
    _check_dense(x)
    mean, spread = column_statistics(x) if statistics is None else statistics
    return (x - mean) / spread
