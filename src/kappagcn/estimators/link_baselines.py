"""Simple scores of pairs from the graph alone, as baselines of a link prediction, and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.graphs import EdgeSplit
from kappagcn.training import link_metrics

__all__ = ["BASELINES", "baseline_metrics", "baseline_scores", "verdict"]

Array = NDArray[Any]
FEW = 10  # fewest test edges for a verdict
BLOCK = 2**16  # pairs whose rows of the matrix are compared at once


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
"""Number of common neighbours; the same weighted by 1/log(degree); product of degrees (preferential attachment)."""


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
    view, pairs = split.training_view(data), split.final_test_pairs()
    count, both = pairs.edges.shape[1], pairs.both.numpy()
    scores = {name: baseline_scores(name, view, both) for name in BASELINES}
    return {name: link_metrics(each[:count], each[count:]) for name, each in scores.items()}


def verdict(auc: float, interval: tuple[float, float], baselines: dict[str, float], test_edges: int = FEW) -> str:
    """A verdict on the AUC on test pairs, in one sentence.

    Args:
        auc: Mean AUC.
        interval: 95 % interval of the AUC.
        baselines: AUC of each baseline on the same pairs.
        test_edges: Number of test edges over all splits; fewer than 10 are not enough for a verdict.

    >>> verdict(0.51, (0.42, 0.60), {"degree product": 0.4})
    'not better than chance: the interval of the AUC is 0.420 to 0.600.'
    """
    low, high = interval
    if test_edges < FEW:
        return f"too few test edges to say, {test_edges}: use more --splits, or a larger share with --test."
    if low <= 0.5:
        return f"not better than chance: the interval of the AUC is {low:.3f} to {high:.3f}."
    best = max(baselines, key=lambda name: baselines[name])
    if baselines[best] > auc:
        return f"worse than {best} alone, AUC {baselines[best]:.3f}: use that, or try another space or more layers."
    return f"better than chance, and than {best}, the best simple score, AUC {baselines[best]:.3f}."
