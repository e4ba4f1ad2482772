"""How well a curvature is determined: the range in which a value stays within one per cent of that of the learned κ.

The curvature is moved away from where training left it, in steps of doubling length, until the value has risen by one
per cent; what the value is, and what is adapted to a moved curvature, each task decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from kappagcn.training.scale_free import ScaleFreeCurvatures

TOLERANCE = 0.01
FIRST, LARGEST = 0.05, 8.0  # steps of asinh(κR²): the first one, and the largest distance from the learned value
NEGLIGIBLE = 1e-9  # values below this count as 0


@dataclass(frozen=True)
class CurvatureInterval:
    """The range of a curvature in which a value is within one per cent of that of the learned curvature.

    Args:
        kappa: Learned curvature.
        low: Lower end; None if the value did not rise by 1 % within the curvatures tried.
        high: Upper end, or None as for `low`.
        profile: Pairs of a curvature and the value there, in increasing order of the curvature.
        local: Whether the range is known around one minimum alone; False if several runs ended inside it.
    """

    kappa: float
    low: float | None
    high: float | None
    profile: list[tuple[float, float]] = field(repr=False)
    local: bool = True

    @property
    def identified(self) -> bool:
        """Whether the sign of the curvature is known: both ends exist and lie on one side of 0."""
        return self.low is not None and self.high is not None and self.low * self.high > 0

    def holds(self, kappa: float) -> bool:
        """Whether a curvature lies in the range."""
        return (self.low is None or self.low <= kappa) and (self.high is None or kappa <= self.high)

    def in_units(self, unit: float) -> CurvatureInterval:
        """The interval after a change of the unit of length: lengths become `unit` times as large."""
        low, high = (None if end is None else end / unit**2 for end in (self.low, self.high))
        profile = [(k / unit**2, value) for k, value in self.profile]
        return CurvatureInterval(self.kappa / unit**2, low, high, profile, self.local)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "profile": [list(pair) for pair in self.profile], "identified": self.identified}

    @classmethod
    def from_dict(cls, values: dict[str, Any] | None) -> CurvatureInterval | None:
        """The interval from a dictionary that `as_dict` returned."""
        if values is None:
            return None
        profile = [(kappa, value) for kappa, value in values["profile"]]
        return cls(values["kappa"], values["low"], values["high"], profile, values.get("local", True))


def upper_limit(least: float) -> float:
    """The value at the ends of an interval, from the least one."""
    return least + max(TOLERANCE * least, NEGLIGIBLE)


def interval_of(
    kappa: Tensor,
    radius: float,
    value: Callable[[], float],
    restore: Callable[[], object],
    least: float,
    limit: float,
    refinements: int = 0,
) -> CurvatureInterval:
    """The interval of one curvature.

    Args:
        kappa: The curvature, moved in place.
        radius: R, about half the diameter of the data.
        value: Function that returns the value for the curvature as it is.
        restore: Function that restores the state of training, with the learned curvature.
        least: Value of that state.
        limit: Value at the ends.
        refinements: Further values by which each end is made more precise.

    >>> import torch
    >>> kappa = torch.tensor(2.0, dtype=torch.float64)
    >>> parabola, restore = (lambda: 1 + float(kappa - 2) ** 2), (lambda: kappa.fill_(2.0))
    >>> interval = interval_of(kappa, 1.0, parabola, restore, 1.0, 1.01, refinements=3)
    >>> round(interval.low, 3), round(interval.high, 3)
    (1.9, 2.1)
    """
    scaled, learned = ScaleFreeCurvatures([kappa], radius), float(kappa.detach())
    start, profile = scaled.read(), [(learned, least)]

    def at(move: float) -> float:
        scaled.write(start + move)
        reached = value()
        profile.append((float(kappa.detach()), reached if math.isfinite(reached) else 10 * limit))
        return profile[-1][1]

    ends: list[float | None] = []
    for side in (-1, 1):
        move = _end(lambda step, side=side: at(side * step), least, limit, refinements)  # type: ignore[misc]
        if move is not None:
            scaled.write(start + side * move)
        ends.append(None if move is None else float(kappa.detach()))
        restore()
    return CurvatureInterval(learned, ends[0], ends[1], sorted(profile))


def _end(at: Callable[[float], float], least: float, limit: float, refinements: int) -> float | None:
    """The distance at which a value that begins at its least one reaches the limit; None if that is too far."""

    def rise(height: float) -> float:
        """Near its minimum the value is a parabola: its root is interpolated."""
        return math.sqrt(max(height - least, 0.0))

    def between(margin: float) -> float:
        share = (rise(limit) - rise(below)) / max(rise(above) - rise(below), 1e-300)
        return inside + min(max(share, margin), 1 - margin) * (outside - inside)

    inside, below, outside = 0.0, least, FIRST
    above = at(outside)
    while above <= limit:
        inside, below, outside = outside, above, 2 * outside
        if outside > LARGEST:
            return None
        above = at(outside)
    for _ in range(refinements):
        middle = between(0.1)
        height = at(middle)
        if height <= limit:
            inside, below = middle, height
        else:
            outside, above = middle, height
    return between(0.0)
