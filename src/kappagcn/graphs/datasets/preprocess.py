"""Preparation of features before training: normalised rows, standardised columns, HGCN's columns of Airport."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import as_features, from_tensor
from kappagcn.graphs.io.undirected import Array

# Columns of Airport's features.
COLUMNS = ("latitude/90", "longitude/180", "altitude/3000 ft", "log10(gdp)/7", "log10(population)/7")
MAX_DEGREE = 5  # larger degrees count as this number
DEGREES = (*(f"degree {degree}" for degree in range(MAX_DEGREE)), f"degree {MAX_DEGREE} or more")
AIRPORT_NAMES = ("latitude", "longitude", "altitude", "gdp", *DEGREES, "constant")
"""Names of the eleven features, `attr_names`."""
FLOOR = 1e-12  # smallest divisor, as in PPNP; rows without features stay zero


def normalize_rows(x: Tensor, *, order: int = 1) -> Tensor:
    """Divide each row of the features by its norm, at least 1e-12; sparse features stay sparse.

    Args:
        x: Features, (N, D).
        order: 1 for the L¹ norm, 2 for the L² norm.

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
    """Mean and standard deviation of each column of dense features, (D,) each.

    Columns that are constant, or hold only zeros and ones, get 0 and 1: they are not changed by standardisation.
    """
    _check_dense(x)
    deviation = x.std(dim=0, correction=0)
    kept = (deviation == 0) | ((x == 0) | (x == 1)).all(dim=0)
    return torch.where(kept, 0, x.mean(dim=0)), torch.where(kept, 1, deviation)


def standardize_columns(x: Tensor, statistics: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Scale each column of dense features to mean 0 and standard deviation 1, except columns of zeros and ones.

    Args:
        x: Features, (N, D).
        statistics: Result of `column_statistics` for the features that a network was trained on; None for those of x.

    >>> standardize_columns(torch.tensor([[1.0, 1.0], [3.0, 0.0]])).tolist()
    [[-1.0, 1.0], [1.0, 0.0]]
    """
    _check_dense(x)
    mean, deviation = column_statistics(x) if statistics is None else statistics
    return (x - mean) / deviation


def airport_labels(feat: Array) -> Array:
    """Class by the population of the country: below 10⁷, 10⁸, 10⁹, or more, from the last of the five columns.

    >>> airport_labels(np.array([[0, 0, 0, 0, 0.9], [0, 0, 0, 0, 1.2]]))
    array([0, 2])
    """
    feat = np.asarray(feat, np.float64)
    if feat.ndim != 2 or feat.shape[1] != len(COLUMNS):
        raise GraphError(f"expected five columns ({', '.join(COLUMNS)}), found shape {feat.shape}.")
    bins: Array = np.digitize(feat[:, 4], [7 / 7, 8 / 7, 9 / 7])
    return bins - bins.min() if len(bins) else bins


def airport_features(feat: Any, degree: Any, *, scaling: str = "hgcn") -> Array:
    """The eleven features: four columns of the airport, its degree (at most 5) as one-hot, and a constant, (N, 11).

    Args:
        feat: The first four of the stored columns, (N, 4); a fifth, which determines the label, is ignored.
        degree: Number of neighbours in the stored graph, a self-loop included, (N,).
        scaling: Scaling of the four columns. ``"hgcn"`` divides each row by its sum, as HGCN does, although the sum may
            be negative or nearly zero (entries reach 286); ``"none"`` leaves them unchanged.

    >>> airport_features(np.ones((2, 4)), [2, 9], scaling="none")
    array([[1., 1., 1., 1., 0., 0., 1., 0., 0., 0., 1.],
           [1., 1., 1., 1., 0., 0., 0., 0., 0., 1., 1.]])
    """
    columns = np.asarray(feat, np.float64)[:, :4]
    if scaling == "hgcn":
        total = columns.sum(axis=1, keepdims=True)
        columns = np.divide(columns, total, out=np.zeros_like(columns), where=total != 0)
    elif scaling != "none":
        raise GraphError(f"expected scaling hgcn or none, found {scaling!r}.")
    return np.concatenate([columns, _degree_columns(np.asarray(degree)), np.ones((len(columns), 1))], axis=1)


def _degree_columns(degree: Array) -> Array:
    """Degrees, at most 5, as one-hot, (N, 6)."""
    columns: Array = np.eye(MAX_DEGREE + 1)[np.minimum(degree.astype(np.int64), MAX_DEGREE)]
    return columns


def count_degrees(x: Tensor, names: Sequence[str], edge_index: Tensor) -> Tensor:
    """Features whose columns ``"degree 0"`` to ``"degree 5 or more"`` are counted from these edges.

    Args:
        x: Features, (N, D), with 0 and 1 in those columns; without columns of these names they are not changed.
        names: Names of the columns, `attr_names`.
        edge_index: Edges in both directions, (2, E), such as training edges, when others must not be seen.

    >>> path = torch.tensor([[0, 1], [1, 0]])
    >>> count_degrees(torch.eye(6)[:3], DEGREES, path)[:, :3].tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    if len(names) != x.shape[1] or not set(DEGREES) <= set(names):
        return x
    places = [list(names).index(name) for name in DEGREES]
    counted = x.to_dense().clone()
    if not (counted[:, places] == 0).logical_or_(counted[:, places] == 1).all():
        raise GraphError(
            f"x: expected 0 and 1 in the columns {DEGREES[0]!r} to {DEGREES[-1]!r}, which are counted again from "
            "training edges, found other numbers. Scale the features of split.training_view(data) instead."
        )
    degree = torch.bincount(edge_index[0], minlength=len(x)).cpu().numpy()
    counted[:, places] = torch.from_numpy(_degree_columns(degree)).to(counted)
    if x.layout == torch.strided:
        return counted
    return as_features(counted.cpu().numpy(), sparse=True).to(device=x.device, dtype=x.dtype)
