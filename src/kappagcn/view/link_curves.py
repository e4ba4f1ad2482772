"""Curves of a link prediction from the scores of edges and of other pairs: ROC, precision–recall, histograms."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
MOST_POINTS = 400  # most points of a drawn curve
BINS = 40


class LinkCurves(NamedTuple):
    """Points of both curves, from (0, 0) and from recall 0, and shares of scores in bins of the log-odds."""

    false_positives: Array
    true_positives: Array
    recall: Array
    precision: Array
    borders: Array
    edge_shares: Array
    other_shares: Array


def link_curves(edges: Array, others: Array) -> LinkCurves:
    """Curves over all thresholds, thinned for drawing; equal scores are one threshold.

    >>> curves = link_curves(np.array([2.0, 1.0]), np.array([1.5, 0.0]))
    >>> curves.false_positives.tolist(), curves.true_positives.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    thresholds = np.unique(np.concatenate([edges, others]))[::-1]
    true_positives = len(edges) - np.searchsorted(np.sort(edges), thresholds)
    wrong = len(others) - np.searchsorted(np.sort(others), thresholds)
    kept = np.unique(np.linspace(0, len(thresholds) - 1, MOST_POINTS).astype(int))
    true_positives, wrong = true_positives[kept], wrong[kept]
    low, high = np.quantile(np.concatenate([edges, others]), [0.005, 0.995])
    borders = np.linspace(low, max(high, low + 1e-6), BINS + 1)
    shares = [np.histogram(np.clip(x, low, borders[-1]), borders)[0] / len(x) for x in (edges, others)]
    precision = true_positives / (true_positives + wrong)
    return LinkCurves(
        np.concatenate([[0.0], wrong / len(others)]),
        np.concatenate([[0.0], true_positives / len(edges)]),
        np.concatenate([[0.0], true_positives / len(edges)]),
        np.concatenate([precision[:1], precision]),
        borders,
        *shares,
    )
