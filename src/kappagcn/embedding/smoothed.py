"""Training by L-BFGS of the objective ``"relative"``, whose kinks are smoothed over a width that shrinks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import smoothed_loss
from kappagcn.embedding.tasks import EmbeddingTask
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.objectives import METRICS
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.trainer import Record

__all__ = ["SmoothedTask", "SmoothedTrainer"]

SHARE = 0.05  # width at the start, as a share of the objective; wider ones lead to worse minima
LEAST_SHARE = 0.005  # below this share the width is 0
BLOCK = 20  # epochs of one width
LEAST_GAIN = 0.01  # a block that gains less is followed by half the share


class SmoothedTask(EmbeddingTask):
    """The objective ``"relative"`` over all pairs with √(x² + width²) − width in the place of |x|, x = d/d_G − 1.

    Args:
        points: Trained points.
        distances: Distances in the graph.

    Attributes:
        width: Width of the smoothing, in units of d/d_G; may be changed between two evaluations.
        sharp: The objective for a width of 0 at the last evaluation.
    """

    def __init__(self, points: FreePoints | NetworkPoints, distances: GraphDistances) -> None:
        super().__init__(points, distances, "relative")
        self.width, self.sharp = 0.0, float("nan")

    def _value(self) -> Tensor:
        smooth, sharp = smoothed_loss(self.points(), self.points.manifold, self.distances, self.width)
        self.sharp = float(sharp)
        return smooth


class SmoothedTrainer(QuasiNewtonTrainer):
    """L-BFGS on the smoothed objective, whose width shrinks: with |x| itself, L-BFGS would stop at its kinks.

    The width is a share of the objective, renewed every 20 epochs; the share halves when these gain less than 1 %, and
    ends at 0. Metrics of an epoch are those of the objective without smoothing, and the points with its lowest value
    are kept.

    Args:
        model: Model, trained in place.
        task: The smoothed objective.
        config: Epochs and seed.
        options: Further arguments of `QuasiNewtonTrainer`.

    >>> from kappagcn.graphs import cycle
    >>> from kappagcn.training import TrainingSettings
    >>> points = FreePoints(12, "S2(0.1)")
    >>> task = SmoothedTask(points, GraphDistances.of(cycle(12)))
    >>> trainer = SmoothedTrainer(points, task, TrainingSettings(epochs=2), units={"points": 3.0}, radius=3.0)
    >>> trainer.run_epoch()["d_avg"] > trainer.run_epoch()["d_avg"]
    True
    """

    task: SmoothedTask

    def __init__(self, model: Any, task: SmoothedTask, config: Any, **options: Any) -> None:
        self._sharp_values: dict[float, float] = {}  # value without smoothing for each smoothed value
        super().__init__(model, task, config, **options)
        self.share, self.sharp = SHARE, task.sharp
        self._begin_block(self.share * self.sharp)

    def _begin_block(self, width: float) -> None:
        """Set the width, and evaluate the objective with it at the current points."""
        if width != self.task.width:
            self.task.width = width
            self.minimum.value, self.minimum.gradient = self._evaluate(self.minimum.position)
            self._write(self.minimum.position)
        self.block = [self.minimum.value]

    def _evaluate(self, position: Tensor) -> tuple[float, Tensor]:
        value, gradient = super()._evaluate(position)
        self._sharp_values[value] = self.task.sharp
        return value, gradient

    def _save_backup(self) -> None:
        super()._save_backup()
        self._smoothing_before = self.share, self.sharp, self.task.width, self.block

    def _restore_backup(self) -> None:
        self.share, self.sharp, self.task.width, self.block = self._smoothing_before
        super()._restore_backup()

    def _step(self, epoch: int) -> float:
        if self.share > 0 and (len(self.block) > BLOCK or self.stuck):
            self._renew_width()
        self._sharp_values = {self.minimum.value: self.sharp}
        before = super()._step(epoch)
        self.sharp = self._sharp_values[self.minimum.value]
        self.block = [*self.block, self.minimum.value][-BLOCK - 1 :]
        return before

    def _renew_width(self) -> None:
        if self.stuck or self.block[-1] > (1 - LEAST_GAIN) * self.block[0]:
            self.share, self.values = self.share / 2, []
            self.share = self.share if self.share >= LEAST_SHARE else 0.0
        self._begin_block(min(self.task.width, self.share * self.sharp))

    def _metrics(self) -> dict[str, float]:
        return {METRICS["relative"]: self.sharp}

    @property
    def converged(self) -> bool:
        """Whether the objective is no longer smoothed, and no longer falls."""
        return self.sharp == 0 or (self.share == 0 and super().converged)

    def about(self) -> Record:
        """The rest of the state, as plain numbers."""
        smoothing = {"share": self.share, "width": self.task.width, "sharp": self.sharp, "block": self.block}
        return {**super().about(), "smoothing": smoothing}

    def load(self, tensors: dict[str, torch.Tensor], about: dict[str, Any]) -> None:
        """Load a saved state."""
        super().load(tensors, about)
        smoothing = about["smoothing"]
        self.share, self.sharp = float(smoothing["share"]), float(smoothing["sharp"])
        self.task.width, self.block = float(smoothing["width"]), list(smoothing["block"])
