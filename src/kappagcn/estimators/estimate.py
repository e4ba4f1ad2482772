"""The mean of several runs with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Estimate", "bootstrapped"]

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


def bootstrapped(values: Sequence[float]) -> Estimate:
    """The mean with PPNP's interval: of 1000 resamples' means, the farther of the 2.5 and 97.5 percentiles.

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
    return Estimate(mean, float(max(mean - low, high - mean)))
