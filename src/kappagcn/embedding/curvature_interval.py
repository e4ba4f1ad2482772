"""How well a curvature is determined: the range in which the objective stays within one per cent of its least value.

A curvature is moved away from where training left it, step by step; at each value the points are refined for a few
epochs. The range ends where the objective has risen by one per cent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.scale_free import ScaleFreeCurvature

__all__ = ["CurvatureInterval", "curvature_intervals"]

TOLERANCE = 0.01
REFINE = 60  # epochs at each value, at most: fewer where the objective falls below the limit
FIRST, LARGEST = 0.05, 8.0  # steps of asinh(κR²): the first one, and the largest distance from the learned value
NEGLIGIBLE = 1e-9  # objectives below this count as 0


@dataclass(frozen=True)
class CurvatureInterval:
    """The range of a factor's curvature in which the objective is within one per cent of its least value.

    Args:
        kappa: Learned curvature.
        low: Lower end; None if the objective did not rise by 1 % within the values tried.
        high: Upper end, or None as for `low`.
        profile: Pairs of a curvature and the objective there, in increasing order of the curvature.
    """

    kappa: float
    low: float | None
    high: float | None
    profile: list[tuple[float, float]]

    @property
    def identified(self) -> bool:
        """Whether the sign of the curvature is known: both ends exist and lie on one side of 0."""
        return self.low is not None and self.high is not None and self.low * self.high > 0

    def in_units(self, unit: float) -> CurvatureInterval:
        """The interval after a change of the unit of length: lengths become `unit` times as large."""

        def scale(k: float | None) -> float | None:
            return None if k is None else k / unit**2

        profile = [(k / unit**2, value) for k, value in self.profile]
        return CurvatureInterval(self.kappa / unit**2, scale(self.low), scale(self.high), profile)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "profile": [list(pair) for pair in self.profile], "identified": self.identified}

    @classmethod
    def from_dict(cls, values: dict[str, Any] | None) -> CurvatureInterval | None:
        """The interval from a dictionary that `as_dict` returned."""
        if values is None:
            return None
        profile = [(kappa, value) for kappa, value in values["profile"]]
        return cls(values["kappa"], values["low"], values["high"], profile)


def curvature_intervals(
    points: nn.Module, radius: float, fixed_trainer: Callable[[], QuasiNewtonTrainer]
) -> list[CurvatureInterval | None]:
    """Intervals of all learned curvatures; None for factors that are flat by definition. The points stay as they are.

    Args:
        points: The trained points.
        radius: R, about half the diameter of the data.
        fixed_trainer: Function that returns a trainer of these points with fixed curvatures.
    """
    kept = {name: t.detach().clone() for name, t in points.state_dict().items()}
    reached = fixed_trainer()
    least, perfect = reached.minimum.value, float(reached.task.perfect)  # type: ignore[attr-defined]
    limit = max(least + max(TOLERANCE * least, NEGLIGIBLE), perfect)
    intervals: list[CurvatureInterval | None] = []
    factors: Any = points.manifold.factors  # type: ignore[union-attr]
    for factor in factors:
        raw = factor.curvature.raw
        if not raw.requires_grad:
            intervals.append(None)
            continue
        kappa, profile = float(raw.detach()), [(float(raw.detach()), least)]
        ends: list[float | None] = []
        for side in (-1, 1):
            end, walked = _walk(points, ScaleFreeCurvature(raw, radius), side, least, limit, fixed_trainer)
            ends.append(end)
            profile += walked
            points.load_state_dict(kept)
        intervals.append(CurvatureInterval(kappa, ends[0], ends[1], sorted(profile)))
    return intervals


def _walk(
    points: nn.Module,
    curvature: ScaleFreeCurvature,
    side: int,
    least: float,
    limit: float,
    fixed_trainer: Callable[[], QuasiNewtonTrainer],
) -> tuple[float | None, list[tuple[float, float]]]:
    """Move away from the least objective in steps of doubling length, until it has risen to the limit."""
    start = curvature.u
    before, value_before, step, walked = start, least, FIRST, []
    while step <= LARGEST:
        curvature.u = start + side * step
        trainer = fixed_trainer()
        while trainer.epoch < REFINE and not trainer.stuck and trainer.minimum.value > limit * 0.999:
            trainer.run_epoch()
        value, kappa = trainer.minimum.value, float(curvature.kappa.detach())
        walked.append((kappa, value))
        if value > limit:
            # Near its minimum the objective is a parabola in u: interpolate the square root of its rise.
            rises = [math.sqrt(max(each - least, 0.0)) for each in (value_before, value, limit)]
            share = (rises[2] - rises[0]) / max(rises[1] - rises[0], 1e-300)
            curvature.u = before + min(max(share, 0.0), 1.0) * (start + side * step - before)
            return float(curvature.kappa.detach()), walked
        before, value_before, step = start + side * step, value, 2 * step
    return None, walked
