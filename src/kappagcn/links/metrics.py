"""How well scores tell edges from other pairs: ROC AUC, average precision, hits@k and mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.errors import TrainingError, described

__all__ = ["average_precision", "hits_at", "link_metrics", "mean_reciprocal_rank", "roc_auc"]

Array = NDArray[Any]
HITS = (10, 50, 100)


def _checked(edges: Any, others: Any) -> tuple[Array, Array]:
    one, two = np.asarray(edges, np.float64), np.asarray(others, np.float64)
    if one.ndim != 1 or two.ndim != 1 or not len(one) or not len(two):
        raise TrainingError(
            f"expected scores of at least one edge and one other pair, found {described(one)} and {described(two)}."
        )
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise TrainingError("expected finite scores, found NaN or infinite ones.")
    return one, two


def _scikit(name: str) -> Callable[..., float] | None:
    """A metric of scikit-learn, where it is installed."""
    try:
        metric: Callable[..., float] = getattr(import_module("sklearn.metrics"), name)
    except ImportError:
        return None
    return metric


def _labelled(edges: Array, others: Array) -> tuple[Array, Array]:
    return np.repeat([1, 0], [len(edges), len(others)]), np.concatenate([edges, others])


def roc_auc(edges: Any, others: Any) -> float:
    """Area under the ROC curve: the probability that an edge scores above another pair, ties counting half.

    Args:
        edges: Scores of edges.
        others: Scores of other pairs.

    >>> roc_auc([3.0, 2.0], [1.0, 2.0])
    0.875
    """
    one, two = _checked(edges, others)
    scikit = _scikit("roc_auc_score")
    return float(scikit(*_labelled(one, two))) if scikit else exact_roc_auc(one, two)


def exact_roc_auc(edges: Array, others: Array) -> float:
    """`roc_auc` without scikit-learn, from ranks."""
    below, up_to = _places(edges, others)
    return float((below + up_to).sum() / (2 * len(edges) * len(others)))


def _places(edges: Array, others: Array) -> tuple[Array, Array]:
    """Numbers of other pairs below each edge, and not above it, for the edges in order of score."""
    # Sorted edges read memory in order.
    edges, others = np.sort(edges), np.sort(others)
    return np.searchsorted(others, edges, side="left"), np.searchsorted(others, edges, side="right")


def average_precision(edges: Any, others: Any) -> float:
    """Sum of precision times the gain in recall over all thresholds.

    >>> average_precision([3.0, 1.0], [2.0])
    0.8333333333333333
    """
    one, two = _checked(edges, others)
    scikit = _scikit("average_precision_score")
    return float(scikit(*_labelled(one, two))) if scikit else exact_average_precision(one, two)


def exact_average_precision(edges: Array, others: Array) -> float:
    """`average_precision` without scikit-learn; equal scores are one threshold."""
    thresholds, counts = np.unique(edges, return_counts=True)
    above = [len(x) - np.searchsorted(np.sort(x), thresholds, side="left") for x in (edges, others)]
    return float((counts * above[0] / (above[0] + above[1])).sum() / len(edges))


def hits_at(k: int, edges: Any, others: Any) -> float:
    """Share of edges that score above the k-th best other pair (as in OGB); 1 with fewer than k others.

    >>> hits_at(1, [3.0, 2.0], [2.5, 1.0])
    0.5
    """
    one, two = _checked(edges, others)
    return 1.0 if len(two) < k else float((one > np.partition(two, -k)[-k]).mean())


def mean_reciprocal_rank(edges: Any, others: Any) -> float:
    """Mean over edges of 1/rank among that edge and all other pairs; a tie counts half a place.

    >>> mean_reciprocal_rank([3.0, 2.0], [2.5, 1.0])
    0.75
    """
    one, two = _checked(edges, others)
    below, up_to = _places(one, two)
    return float((1 / (1 + len(two) - (below + up_to) / 2)).mean())


def link_metrics(edges: Any, others: Any) -> dict[str, float]:
    """All metrics of this module by name.

    >>> sorted(link_metrics([3.0, 2.0], [1.0, 2.0]))
    ['average_precision', 'hits@10', 'hits@100', 'hits@50', 'mrr', 'roc_auc']
    """
    return {
        "roc_auc": roc_auc(edges, others),
        "average_precision": average_precision(edges, others),
        **{f"hits@{k}": hits_at(k, edges, others) for k in HITS},
        "mrr": mean_reciprocal_rank(edges, others),
    }
