"""Trials of starts and spaces by successive halving: the more promising ones continue, the best to the end."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from kappagcn.progress import line, measures, reporting
from kappagcn.training.checkpoint import CheckpointFolder
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.run import Callback, RunOptions, TrainingResult, on_all_ranks, run_training, train
from kappagcn.training.trainer import Record, Trainer

MakeFilm = Callable[[Any, Path], Any]  # from the trained points and a folder to a callback that records them there
TRIALS = "trials"  # folder inside a run folder, with a folder for each trial


class Trial:
    """Training from one start, as far as it has come; it can be continued to the end.

    Args:
        trainer: The trainer.
        folder: Folder for checkpoints, metrics and film; a checkpoint in it is loaded. None to keep nothing.
        make_film: Makes a callback that records positions; None to record nothing.
        name: What is tried, for the progress.
        space: Signature of the space.

    Attributes:
        history: Metrics of the epochs so far.
        film: The callback, if there is a folder.
    """

    def __init__(
        self,
        trainer: Trainer,
        folder: Path | None = None,
        make_film: MakeFilm | None = None,
        *,
        name: str = "",
        space: str = "",
    ) -> None:
        self.trainer, self.name, self.space = trainer, name, space
        self.history: list[Record] = []
        self.film = None if make_film is None or folder is None else make_film(trainer.model, folder)
        self.files = None if folder is None else CheckpointFolder(folder)
        if self.files is not None:
            self.history = on_all_ranks(trainer, self._load)
        self.resumed_after: int = trainer.epoch

    def _load(self) -> list[Record]:
        assert self.files is not None
        self.files.path.mkdir(parents=True, exist_ok=True)
        return self.files.load(self.trainer) if self.files.checkpoint.exists() else []

    def run(self, epochs: int, *, shown: bool = False) -> None:
        """Train until this epoch, unless training is over before; `shown` on standard error."""
        if self.trainer.epoch >= epochs or self.trainer.is_over():
            return
        first = self.trainer.communicator.rank == 0
        with reporting(self.name, epochs) if shown and first else nullcontext() as report:
            callbacks = [callback for callback in (self.film, report) if callback is not None]
            files = self.files if first else None
            train(self.trainer, folder=files, history=self.history, callbacks=callbacks, epochs=epochs)

    def finish(self, about: dict[str, Any], callbacks: Sequence[Callback] = ()) -> TrainingResult:
        """Train to the end, in the folder of the trial; arguments as in `run_training`."""
        run: RunOptions = {"callbacks": [*callbacks, *([] if self.film is None else [self.film])]}
        if self.files is not None:
            run |= {"folder": self.files.path, "resume": True}
        result = run_training(self.trainer, about, history=self.history, **run)
        if self.files is not None and self.trainer.communicator.rank == 0:
            shutil.rmtree(self.files.path / TRIALS, ignore_errors=True)
        return replace(result, resumed_after=self.resumed_after)

    def move_to(self, folder: Path) -> None:
        """Move the files to another folder, and remove the folder of trials in it."""
        if self.files is None:
            return
        if self.trainer.communicator.rank == 0:
            self.copy_metrics(folder)
        old, self.files = self.files, self.files.moved(folder)
        if self.film is not None:
            self.film.move_to(folder)
        if self.trainer.communicator.rank == 0:
            os.replace(old.checkpoint, self.files.checkpoint)  # last: a folder with a checkpoint needs no trials
            shutil.rmtree(folder / TRIALS, ignore_errors=True)

    def copy_metrics(self, folder: Path) -> None:
        """Copy the metrics to another folder, to describe a run that was interrupted in its trials."""
        if self.files is not None and self.files.path != folder and self.files.metrics.exists():
            shutil.copyfile(self.files.metrics, folder / self.files.metrics.name)

    def lowest(self, epochs: int) -> list[float]:
        """The lowest loss after each epoch, up to this one."""
        return list(accumulate(map(self.loss, self.history[:epochs]), min))

    def loss(self, record: Record) -> float:
        """The loss of an epoch that early stopping watches."""
        watched = self.trainer.task.watched(record)
        return math.inf if watched is None else watched[0]

    def is_over(self, epochs: int) -> bool:
        """Whether training was over after this epoch; the trial may have gone on."""
        return self.trainer.epoch <= epochs and self.trainer.is_over()

    def is_solved(self, epochs: int) -> bool:
        """Whether the result after this epoch cannot be improved."""
        return self.is_over(epochs) and isinstance(self.trainer, QuasiNewtonTrainer) and self.trainer.solved

    def expected(self, epochs: int) -> float:
        """The lowest loss to be expected after twice as many epochs.

        It is assumed to fall by the same factor as in the second half of the epochs so far: starts in strongly curved
        spaces fall later than others, and often lower.
        """
        lowest = self.lowest(epochs)
        if self.is_over(epochs) or len(lowest) < 2:
            return lowest[-1]
        return lowest[-1] ** 2 / lowest[len(lowest) // 2 - 1]


def halving(
    trials: Iterable[Trial],
    rounds: Sequence[int],
    train: Callable[[Trial, int], None],
    ranked: Callable[[list[Trial], int], list[Trial]],
    remaining: Callable[[list[Trial], int], list[Trial]],
) -> list[Trial]:
    """The trials of the last round, best first: in each round all that remain are trained further, and ranked.

    Args:
        trials: At least one trial; each is trained before the next one is made.
        rounds: Epochs after which the trials are compared.
        train: Trains a trial until an epoch.
        ranked: The trials from the best to the worst after these epochs.
        remaining: Those of the ranked trials that go on.
    """
    left: list[Trial] = []
    for number, epochs in enumerate(rounds):
        if number:
            trials = remaining(left, rounds[number - 1])
            if len(trials) == 1:
                return trials
        left = []
        for trial in trials:
            train(trial, epochs)
            left.append(trial)
        left = ranked(left, epochs)
    return left


def best_trial(trials: Iterable[Trial], epochs: int, most: int, *, shown: bool = False) -> Trial:
    """The trial with the lowest expected loss, or the first that is solved.

    All trials run for some epochs, the more promising half of them for twice as many, and so on until one is left; so
    does the one with the lowest loss, though others fall faster. Trials that were continued before, and have run for
    longer, are compared as they were after these epochs.

    Args:
        trials: At least one trial.
        epochs: Epochs after which trials are compared for the first time.
        most: Epochs after which no trials are compared any more.
        shown: Whether to show the progress of each trial on standard error, and its result in a line.
    """
    rounds = [epochs * 2**n for n in range(1 + max(0, (most // epochs).bit_length() - 1))]

    def train(trial: Trial, epochs: int) -> None:
        trial.run(epochs, shown=shown)
        if shown and trial.trainer.communicator.rank == 0:
            records = trial.history[:epochs]
            line(f"{trial.name}: {measures(min(records, key=trial.loss))} after {len(records)} epochs")

    def ranked(left: list[Trial], epochs: int) -> list[Trial]:
        return sorted(left, key=lambda trial: (not trial.is_solved(epochs), trial.expected(epochs)))

    def until_solved() -> Iterator[Trial]:
        for trial in trials:
            yield trial
            if trial.is_solved(epochs):
                return

    def remaining(left: list[Trial], epochs: int) -> list[Trial]:
        if left[0].is_solved(epochs):
            return left[:1]
        lowest = min(left, key=lambda trial: trial.lowest(epochs)[-1])
        half = (len(left) + 1) // 2
        return [trial for place, trial in enumerate(left) if place < half or trial is lowest]

    return halving(until_solved(), rounds, train, ranked, remaining)[0]
