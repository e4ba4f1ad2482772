"""HGCN's preparation of the Airport dataset: features and labels from the columns stored per airport."""

from __future__ import annotations

from typing import Any

import numpy as np

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import Array

COLUMNS = ("latitude/90", "longitude/180", "altitude/3000 ft", "log10(gdp)/7", "log10(population)/7")
MAX_DEGREE = 5  # larger degrees count as this


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
            be negative or nearly zero (entries reach 286); ``"standard"`` scales each column to mean 0 and variance 1;
            ``"none"`` leaves them unchanged.

    >>> airport_features(np.ones((2, 4)), [2, 9], scaling="none")
    array([[1., 1., 1., 1., 0., 0., 1., 0., 0., 0., 1.],
           [1., 1., 1., 1., 0., 0., 0., 0., 0., 1., 1.]])
    """
    own = np.asarray(feat, np.float64)[:, :4]
    if scaling == "hgcn":
        total = own.sum(axis=1, keepdims=True)
        own = np.divide(own, total, out=np.zeros_like(own), where=total != 0)
    elif scaling == "standard":
        own = (own - own.mean(axis=0)) / own.std(axis=0)
    elif scaling != "none":
        raise GraphError(f"expected scaling hgcn, standard or none, found {scaling!r}.")
    levels = np.eye(MAX_DEGREE + 1)[np.minimum(np.asarray(degree).astype(np.int64), MAX_DEGREE)]
    return np.concatenate([own, levels, np.ones((len(own), 1))], axis=1)
