"""A training run from start to end, in a run folder from which it can be resumed."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from torch import Tensor, nn

from kappagcn.errors import ConfigError, DivergedError
from kappagcn.training.checkpoint import CheckpointFolder, fingerprint, save_tensors
from kappagcn.training.run_lock import locked
from kappagcn.training.trainer import Record, Trainer

Callback = Callable[[Record], None]
CHECKPOINT_SECONDS = 5.0
PATH_POINTS = 20  # epochs that a record keeps of a history


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `run_training`, for functions that pass them on."""

    folder: str | Path | None
    resume: bool
    callbacks: Sequence[Callback]
    checkpoint_seconds: float


@dataclass
class TrainingResult:
    """Result of training; the network itself holds the best weights.

    `seconds` is the time of all epochs, also of those before an interruption; `resumed_after` is the number of epochs
    before the last start or resume.

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
    restarts: int = 0
    best_record: Record = field(default_factory=dict, repr=False)

    @property
    def best(self) -> Record:
        """Metrics of the epoch whose weights were kept."""
        return self.best_record or self.history[self.best_epoch - 1]


def thinned(history: list[Record]) -> list[Record]:
    """At most about 20 epochs of a history, with the first and the last."""
    step = max(1, -(-len(history) // PATH_POINTS))
    return [*history[::step], *([] if (len(history) - 1) % step == 0 else [history[-1]])]


def curvature_path(history: list[Record]) -> list[list[float]]:
    """[epoch, κ …] for some epochs from the first to the last; empty without curvatures."""
    kept = thinned(history) if history and history[0]["curvatures"] else []
    return [[each["epoch"], *(round(kappa, 5) for kappa in each["curvatures"])] for each in kept]


@contextmanager
def _delayed_interrupt() -> Iterator[list[int]]:
    """Collect a Ctrl-C, so that it takes effect at the end of the epoch; a second one takes effect at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = signal.getsignal(signal.SIGINT)

    def collect(number: int, frame: Any) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, collect)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, before)


def train(
    trainer: Trainer,
    *,
    folder: CheckpointFolder | None = None,
    history: list[Record] | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    epochs: float = math.inf,
) -> list[Record]:
    """Run epochs until training is over, with a checkpoint every few seconds, at the end, and on Ctrl-C.

    Args:
        trainer: The trainer.
        folder: Run folder, which was started; None to keep nothing.
        history: Metrics of the epochs so far, to which those of further epochs are added.
        callbacks: Functions that are called with each epoch's metrics.
        checkpoint_seconds: Time between checkpoints.
        epochs: Epoch after which to stop, though training is not over.

    Raises:
        DivergedError: A value became NaN or infinite; the last good state is saved.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import NodeClassification, TrainingSettings
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingSettings(epochs=3))
    >>> len(train(trainer))
    3
    """
    history = [] if history is None else history
    saved = time.monotonic()
    try:
        with _delayed_interrupt() as interrupts:
            while not _is_done(trainer, epochs):
                start = time.perf_counter()
                history.append(trainer.run_epoch())
                trainer.seconds += time.perf_counter() - start
                for callback in callbacks:
                    callback(history[-1])
                due = time.monotonic() - saved > checkpoint_seconds
                stop = trainer.communicator.any_rank(bool(interrupts))
                if folder is not None and (due or stop or _is_done(trainer, epochs)):
                    folder.save(trainer, history)
                    saved = time.monotonic()
                if stop:
                    where = "" if folder is None else f", saved in {folder.path}; resume=True continues from there"
                    raise KeyboardInterrupt(f"after epoch {trainer.epoch}{where}")
    except DivergedError as problem:
        if folder is not None:
            folder.save(trainer, history)
            problem.saved_at(folder.checkpoint)
        raise
    return history


def _is_done(trainer: Trainer, epochs: float) -> bool:
    return trainer.epoch >= epochs or trainer.is_over()


def run_training(
    trainer: Trainer,
    about: dict[str, Any],
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    history: Sequence[Record] = (),
) -> TrainingResult:
    """Run all epochs, in a run folder if there is one; at the end network and folder hold the best weights.

    Of several processes rank 0 alone reads and writes the folder and calls back; any number of them can resume the run.

    Args:
        trainer: The trainer.
        about: Run configuration, which a resumed run must share; ``"model"`` and ``"options"`` describe the weights.
        folder: Run folder; None to keep nothing.
        resume: Continue the run in `folder`, if there is one, to the same numbers as without the interruption.
        callbacks: Functions that are called with each epoch's metrics.
        checkpoint_seconds: Time between checkpoints.
        history: Metrics of the epochs that the trainer has already run.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.training import NodeClassification, TrainingSettings
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingSettings(epochs=3))
    >>> run_training(trainer, {}).stopped_by
    'epochs'
    """
    if resume and folder is None:
        raise ConfigError("resume: expected the folder of the run to continue, found none.")
    run = None if folder is None else CheckpointFolder(Path(folder))
    history = list(history)
    if run is not None:  # rank 0 starts or resumes the run; other ranks take its state
        files = run
        history = on_all_ranks(trainer, lambda: files.start(about, trainer, history, resume=resume))
    if trainer.communicator.rank > 0:
        run, callbacks = None, ()
    first = trainer.epoch
    history = train(trainer, folder=run, history=history, callbacks=callbacks, checkpoint_seconds=checkpoint_seconds)
    trainer.take_best()
    trainer.model.eval()
    if run is not None:
        described: dict[str, Any] = {name: about[name] for name in ("model", "options") if name in about}
        save_tensors(run.model, trainer.model.state_dict(), {**described, "epoch": trainer.stopping.best_epoch})
    return TrainingResult(
        epochs=trainer.epoch,
        best_epoch=trainer.stopping.best_epoch,
        stopped_by=_reason(trainer),
        seconds=trainer.seconds,
        resumed_after=first,
        restarts=trainer.restarts,
        history=history,
        best_record=trainer.best_record,
    )


def run_task(
    trainer: Trainer,
    network: nn.Module,
    about: Mapping[str, Any],
    tensors: Mapping[str, Sequence[Tensor | None]],
    **run: Unpack[RunOptions],
) -> TrainingResult:
    """`run_training` on a graph, in a locked folder, with the configuration that a resumed run must share.

    Args:
        trainer: The trainer, whose task has an `identity` of its own settings.
        network: The network, for its dtype.
        about: Name and options of the network, and name of the split.
        tensors: What the run is trained on, by name; the configuration has hashes of it.
        **run: See `run_training`.
    """
    task: Any = trainer.task
    identity: dict[str, Any] = {}
    if run.get("folder") is not None:
        identity = {**about, "dtype": str(next(network.parameters()).dtype), "training": asdict(trainer.config)}
        identity |= {name: fingerprint(*values) for name, values in tensors.items()} | task.identity()
    with locked(run.get("folder"), trainer.communicator):
        return run_training(trainer, identity, **run)


def on_all_ranks(trainer: Trainer, load: Callable[[], list[Record]]) -> list[Record]:
    """Load a state on rank 0 alone; all ranks then have it, and return the metrics of its epochs."""
    if trainer.communicator.world_size == 1:
        return load()
    history, tensors, state = trainer.communicator.run_on_rank0(lambda: (load(), trainer.tensors(), trainer.about()))
    if trainer.communicator.rank > 0:
        trainer.load(tensors, state)
    return history


def _reason(trainer: Trainer) -> str:
    if trainer.converged:
        return "converged"
    return "patience" if trainer.stopping.is_over() else "epochs"
