"""A training run from start to end, in a folder that survives a kill."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import CheckpointError, DivergedError, PrecisionWarning, TrainingError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.io_atomic import replacing
from kappagcn.models import NodeClassifier
from kappagcn.training.checkpoint import load_tensors, plain_json, save_tensors
from kappagcn.training.checks import check_graph, check_training
from kappagcn.training.config import TrainingConfig
from kappagcn.training.tasks import NodeClassification
from kappagcn.training.trainer import Record, Trainer

__all__ = ["RunFolder", "TrainingResult", "fingerprint", "finish", "fit", "is_to_go_on", "told", "train", "train_in"]

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


class RunFolder:
    """Files of a run: `config.json`, `checkpoint.safetensors`, `metrics.jsonl`, `model.safetensors`.

    Lines of metrics are written before the checkpoint of their epoch, so there are never too few; those after it are
    dropped when the run is taken up again.

    >>> RunFolder(Path("runs/mine")).metrics.as_posix()
    'runs/mine/metrics.jsonl'
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config, self.checkpoint = self.path / "config.json", self.path / "checkpoint.safetensors"
        self.metrics, self.model = self.path / "metrics.jsonl", self.path / "model.safetensors"
        self._written = 0

    def start(self, config: dict[str, Any], trainer: Trainer, *, resume: bool = False) -> list[Record]:
        """Begin a run, or with `resume` go on with the one that is there; the history so far.

        Args:
            config: What must be the same for a run to go on.
            trainer: Whose state is saved, or takes the saved one.
            resume: Whether a run that is there may be gone on with; it is never overwritten.
        """
        resumes = is_to_go_on(self.path, config, resume=resume)
        for file in (self.config, self.checkpoint, self.metrics, self.model):
            for part in self.path.glob(f"{file.name}.*.part"):  # of a write that a kill cut short
                part.unlink()
        if not resumes:
            self._begin(config, trainer)
            return []
        return self._load(trainer)

    def _begin(self, config: dict[str, Any], trainer: Trainer) -> None:
        """The state to start from, then the settings, which say that there is a run."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.metrics.unlink(missing_ok=True)
        except OSError as problem:
            raise CheckpointError(f"{self.path}: expected a folder to write in, found {problem.strerror}.") from None
        self.save(trainer, [])
        self._write(self.config, plain_json(config, indent=1) + "\n")

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

    def _load(self, trainer: Trainer) -> list[Record]:
        """The state and its history."""
        tensors, about = load_tensors(self.checkpoint)
        try:
            trainer.load(tensors, about)
        except (KeyError, RuntimeError, TypeError, ValueError) as problem:
            raise CheckpointError(f"{self.checkpoint}: expected a state of this network, found {problem}.") from None
        try:
            lines = self.metrics.read_text().splitlines() if self.metrics.exists() else []
        except (OSError, UnicodeDecodeError) as problem:
            raise CheckpointError(f"{self.metrics}: expected one record per line, found {problem}.") from None
        if len(lines) < trainer.epoch:
            raise CheckpointError(f"{self.metrics}: expected {trainer.epoch} lines, found {len(lines)}.")
        kept = lines[: trainer.epoch]
        self._write(self.metrics, "".join(line + "\n" for line in kept))
        self._written = len(kept)
        try:
            return [json.loads(line) for line in kept]
        except ValueError as problem:
            raise CheckpointError(f"{self.metrics}: expected one record per line, found {problem}.") from None


def is_to_go_on(path: Path, config: dict[str, Any], *, resume: bool) -> bool:
    """Whether a folder holds a run of these settings that is to be gone on with; False for a folder without one.

    Raises:
        CheckpointError: there is a run, and it is another one, or was not to be resumed.
    """
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path}: expected a folder for the run, found a file.")
    file = path / "config.json"
    if not file.exists():
        _refuse_others(path)
        return False
    if not resume:
        raise CheckpointError(f"{path}: holds a run already; resume it, or name another folder.")
    try:
        before = json.loads(file.read_text())
        assert isinstance(before, dict)
    except (OSError, ValueError, AssertionError) as problem:
        raise CheckpointError(f"{file}: expected the run's settings, found {problem}.") from None
    wanted = json.loads(plain_json(config))
    differences = [f"{name} {mine} instead of {its}" for name, its, mine in _differences(before, wanted) if its != mine]
    if differences:
        raise CheckpointError(
            f"{path}: expected to resume with the settings and data of the run, found "
            f"{', '.join(differences)}. Name another folder for another run."
        )
    return True


def _refuse_others(path: Path) -> None:
    """Without settings a folder holds no run of ours; what looks like one, or has our files' names, is not touched."""
    metrics = path / "metrics.jsonl"
    found = [name for name in ("summary.json", "embedding.npz", "model.safetensors", "runs") if (path / name).exists()]
    if metrics.exists() and metrics.stat().st_size:  # an empty one is left by a start that was cut short
        found.append(metrics.name)
    if found:
        raise CheckpointError(
            f"{path}: expected a run with its config.json, or a folder without files of that kind, found {found[0]} "
            "alone. Name another folder."
        )


