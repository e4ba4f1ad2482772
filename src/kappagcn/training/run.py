"""A training run from start to end, in a folder that survives a kill."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import DivergedError, TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.checkpoint import save_tensors
from kappagcn.training.config import TrainingConfig
from kappagcn.training.run_folder import RunFolder, fingerprint
from kappagcn.training.trainer import Record, Trainer

__all__ = ["TrainingResult", "run_identity", "run_training", "train"]

Callback = Callable[[Record], None]
CHECKPOINT_SECONDS = 5.0


@dataclass
class TrainingResult:
    """What training came to; the network itself holds the best weights.

    `seconds` are those since it was last taken up, after so many epochs.

    >>> history = [{"epoch": 1, "stopping_accuracy": 0.5}, {"epoch": 2, "stopping_accuracy": 0.7}]
    >>> TrainingResult(epochs=2, best_epoch=2, stopped_by="epochs", seconds=0.1, history=history).best
    {'epoch': 2, 'stopping_accuracy': 0.7}
    """

    epochs: int
    best_epoch: int
    stopped_by: str
    seconds: float
    history: list[Record] = field(repr=False)
    capped_rows: int = 0
    resumed_after: int = 0

    @property
    def best(self) -> Record:
        """The numbers of the epoch whose weights were kept."""
        return self.history[self.best_epoch - 1]


@contextmanager
def _interrupts_wait() -> Iterator[list[int]]:
    """Ctrl-C within it is noted and waits for the end of the epoch; a second one does not."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def train(
    trainer: Trainer,
    *,
    folder: RunFolder | None = None,
    history: list[Record] | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> list[Record]:
    """Epochs until the trainer is over, with a checkpoint every few seconds, at the end, and on Ctrl-C.

    Raises:
        DivergedError: something became NaN; the last good state is saved.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import NodeClassification
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingConfig(epochs=3))
    >>> len(train(trainer))
    3
    """
    history = [] if history is None else history
    saved = time.monotonic()
    try:
        with _interrupts_wait() as interrupts:
            while not trainer.is_over():
                history.append(trainer.run_epoch())
                for callback in callbacks:
                    callback(history[-1])
                late = time.monotonic() - saved > checkpoint_seconds
                stop = trainer.communicator.any_rank(bool(interrupts))
                if folder is not None and (late or stop or trainer.is_over()):
                    folder.save(trainer, history)
                    saved = time.monotonic()
                if stop:
                    where = "" if folder is None else f", saved in {folder.path}; resume=True goes on from there"
                    raise KeyboardInterrupt(f"after epoch {trainer.epoch}{where}")
    except DivergedError as problem:
        if folder is not None:
            folder.save(trainer, history)
            problem.saved_at(folder.checkpoint)
        raise
    return history


def run_training(
    trainer: Trainer,
    folder: str | Path | None,
    about: dict[str, Any],
    *,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> TrainingResult:
    """All epochs, in a folder where one is given; at the end the network holds its best weights, in the folder too.

    Of several processes rank 0 alone reads and writes the folder and calls back; any number of them can resume the run.

    Args:
        trainer: What is trained.
        folder: Where to keep the run; None to keep nothing.
        about: What must be the same for a run in a folder to go on, and the weights' own description under ``"model"``.
        resume: Go on with the run in `folder`, if there is one.
        callbacks: Called with each epoch's numbers.
        checkpoint_seconds: Time between checkpoints.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import NodeClassification
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingConfig(epochs=3))
    >>> run_training(trainer, None, {}).stopped_by
    'epochs'
    """
    if resume and folder is None:
        raise TrainingError("resume: expected the folder of the run to go on with, found none.")
    run, history, rank = None, [], trainer.communicator.rank
    if folder is not None:
        run = RunFolder(Path(folder))
        history = _start(trainer, run, about, resume=resume)
    if rank > 0:
        run, callbacks = None, ()
    first, start = trainer.epoch, time.perf_counter()
    history = train(trainer, folder=run, history=history, callbacks=callbacks, checkpoint_seconds=checkpoint_seconds)
    seconds = time.perf_counter() - start
    trainer.take_best()
    trainer.model.eval()
    if run is not None:
        described: dict[str, Any] = {name: about[name] for name in ("model", "options") if name in about}
        save_tensors(run.model, trainer.model.state_dict(), {**described, "epoch": trainer.stopping.best_epoch})
    return TrainingResult(
        epochs=trainer.epoch,
        best_epoch=trainer.stopping.best_epoch,
        stopped_by="patience" if trainer.stopping.is_over(trainer.epoch) else "epochs",
        seconds=seconds,
        resumed_after=first,
        history=history,
    )


def _start(trainer: Trainer, run: RunFolder, about: dict[str, Any], *, resume: bool) -> list[Record]:
    """Start or resume a run on rank 0, and give every other rank the same state; the history so far."""

    def start() -> tuple[dict[str, Tensor], dict[str, Any], list[Record]]:
        history = run.start(about, trainer, resume=resume)
        return trainer.tensors(), trainer.about(), history

    tensors, state, history = trainer.communicator.run_on_rank0(start)
    if trainer.communicator.rank > 0:
        trainer.load(tensors, state)
    return history


def run_identity(model: NodeClassifier, data: Data, split: Split, config: TrainingConfig) -> dict[str, Any]:
    """What must be the same for the run of a classifier to go on; labels of test nodes stay hidden."""
    return {
        "model": model.name,
        "options": model.options,
        "dtype": str(next(model.parameters()).dtype),
        "training": asdict(config),
        "split": split.name,
        "nodes": fingerprint(split.train, split.stopping, split.validation, split.final_test_nodes()),
        "data": fingerprint(data.x, data.edge_index, data.get("edge_weight"), split.training_view(data).y),
    }
