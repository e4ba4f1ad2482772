"""The mean of several runs with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

__all__ = ["Estimate", "bootstrapped", "mean_overlap"]

RESAMPLES = 1000


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


def bootstrapped(values: Sequence[float], overlap: float = 0.0) -> Estimate:
    """The mean with the interval of PPNP: the farther of the 2.5 and 97.5 percentiles of the means of 1000 resamples.

    Args:
        values: One value for each run.
        overlap: Share of the test set that two runs have in common. Such values are not independent: with a
            correlation of ρ the variance of the mean of n values is 1 + (n − 1)ρ times as large.

    >>> str(bootstrapped([0.8, 0.82, 0.81, 0.83]))
    '0.815 ± 0.010'
    """
    array = np.asarray(values, float)
    if not len(array):
        raise ValueError("expected at least one value, found none.")
    if len(array) == 1:
        return Estimate(float(array[0]), None)
    means = np.random.default_rng(0).choice(array, (RESAMPLES, len(array))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    mean = float(array.mean())
    return Estimate(mean, float(max(mean - low, high - mean)) * math.sqrt(1 + (len(array) - 1) * overlap))


def mean_overlap(tests: Sequence[set[int]]) -> float:
    """Mean share that two test sets have in common; 0 for a single set.

    >>> mean_overlap([{1, 2}, {2, 3}])
    0.5
    """
    return float(np.mean([len(a & b) / max(len(a), len(b), 1) for a, b in combinations(tests, 2)] or [0.0]))
