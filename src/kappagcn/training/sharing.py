"""Workers that train one network: their losses and gradients add up, and the first of them keeps the run.

Without torch.distributed, or with one worker, everything here is what it is in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from kappagcn.errors import KappaGCNError, TrainingError
from kappagcn.training.run import CHECKPOINT_SECONDS, RunFolder, TrainingResult, finish
from kappagcn.training.trainer import Record, Trainer

__all__ = ["SharedTrainer", "by_first", "rank", "total", "train_shared", "workers"]

Found = TypeVar("Found")


def workers() -> int:
    """How many there are.

    >>> workers()
    1
    """
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def rank() -> int:
    """The number of this one, from 0.

    >>> rank()
    0
    """
    return distributed.get_rank() if workers() > 1 else 0


def total(*values: Tensor | float) -> list[float]:
    """Sums over all workers.

    >>> total(1.5, 2.0)
    [1.5, 2.0]
    """
    sums = torch.stack([torch.as_tensor(value, dtype=torch.float64).detach().cpu() for value in values])
    if workers() > 1:
        distributed.all_reduce(sums)
    found: list[float] = sums.tolist()
    return found


def by_first(action: Callable[[], Found]) -> Found:
    """What the first worker finds, or refuses, for all of them.

    >>> by_first(lambda: 3)
    3
    """
    if workers() == 1:
        return action()
    told: list[Any] = [None]
    if rank() == 0:
        try:
            told = [action()]
        except KappaGCNError as problem:
            told = [problem]
    distributed.broadcast_object_list(told)
    if isinstance(told[0], KappaGCNError):
        raise told[0]
    found: Found = told[0]
    return found


class SharedTrainer(Trainer):
    """A trainer whose loss is the workers' together, and whose gradients add up.

    Workers start from the first one's weights, and keep the same weights, bit for bit.

    Args:
        arguments: Of `Trainer`.
        alive: Told of each epoch as it begins.
        options: Of `Trainer`.
    """

    def __init__(self, *arguments: Any, alive: Callable[[int], None] | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.alive = alive
        if workers() > 1:
            for tensor in self.model.state_dict().values():
                distributed.broadcast(tensor, 0)
            self.best = self._weights()

    def run_epoch(self) -> Record:
        """One epoch, said to whoever watches."""
        if self.alive is not None:
            self.alive(self.epoch + 1)
        return super().run_epoch()

    def value_of(self, loss: Tensor) -> float:
        """The sum of all workers' shares."""
        return total(loss)[0] if workers() > 1 else super().value_of(loss)

    def share_gradients(self) -> None:
        """Sums over all workers, in one message."""
        if workers() == 1:
            return
        params = list(self.named.values())
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params])
        distributed.all_reduce(flat)
        for p, part in zip(params, flat.split([p.numel() for p in params]), strict=True):
            p.grad = part.view_as(p)

    def agreed(self, stop: bool) -> bool:
        """Whether any worker is to stop."""
        return total(float(stop))[0] > 0


def train_shared(
    trainer: SharedTrainer,
    folder: str | Path | None,
    about: dict[str, Any],
    *,
    resume: bool = False,
    callbacks: Sequence[Callable[[Record], None]] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> TrainingResult:
    """What `kappagcn.training.train_in` does, by all workers; the first one alone reads, writes and calls back.

    Args:
        trainer: What is trained.
        folder: Where to keep the run; None to keep nothing. Any number of workers can take it up.
        about: What must be the same for a run in a folder to go on.
        resume: Go on with the run in `folder`, if there is one.
        callbacks: Called with each epoch's numbers.
        checkpoint_seconds: Time between checkpoints.
    """
    if resume and folder is None:
        raise TrainingError("resume: expected the folder of the run to go on with, found none.")
    run, history = None if folder is None else RunFolder(Path(folder)), []
    if run is not None:
        tensors, state, history = by_first(lambda: _started(run, about, trainer, resume=resume))
        if rank() > 0:
            trainer.load(tensors, state)
    first = rank() == 0
    own = (run, callbacks) if first else (None, ())
    return finish(trainer, own[0], history, about, callbacks=own[1], checkpoint_seconds=checkpoint_seconds)


def _started(run: RunFolder, about: dict[str, Any], trainer: Trainer, *, resume: bool) -> Any:
    history = run.start(about, trainer, resume=resume)
    return trainer.tensors(), trainer.about(), history
