"""Training by L-BFGS, for deterministic losses such as those over all pairs of nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import DivergedError
from kappagcn.training.lbfgs import LBFGS
from kappagcn.training.scale_free import ScaleFreeCurvature
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.tasks import Task
from kappagcn.training.trainer import Record, Trainer

__all__ = ["QuasiNewtonTrainer"]

CURVATURE_SHARE = 0.1  # units of a weight that count as one unit of asinh(κR²)
LARGEST_STEP = 0.2  # in units of the weights: a curvature grows at most sevenfold in a step
WINDOW, LEAST_GAIN = 100, 1e-3  # epochs in which the loss has to fall by this share, or training stops


class QuasiNewtonTrainer(Trainer):
    """A trainer whose epochs are steps of L-BFGS over weights and curvatures together.

    Every step goes downhill, so a run cannot diverge and needs no learning rates: weights are measured in `units`,
    curvatures as asinh(κR²), which is linear in κ near 0 and logarithmic far from it.

    Args:
        model: Model, trained in place.
        task: Task with a deterministic loss, and the value `perfect` at or below which training stops.
        config: Epochs and seed; learning rates are not used.
        units: Unit of each parameter that is not a curvature, a number or a tensor that broadcasts to it.
        radius: R, about half the diameter of the data; None to keep the curvatures fixed.
        fixed_epochs: First epochs in which the curvatures stay as they are, so that points settle in a curved space
            before it can become flat.

    >>> from kappagcn.graphs import cycle
    >>> from kappagcn.models import FreePoints
    >>> from kappagcn.training import EmbeddingTask, GraphDistances
    >>> points = FreePoints(12, "S2(0.1)")
    >>> task = EmbeddingTask(points, GraphDistances.of(cycle(12)))
    >>> trainer = QuasiNewtonTrainer(points, task, TrainingSettings(epochs=2), units={"points": 3.0}, radius=3.0)
    >>> trainer.run_epoch()["distortion"] > trainer.run_epoch()["distortion"]
    True
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        config: TrainingSettings,
        *,
        units: dict[str, Tensor | float],
        radius: float | None,
        fixed_epochs: int = 0,
    ) -> None:
        super().__init__(model, task, config)
        self.fixed_epochs = fixed_epochs
        curved = {id(p) for p in self.curved}
        self.weights = {name: p for name, p in self.named.items() if id(p) not in curved}
        self.units = {
            name: torch.as_tensor(units.get(name, 1.0), dtype=torch.float64, device=p.device)
            for name, p in self.weights.items()
        }
        self.scaled = [] if radius is None else [ScaleFreeCurvature(p, radius) for p in self.curved]
        self.values: list[float] = []
        self.stuck = False
        start = self._position()
        if not torch.isfinite(start).all():
            raise DivergedError("norm of the weights at the start", float(start.norm()), 0)
        self.minimum = LBFGS(self._evaluate, start, largest_step=LARGEST_STEP)
        if not torch.isfinite(self.minimum.gradient).all():
            raise DivergedError("gradient at the start", self.minimum.value, 0)

    def _position(self) -> Tensor:
        """Weights and curvatures as one vector."""
        weights = [(p.detach().double() / self.units[name]).flatten() for name, p in self.weights.items()]
        curvatures = [s.kappa.new_tensor([CURVATURE_SHARE * s.u], dtype=torch.float64) for s in self.scaled]
        return torch.cat([*weights, *curvatures])

    @torch.no_grad()
    def _write(self, position: Tensor) -> None:
        sizes = [*(p.numel() for p in self.weights.values()), *(1 for _ in self.scaled)]
        parts = position.split(sizes)
        for (name, p), part in zip(self.weights.items(), parts, strict=False):
            p.copy_(self.units[name] * part.view_as(p))
        for scaled, part in zip(self.scaled, parts[len(self.weights) :], strict=True):
            scaled.u = float(part) / CURVATURE_SHARE

    def _evaluate(self, position: Tensor) -> tuple[float, Tensor]:
        """The loss and its gradient by the vector."""
        self._write(position)
        for p in self.named.values():
            p.grad = None
        loss = self.task.loss()
        loss.backward()
        weights = [(self._gradient(p) * self.units[name]).flatten() for name, p in self.weights.items()]
        rate = 0.0 if self.epoch < self.fixed_epochs else 1 / CURVATURE_SHARE
        curvatures = [self._gradient(s.kappa).view(1) * s.slope * rate for s in self.scaled]
        return float(loss.detach()), torch.cat([*weights, *curvatures])

    @staticmethod
    def _gradient(p: Tensor) -> Tensor:
        return torch.zeros_like(p, dtype=torch.float64) if p.grad is None else p.grad.double()

    def _step(self, epoch: int) -> float:
        before = self.minimum.value
        if self.fixed_epochs and self.epoch == self.fixed_epochs:
            self._release_curvatures()
        self.stuck = not self.minimum.step()
        self._write(self.minimum.position)
        self.values = [*self.values, self.minimum.value][-WINDOW:]
        return before

    def _save_backup(self) -> None:
        """Keep the state before an epoch, which replaces these tensors and lists and does not write into them."""
        state = self.minimum.position, self.minimum.value, self.minimum.gradient, list(self.minimum.pairs)
        self._before = state, self.values, self.stuck

    def _restore_backup(self) -> None:
        state, self.values, self.stuck = self._before
        self.minimum.position, self.minimum.value, self.minimum.gradient, self.minimum.pairs = state
        self._write(self.minimum.position)

    def _release_curvatures(self) -> None:
        """Include the gradient by the curvatures from now on, and forget the steps that were taken without it."""
        self.minimum.value, self.minimum.gradient = self._evaluate(self.minimum.position)
        self.minimum.pairs.clear()
        self.values = []

    def _metrics(self) -> dict[str, float]:
        return self.task.metrics_of(self.minimum.value)  # type: ignore[attr-defined,no-any-return]

    @property
    def solved(self) -> bool:
        """Whether the loss is so low that the result cannot be improved."""
        return self.minimum.value <= self.task.perfect  # type: ignore[attr-defined,no-any-return]

    @property
    def converged(self) -> bool:
        """Whether training is solved, or no step lowers the loss any more, or only by a negligible amount."""
        slow = len(self.values) == WINDOW and self.values[-1] > (1 - LEAST_GAIN) * self.values[0]
        return self.solved or (self.epoch >= self.fixed_epochs and (self.stuck or slow))

    def is_over(self) -> bool:
        """Whether the last epoch has been run, or training has converged."""
        return super().is_over() or self.converged

    def tensors(self) -> dict[str, Tensor]:
        """Weights, best weights, the state of L-BFGS."""
        return super().tensors() | {f"lbfgs/{name}": t for name, t in self.minimum.tensors().items()}

    def about(self) -> Record:
        """The rest of the state, as plain numbers."""
        state = {"values": self.values, "stuck": self.stuck, "fixed_epochs": self.fixed_epochs}
        return {**super().about(), **state}

    def load(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Load a saved state."""
        super().load(tensors, about)
        prefix = "lbfgs/"
        self.minimum.load({name[len(prefix) :]: t for name, t in tensors.items() if name.startswith(prefix)})
        self.values, self.stuck = list(about["values"]), bool(about["stuck"])
        self.fixed_epochs = int(about.get("fixed_epochs", 0))
        self._write(self.minimum.position)