def _differences(before: dict[str, Any], wanted: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    for key in sorted(before.keys() | wanted.keys()):
        its, mine = before.get(key), wanted.get(key)
        if isinstance(its, dict) and isinstance(mine, dict):
            yield from _differences(its, mine, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", its, mine


def fingerprint(*tensors: Tensor | None) -> str:
    """A short hash of numbers: the same for the same data."""
    digest = hashlib.sha256()
    for tensor in tensors:
        if tensor is not None:
            if tensor.layout != torch.strided:
                entries = tensor.detach().to_sparse_coo().coalesce()
                digest.update(fingerprint(entries.indices(), entries.values()).encode())
            else:
                digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
                digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


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


def train_in(
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
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> trainer = Trainer(model, NodeClassification(model, data, random_split(data.y, 0)), TrainingConfig(epochs=3))
    >>> train_in(trainer, None, {}).stopped_by
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
    return finish(trainer, run, history, about, callbacks=callbacks, checkpoint_seconds=checkpoint_seconds)


def _start(trainer: Trainer, run: RunFolder, about: dict[str, Any], *, resume: bool) -> list[Record]:
    """Start or resume a run on rank 0, and give every other rank the same state; the history so far."""

    def start() -> tuple[dict[str, Tensor], dict[str, Any], list[Record]]:
        history = run.start(about, trainer, resume=resume)
        return trainer.tensors(), trainer.about(), history

    tensors, state, history = trainer.communicator.run_on_rank0(start)
    if trainer.communicator.rank > 0:
        trainer.load(tensors, state)
    return history


def finish(
    trainer: Trainer,
    run: RunFolder | None,
    history: list[Record],
    about: dict[str, Any],
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> TrainingResult:
    """The epochs that are left of a run that has been started."""
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


def told(model: NodeClassifier, data: Data, split: Split, config: TrainingConfig) -> dict[str, Any]:
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

    Labels of test nodes are hidden before training starts; `kappagcn.training.final_evaluation` looks at them.

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
    >>> from kappagcn.nn import TangentFeatures
    >>> data = TangentFeatures(scale=0.1)(disease(200))
    >>> result = fit(KappaGCN(10, 2, "H4"), data, random_split(data.y, 0), TrainingConfig(epochs=5))
    >>> result.epochs
    5
    """
    config = TrainingConfig() if config is None else config
    if not isinstance(config, TrainingConfig):
        raise TrainingError(f"config: expected a TrainingConfig, found {type(config).__name__}.")
    check_graph(model, data)
    split = Split.from_masks(data) if split is None else split
    check_training(model, data, split)
    task = NodeClassification(model, data, split)
    trainer = Trainer(model, task, config, regularised=model.first_layer())
    about: dict[str, Any] = {}
    if folder is not None:
        about = told(model, data, split, config)
    result = train_in(trainer, folder, about, resume=resume, callbacks=callbacks, checkpoint_seconds=checkpoint_seconds)
    result.capped_rows = model.capped_rows(task.x, task.adjacency)
    if result.capped_rows:
        warnings.warn(
            f"{result.capped_rows} rows lie farther out than {model.options['space']} resolves in float64 and "
            "were taken as just inside; scale the features (TangentFeatures, PointFeatures).",
            PrecisionWarning,
            stacklevel=2,
        )
    return result
