"""Training by L-BFGS, for deterministic losses such as those over all pairs of nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import DivergedError
from kappagcn.training.scale_free import LARGEST, ScaleFreeCurvatures
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.tasks import Task
from kappagcn.training.trainer import Record, Trainer

CURVATURE_SHARE = 0.1  # units of a weight that count as one unit of asinh(κR²)
WINDOW, LEAST_GAIN = 100, 1e-3  # epochs in which the loss has to fall by this share, or training stops
HISTORY, EVALUATIONS = 50, 30  # pairs that L-BFGS keeps; evaluations of one line search
SCALE = 1e6  # of the loss: torch's L-BFGS drops pairs of steps and gradients whose product is below 1e-10
Evaluation = tuple[Tensor, float, Tensor]  # position, loss, gradient
WALL = 1e3  # loss in the place of one that is not finite, as a multiple of the loss at the start


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

    Attributes:
        value: The loss at the position reached.

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
        self.units = {
            name: torch.as_tensor(units.get(name, 1.0), dtype=torch.float64, device=p.device)
            for name, p in self.weights.items()
        }
        self.scaled = ScaleFreeCurvatures([] if radius is None else self.curved, radius or 1.0)
        self.weight_count = sum(p.numel() for p in self.weights.values())
        self.values: list[float] = []
        self.stuck = False
        weights = [(p.detach().double() / self.units[name]).flatten() for name, p in self.weights.items()]
        self.position = torch.cat([*weights, CURVATURE_SHARE * self.scaled.read()]).requires_grad_()
        self.lbfgs = torch.optim.LBFGS(
            [self.position], max_iter=1, max_eval=EVALUATIONS, history_size=HISTORY,
            tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe",
        )  # fmt: skip
        if not torch.isfinite(self.position).all():
            raise DivergedError("norm of the weights at the start", float(self.position.detach().norm()), 0)
        self.value, gradient = self._evaluate()
        if not torch.isfinite(gradient).all():
            raise DivergedError("gradient at the start", self.value, 0)
        self.wall = WALL * max(1.0, self.value)
        self.evaluated = [(self.position.detach().clone(), self.value, gradient)]

    def _make_optimisers(self, regularised: list[nn.Parameter], radius: float | None) -> None:
        """No Adam: L-BFGS is made once the units are known."""

    @torch.no_grad()
    def _write(self) -> None:
        """Set weights and curvatures to the position."""
        sizes = [*(p.numel() for p in self.weights.values()), len(self.scaled.kappas)]
        *weights, curvatures = self.position.split(sizes)
        for (name, p), part in zip(self.weights.items(), weights, strict=True):
            p.copy_(self.units[name] * part.view_as(p))
        self.scaled.write(curvatures / CURVATURE_SHARE)

    def _evaluate(self) -> tuple[float, Tensor]:
        """The loss and its gradient with respect to the position."""
        self._write()
        for p in self.named.values():
            p.grad = None
        loss = self.task.loss()
        loss.backward()
        weights = [(self._gradient(p) * self.units[name]).flatten() for name, p in self.weights.items()]
        rate = 0.0 if self.epoch < self.fixed_epochs else 1 / CURVATURE_SHARE
        return float(loss.detach()), torch.cat([*weights, rate * self.scaled.gradient()])

    @staticmethod
    def _gradient(p: Tensor) -> Tensor:
        return torch.zeros_like(p, dtype=torch.float64) if p.grad is None else p.grad.double()

    def _evaluation(self) -> Evaluation:
        """The loss at the position; a position of the last line search is not evaluated again."""
        for known in self.evaluated:
            if torch.equal(known[0], self.position):
                return known
        value, gradient = self._evaluate()
        if not (value <= self.wall and torch.isfinite(gradient).all()):
            value, gradient = self.wall, torch.zeros_like(gradient)
        self.evaluated.append((self.position.detach().clone(), value, gradient))
        return self.evaluated[-1]

    def _closure(self) -> float:
        _, value, gradient = self._evaluation()
        self.position.grad = SCALE * gradient
        return SCALE * value

    def _step(self, epoch: int) -> float:
        before = self.value
        if self.fixed_epochs and self.epoch == self.fixed_epochs:
            self._evaluate_anew()
            self.lbfgs.state.clear()
            self.values = []
        self.stuck = not self._descend()
        self.values = [*self.values, self.value][-WINDOW:]
        return before

    def _descend(self) -> bool:
        """One step of L-BFGS, or downhill if that fails; returns whether the loss has fallen."""
        for _ in range(2):
            self.lbfgs.step(self._closure)
            with torch.no_grad():  # its line search has no largest step
                self.position[self.weight_count :].clamp_(-CURVATURE_SHARE * LARGEST, CURVATURE_SHARE * LARGEST)
            reached = self._evaluation()
            if reached[1] < self.value:
                self.value, self.evaluated = reached[1], [reached]
                self._write()
                return True
            with torch.no_grad():
                self.position.copy_(self.evaluated[0][0])
            first = self.lbfgs.state[self.position].get("n_iter") == 1
            self.lbfgs.state.clear()
            if first:
                break
        self._write()
        return False

    def _evaluate_anew(self) -> None:
        """Evaluate the loss at the position, where it has changed."""
        self.value, gradient = self._evaluate()
        self.evaluated = [(self.position.detach().clone(), self.value, gradient)]

    def _save_backup(self) -> None:
        """Keep the state before an epoch; L-BFGS writes into its lists, and into the last gradient."""
        state = dict(self.lbfgs.state.get(self.position, {}))
        state |= {name: list(value) for name, value in state.items() if isinstance(value, list)}
        state |= {name: value.clone() for name, value in state.items() if isinstance(value, Tensor)}
        self._before = state, self.evaluated, self.value, self.values, self.stuck

    @torch.no_grad()
    def _restore_backup(self) -> None:
        state, self.evaluated, self.value, self.values, self.stuck = self._before
        self.evaluated = self.evaluated[:1]
        self.position.copy_(self.evaluated[0][0])
        self.lbfgs.state.clear()
        if state:
            self.lbfgs.state[self.position] = state
        self._write()

    def _metrics(self) -> dict[str, float]:
        return self.task.metrics_of(self.value)  # type: ignore[attr-defined,no-any-return]

    @property
    def solved(self) -> bool:
        """Whether the loss is so low that the result cannot be improved."""
        return self.value <= self.task.perfect  # type: ignore[attr-defined,no-any-return]

    @property
    def converged(self) -> bool:
        """Whether training is solved, or no step lowers the loss any more, or only by a negligible amount."""
        slow = len(self.values) == WINDOW and self.values[-1] > (1 - LEAST_GAIN) * self.values[0]
        return self.solved or (self.epoch >= self.fixed_epochs and (self.stuck or slow))

    def is_over(self) -> bool:
        """Whether the last epoch has been run, or training has converged."""
        return super().is_over() or self.converged

    def tensors(self) -> dict[str, Tensor]:
        """Weights, best weights, the state of L-BFGS; its lists of vectors as matrices."""
        state = {
            name: torch.stack(value) if isinstance(value, list) else torch.as_tensor(value, dtype=torch.float64)
            for name, value in self.lbfgs.state_dict()["state"].get(0, {}).items()
            if name != "al" and value != []
        }
        (position, _, gradient), *_ = self.evaluated
        return super().tensors() | {
            "quasi_newton/position": position, "quasi_newton/gradient": gradient,
            **{f"lbfgs/{name}": t for name, t in state.items()},
        }  # fmt: skip

    def about(self) -> Record:
        """The rest of the state, as plain numbers."""
        state = {"value": self.value, "values": self.values, "stuck": self.stuck, "fixed_epochs": self.fixed_epochs}
        return {**super().about(), **state}

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Load a saved state."""
        super().load(tensors, about)
        self.value, self.values = float(about["value"]), list(about["values"])
        self.stuck, self.fixed_epochs = bool(about["stuck"]), int(about.get("fixed_epochs", 0))
        here = self.position.device
        self.position.copy_(tensors["quasi_newton/position"])
        self.evaluated = [(self.position.detach().clone(), self.value, tensors["quasi_newton/gradient"].to(here))]
        state: dict[str, Any] = {n[len("lbfgs/") :]: t.to(here) for n, t in tensors.items() if n.startswith("lbfgs/")}
        if state:  # rows of one matrix would be summed in another order than vectors
            lists = {name: [row.clone() for row in state.get(name, [])] for name in ("old_dirs", "old_stps", "ro")}
            self.lbfgs.load_state_dict({**self.lbfgs.state_dict(), "state": {0: {**state, **lists}}})
        self._write()
