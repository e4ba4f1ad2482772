"""A training run from start to end, in a folder that survives a kill."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from kappagcn.atomic import replacing
from kappagcn.errors import CheckpointError, DivergedError, PrecisionWarning
from kappagcn.graphs.splits import Split
from kappagcn.models import NodeClassifier
from kappagcn.training.checkpoint import load_tensors, save_tensors
from kappagcn.training.checks import check_training
from kappagcn.training.config import TrainingConfig
from kappagcn.training.tasks import NodeClassification
from kappagcn.training.trainer import Record, Trainer

__all__ = ["RunFolder", "TrainingResult", "fit", "train"]

Callback = Callable[[Record], None]
CHECKPOINT_SECONDS = 5.0


@dataclass
class TrainingResult:
    """What training came to; the network itself holds the best weights."""

    epochs: int
    best_epoch: int
    stopped_by: str
    seconds: float
    history: list[Record] = field(repr=False)
    capped_rows: int = 0

    @property
    def best(self) -> Record:
        """The numbers of the epoch whose weights were kept."""
        return self.history[self.best_epoch - 1]


class RunFolder:
    """Files of a run: `config.json`, `checkpoint.safetensors`, `metrics.jsonl`, `model.safetensors`.

    Lines of metrics are written before the checkpoint of their epoch, so there are never too few; those after it are
    dropped when the run is taken up again.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config, self.checkpoint = self.path / "config.json", self.path / "checkpoint.safetensors"
        self.metrics, self.model = self.path / "metrics.jsonl", self.path / "model.safetensors"
        self._written = 0

    def open(self, config: dict[str, Any], resume: bool) -> bool:
        """Make the folder, or find the run in it; whether there is a state to go on from."""
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path}: expected a folder for the run, found a file.")
        known = self.config.exists() or self.checkpoint.exists()
        if known and not resume:
            raise CheckpointError(f"{self.path}: holds a run already; resume it, or name another folder.")
        if known:
            self._same(config)
            for part in self.path.glob("*.part"):  # of a write that a kill cut short
                part.unlink()
            return self.checkpoint.exists()
        self._write(self.config, json.dumps(config, indent=1) + "\n")
        return False

    def _same(self, config: dict[str, Any]) -> None:
        try:
            before = json.loads(self.config.read_text())
        except (OSError, ValueError) as problem:
            raise CheckpointError(f"{self.config}: expected the run's settings, found {problem}.") from None
        wanted = json.loads(json.dumps(config))
        for part in sorted(before.keys() | wanted.keys()):
            if before.get(part) != wanted.get(part):
                raise CheckpointError(
                    f"{self.path}: expected to resume with {part} {before.get(part)}, found {wanted.get(part)}."
                )

    def _write(self, path: Path, text: str) -> None:
        try:
            with replacing(path) as file:
                file.write(text.encode())
        except OSError as problem:
            raise CheckpointError(f"{path}: cannot be written ({problem.strerror}).") from None

    def save(self, trainer: Trainer, history: list[Record]) -> None:
        """Lines that are not yet there, then the state."""
        try:
            with self.metrics.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in history[self._written :])
        except OSError as problem:
            raise CheckpointError(f"{self.metrics}: cannot be written ({problem.strerror}).") from None
        self._written = len(history)
        save_tensors(self.checkpoint, trainer.tensors(), trainer.about())

    def load(self, trainer: Trainer) -> list[Record]:
        """The state and its history."""
        tensors, about = load_tensors(self.checkpoint)
        try:
            trainer.load(tensors, about)
        except (KeyError, RuntimeError, TypeError, ValueError) as problem:
            raise CheckpointError(f"{self.checkpoint}: expected a state of this network, found {problem}.") from None
        lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        if len(lines) < trainer.epoch:
            raise CheckpointError(f"{self.metrics}: expected {trainer.epoch} lines, found {len(lines)}.")
        kept = lines[: trainer.epoch]
        self._write(self.metrics, "".join(line + "\n" for line in kept))
        self._written = len(kept)
        return [json.loads(line) for line in kept]


def train(
    trainer: Trainer,
    *,
    folder: RunFolder | None = None,
    history: list[Record] | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> list[Record]:
    """Epochs until the trainer is over, with a checkpoint every few seconds and at the end.

    Interrupted between two checkpoints it goes on from the first: a state in the middle of a step is none.

    Raises:
        DivergedError: something became NaN; the last good state is saved.
    """
    history = [] if history is None else history
    saved = time.monotonic()
    if folder is not None and not history:
        folder.save(trainer, history)  # a run killed at once starts from the same weights
    try:
        while not trainer.is_over():
            history.append(trainer.run_epoch())
            for callback in callbacks:
                callback(history[-1])
            if folder is not None and time.monotonic() - saved > checkpoint_seconds:
                folder.save(trainer, history)
                saved = time.monotonic()
    except DivergedError as problem:
        if folder is not None:
            folder.save(trainer, history)
            problem.saved_at(folder.checkpoint)
        raise
    if folder is not None:
        folder.save(trainer, history)
    return history


def fit(
    model: NodeClassifier,
    data: Data,
    split: Split | None = None,
    config: TrainingConfig | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> TrainingResult:
    """Train a node classifier; at the end it holds the weights of its best epoch.

    Labels of test nodes are hidden before training starts; :func:`kappagcn.training.final_evaluation` looks at them.

    Args:
        model: The network, with the weights to start from.
        data: The graph, with features, edges and classes.
        split: Which nodes are for what; by default from the masks of `data`.
        config: How to train.
        folder: Where to keep the run; None to keep nothing.
        resume: Go on with the run in `folder`, if there is one, to the same numbers as without the interruption.
        callbacks: Called with each epoch's numbers.
        checkpoint_seconds: Time between checkpoints.

    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> data = disease(200)
    >>> result = fit(KappaGCN(10, 2, "H4"), data, random_split(data.y, 0), TrainingConfig(epochs=5))
    >>> result.epochs
    5
    """
    config = config or TrainingConfig()
    split = Split.from_masks(data) if split is None else split
    check_training(model, data, split)
    task = NodeClassification(model, data, split)
    trainer = Trainer(model, task, config, regularised=model.first_layer())
    run, history = None, []
    if folder is not None:
        run = RunFolder(Path(folder))
        about = {"model": model.name, "options": model.options, "training": asdict(config), "split": split.name}
        if run.open(about, resume):
            history = run.load(trainer)
    start = time.perf_counter()
    history = train(trainer, folder=run, history=history, callbacks=callbacks, checkpoint_seconds=checkpoint_seconds)
    seconds = time.perf_counter() - start
    trainer.take_best()
    model.eval()
    if run is not None:
        weights = {"model": model.name, "options": model.options, "epoch": trainer.stopping.best_epoch}
        save_tensors(run.model, model.state_dict(), weights)
    capped = model.capped_rows(task.x, task.adjacency)
    if capped:
        warnings.warn(
            f"{capped} hidden rows lie farther out than {model.options['space']} resolves in this precision and were "
            f"taken as just inside; build the network with double=True.",
            PrecisionWarning,
            stacklevel=2,
        )
    return TrainingResult(
        epochs=trainer.epoch,
        best_epoch=trainer.stopping.best_epoch,
        stopped_by="patience" if trainer.stopping.is_over(trainer.epoch) else "epochs",
        seconds=seconds,
        history=history,
        capped_rows=capped,
    )
