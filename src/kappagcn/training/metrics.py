"""How well scores tell positive items from negative ones; by sorting alone, so that every epoch can have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kappagcn.errors import ConfigError, described

__all__ = ["average_precision", "checked_scores", "negatives_below", "roc_auc"]

Array = NDArray[np.float64]
Counts = NDArray[np.signedinteger]


def checked_scores(positive: ArrayLike, negative: ArrayLike) -> tuple[Array, Array]:
    """Scores of at least one positive and one negative item, all finite."""
    pair = np.asarray(positive, np.float64), np.asarray(negative, np.float64)
    if not all(scores.ndim == 1 and len(scores) for scores in pair):
        raise ConfigError(
            f"expected scores of at least one edge and one other pair, found {described(pair[0])} and "
            f"{described(pair[1])}."
        )
    if not all(np.isfinite(scores).all() for scores in pair):
        raise ConfigError("expected finite scores, found NaN or infinite ones.")
    return pair


def negatives_below(positive: Array, negative: Array) -> tuple[Counts, Counts]:
    """Numbers of negative items below each positive one, and not above it, for positive items in order of score."""
    positive, negative = np.sort(positive), np.sort(negative)  # sorted positive items read memory in order
    below = np.searchsorted(negative, positive, side="left")
    return below, np.searchsorted(negative, positive, side="right")


def roc_auc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Area under the ROC curve: the probability that a positive item scores above a negative one, ties counting half.

    Args:
        positive: Scores of positive items, such as edges.
        negative: Scores of negative items.

    >>> roc_auc([3.0, 2.0], [1.0, 2.0])
    0.875
    """
    pair = checked_scores(positive, negative)
    below, up_to = negatives_below(*pair)
    return float((below + up_to).sum() / (2 * len(pair[0]) * len(pair[1])))


def average_precision(positive: ArrayLike, negative: ArrayLike) -> float:
    """Sum of precision times the gain in recall over all thresholds; equal scores are one threshold.

    >>> average_precision([3.0, 1.0], [2.0])
    0.8333333333333333
    """
    pair = checked_scores(positive, negative)
    thresholds, counts = np.unique(pair[0], return_counts=True)
    hits, misses = (len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left") for scores in pair)
    return float((counts * hits / (hits + misses)).sum() / len(pair[0]))
