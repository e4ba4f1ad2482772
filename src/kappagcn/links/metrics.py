"""Metrics of link prediction; simple scores of pairs as baselines, and the verdict beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data

from kappagcn.graphs import EdgeSplit
from kappagcn.training.estimate import average_precision, checked_scores, negatives_below, roc_auc

HITS = (10, 50, 100)
Array = NDArray[Any]
FEW = 10  # fewest test edges for a verdict
BLOCK = 2**16  # pairs whose rows of the matrix are compared at once


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


def _common(links: sp.csr_array, weights: Array, pairs: Array) -> Array:
    """Sum of the weights of the common neighbours of each pair, (P,)."""
    weighted = sp.csr_array(links @ sp.diags_array(weights))
    scores = [
        weighted[first].multiply(links[second]).sum(axis=1)
        for first, second in zip(*(np.array_split(ends, -(-len(ends) // BLOCK) or 1) for ends in pairs), strict=True)
    ]
    return np.concatenate(scores)


def _common_neighbours(links: sp.csr_array, degree: Array, pairs: Array) -> Array:
    return _common(links, np.ones(len(degree)), pairs)


def _adamic_adar(links: sp.csr_array, degree: Array, pairs: Array) -> Array:
    return _common(links, 1 / np.log(np.maximum(degree, 2)), pairs)


def _degree_product(links: sp.csr_array, degree: Array, pairs: Array) -> Array:
    product: Array = degree[pairs[0]] * degree[pairs[1]]
    return product


BASELINES: dict[str, Callable[[sp.csr_array, Array, Array], Array]] = {
    "common neighbours": _common_neighbours,
    "Adamic–Adar": _adamic_adar,
    "degree product": _degree_product,
}
"""Common neighbours; common neighbours weighted by 1/log(degree); product of degrees (preferential attachment)."""


def baseline_scores(name: str, view: Data, pairs: Array) -> Array:
    """Scores of pairs, (2, P) → (P,), from the edges of a graph without their weights.

    >>> from kappagcn.graphs import cycle
    >>> baseline_scores("common neighbours", cycle(4), np.array([[0, 0], [1, 2]])).tolist()
    [0.0, 2.0]
    """
    n = view.num_nodes
    first, second = view.edge_index.numpy()
    links = sp.csr_array((np.ones(len(first)), (first, second)), shape=(n, n))
    degree = np.bincount(first, minlength=n).astype(np.float64)
    return BASELINES[name](links, degree, pairs)


def baseline_metrics(data: Data, split: EdgeSplit) -> dict[str, dict[str, float]]:
    """Metrics of each baseline on the test pairs, from training edges alone."""
    return {name: link_metrics(*baseline_test_scores(name, data, split)) for name in BASELINES}


def baseline_test_scores(name: str, data: Data, split: EdgeSplit) -> tuple[Array, Array]:
    """Scores of the test edges and of the other test pairs, from training edges alone."""
    pairs = split.final_test_pairs()
    scores = baseline_scores(name, split.training_view(data), pairs.both.numpy())
    return scores[: pairs.edges.shape[1]], scores[pairs.edges.shape[1] :]


def best_baseline(metrics: dict[str, dict[str, float]]) -> str:
    """The baseline with the highest AUC."""
    return max(metrics, key=lambda name: metrics[name]["roc_auc"])


def verdict(interval: Sequence[float], gap: Sequence[float], best: str, auc: float, test_edges: int = FEW) -> str:
    """A verdict on the AUC on test pairs, in one sentence.

    Args:
        interval: 95 % interval of the AUC.
        gap: 95 % interval of the difference to the best baseline on the same pairs.
        best: Name of that baseline.
        auc: AUC of that baseline.
        test_edges: Number of test edges over all splits; fewer than 10 are not enough for a verdict.

    >>> verdict((0.42, 0.60), (-0.1, 0.1), "degree product", 0.51)
    'not better than chance: the interval of the AUC is 0.420 to 0.600.'
    """
    low, high = interval
    if test_edges < FEW:
        return f"too few test edges to say, {test_edges}: use more --splits, or a larger share with --test."
    if low <= 0.5:
        return f"not better than chance: the interval of the AUC is {low:.3f} to {high:.3f}."
    if gap[1] < 0:
        return f"worse than {best} alone, AUC {auc:.3f}: use that, or try another space or more layers."
    if gap[0] > 0:
        return f"better than chance, and than {best}, the best simple score, AUC {auc:.3f}."
    return (
        f"better than chance; level with {best}, the best simple score, AUC {auc:.3f} (difference {gap[0]:+.3f} to "
        f"{gap[1]:+.3f})."
    ).replace("-", "−")
