"""Metrics of scores, and the mean of a metric over several runs with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kappagcn.errors import ConfigError, described

Array = NDArray[np.float64]
Counts = NDArray[np.signedinteger]
RESAMPLES = 1000
NORMAL = 1.96  # half-width of a 95 % interval in standard errors


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


@dataclass(frozen=True, order=True)
class Estimate:
    """A mean and the half-width of its 95 % interval, None for a single value.

    >>> print(Estimate(0.8312, 0.0071), Estimate(-0.5, None))
    0.831 ± 0.007 −0.500
    """

    mean: float
    interval: float | None

    @property
    def bounds(self) -> list[float] | None:
        """Ends of the interval."""
        return None if self.interval is None else [self.mean - self.interval, self.mean + self.interval]

    def __str__(self) -> str:
        margin = "" if self.interval is None else f" ± {self.interval:.3f}"
        return f"{self.mean:.3f}{margin}".replace("-", "−")


def bootstrapped(values: Sequence[float]) -> Estimate:
    """The mean with the interval of PPNP: the farther of the 2.5 and 97.5 percentiles of the means of 1000 resamples.

    It covers what differs between the runs. Where runs share test items, use `over_splits`.

    >>> str(bootstrapped([0.8, 0.82, 0.81, 0.83]))
    '0.815 ± 0.010'
    """
    array = np.asarray(values, float)
    if not len(array):
        raise ValueError("expected at least one value, found none.")
    if len(array) == 1:
        return Estimate(float(array[0]), None)
    from scipy.stats import bootstrap  # takes half a second to import

    options: dict[str, Any] = {"n_resamples": RESAMPLES, "method": "percentile", "rng": np.random.default_rng(0)}
    low, high = bootstrap([array], np.mean, **options).confidence_interval
    mean = float(array.mean())
    return Estimate(mean, float(max(mean - low, high - mean)))


def over_splits(values: Sequence[float], tests: Sequence[set[int]], variances: Sequence[float] = ()) -> Estimate:
    """The mean over runs on splits of one graph; its interval covers splits, seeds and the draw of the test items.

    Test items that runs share bring the same chance into all of them, which the spread of the runs does not show. With
    the variance v of a value by the draw of its test items, and the mean share ρ of test items that two of n runs have
    in common, the variance of the mean is max(b², (1 − ρ)v/n) + ρv, where b is the error of the mean by `bootstrapped`.
    For a single run it is v: that interval covers the draw of the test items alone.

    Args:
        values: One value for each run.
        tests: Test items of each run.
        variances: Variance of each value by the draw of its test items; by default the variance of the values.

    >>> same = [set(range(200))] * 5
    >>> str(over_splits([0.84, 0.88, 0.86, 0.90, 0.87], same, [0.87 * 0.13 / 200] * 5))
    '0.870 ± 0.050'
    """
    plain = bootstrapped(values)
    if plain.interval is None and not variances:
        return plain
    overlap = mean_overlap(tests)
    drawn = float(np.mean(variances)) if variances else float(np.var(values, ddof=1))
    spread = ((plain.interval or 0.0) / NORMAL) ** 2
    return Estimate(plain.mean, NORMAL * math.sqrt(max(spread, (1 - overlap) * drawn / len(values)) + overlap * drawn))


def drawn_variance(values: NDArray[np.floating], low: float, high: float) -> float:
    """Variance of the mean of values of test items by their draw; one value at either end is added.

    So four right answers of four have an interval too.

    >>> round(drawn_variance(np.array([1.0, 1.0, 1.0, 1.0]), 0, 1), 3)
    0.023
    """
    padded = np.concatenate([values, [low, high]])
    return float(padded.var() / len(padded))


def mean_overlap(tests: Sequence[set[int]]) -> float:
    """Mean share that two test sets have in common; 0 for a single set.

    >>> mean_overlap([{1, 2}, {2, 3}])
    0.5
    """
    return float(np.mean([len(a & b) / max(len(a), len(b), 1) for a, b in combinations(tests, 2)] or [0.0]))
