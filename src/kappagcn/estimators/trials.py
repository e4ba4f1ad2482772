"""Trials of an embedding's starts by successive halving: the more promising half continues, the best to the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Unpack

from kappagcn.training import QuasiNewtonTrainer, Trainer, TrainingResult, run_training
from kappagcn.training.run import RunOptions
from kappagcn.training.trainer import Record

__all__ = ["MakeFilm", "Trial", "best_trial"]

MakeFilm = Callable[[Any], Any]  # from the trained points to a callback that records them


class Trial:
    """Training from one start, as far as it has come; it can be continued to the end.

    Args:
        trainer: The trainer.
        make_film: Makes a callback that records positions from the trained points; None to record nothing.

    Attributes:
        history: Metrics of the epochs so far.
        seconds: Time that these took.
        film: The callback.
    """

    def __init__(self, trainer: Trainer, make_film: MakeFilm | None = None) -> None:
        self.trainer, self.history, self.seconds = trainer, list[Record](), 0.0
        self.film = None if make_film is None else make_film(trainer.model)
        self._lowest: list[float] = []

    def run(self, epochs: int) -> None:
        """Train until this epoch, unless training is over before."""
        start = time.perf_counter()
        while self.trainer.epoch < epochs and not self.trainer.is_over():
            self.history.append(self.trainer.run_epoch())
            self._lowest.append(self.trainer.stopping.lowest_loss)
            if self.film is not None:
                self.film(self.history[-1])
        self.seconds += time.perf_counter() - start

    def finish(self, about: dict[str, Any], **options: Unpack[RunOptions]) -> TrainingResult:
        """Train to the end; arguments as in `run_training`. The time of the result is that of all epochs."""
        result = run_training(self.trainer, about, **options, history=self.history)
        before = len(self.history)
        return replace(result, seconds=result.seconds + self.seconds, resumed_after=result.resumed_after - before)

    @property
    def solved(self) -> bool:
        """Whether the result cannot be improved."""
        return isinstance(self.trainer, QuasiNewtonTrainer) and self.trainer.solved

    @property
    def expected(self) -> float:
        """The lowest loss to be expected after twice as many epochs.

        It is assumed to fall by the same factor as in the second half of the epochs so far: starts in strongly curved
        spaces fall later than others, and often lower.
        """
        lowest = self._lowest
        if self.trainer.is_over() or len(lowest) < 2:
            return self.trainer.stopping.lowest_loss
        return lowest[-1] ** 2 / lowest[len(lowest) // 2 - 1]


def best_trial(trials: Iterable[Trial], epochs: int, most: int) -> Trial:
    """The trial with the lowest expected loss, or the first that is solved.

    All trials run for some epochs, the more promising half of them for twice as many, and so on until one is left; so
    does the one with the lowest loss, though others fall faster.

    Args:
        trials: At least one trial.
        epochs: Epochs after which trials are compared for the first time.
        most: Epochs after which no trials are compared any more.
    """
    left = []
    for trial in trials:
        trial.run(epochs)
        if trial.solved:
            return trial
        left.append(trial)
    while len(left) > 1:
        left.sort(key=lambda trial: trial.expected)
        lowest = min(left, key=lambda trial: trial.trainer.stopping.lowest_loss)
        epochs *= 2
        if epochs > most:
            return left[0]
        half = (len(left) + 1) // 2
        left = [trial for place, trial in enumerate(left) if place < half or trial is lowest]
        for trial in left if len(left) > 1 else []:
            trial.run(epochs)
    return left[0]
