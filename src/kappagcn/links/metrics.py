"""Metrics of link prediction: ROC AUC, average precision, hits@k and mean reciprocal rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kappagcn.training.metrics import average_precision, checked_scores, negatives_below, roc_auc

__all__ = ["hits_at", "link_metrics", "mean_reciprocal_rank"]

HITS = (10, 50, 100)


def hits_at(k: int, edges: ArrayLike, others: ArrayLike) -> float:
    """Share of edges that score above the k-th best other pair (as in OGB); 1 with fewer than k others.

    >>> hits_at(1, [3.0, 2.0], [2.5, 1.0])
    0.5
    """
    positive, negative = checked_scores(edges, others)
    return 1.0 if len(negative) < k else float((positive > np.partition(negative, -k)[-k]).mean())


def mean_reciprocal_rank(edges: ArrayLike, others: ArrayLike) -> float:
    """Mean over edges of 1/rank among that edge and all other pairs; a tie counts half a place.

    >>> mean_reciprocal_rank([3.0, 2.0], [2.5, 1.0])
    0.75
    """
    positive, negative = checked_scores(edges, others)
    below, up_to = negatives_below(positive, negative)
    return float((1 / (1 + len(negative) - (below + up_to) / 2)).mean())


def link_metrics(edges: ArrayLike, others: ArrayLike) -> dict[str, float]:
    """All metrics of link prediction by name.

    >>> sorted(link_metrics([3.0, 2.0], [1.0, 2.0]))
    ['average_precision', 'hits@10', 'hits@100', 'hits@50', 'mrr', 'roc_auc']
    """
    return {
        "roc_auc": roc_auc(edges, others),
        "average_precision": average_precision(edges, others),
        **{f"hits@{k}": hits_at(k, edges, others) for k in HITS},
        "mrr": mean_reciprocal_rank(edges, others),
    }
