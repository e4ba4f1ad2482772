"""Checkpoints: tensors and their description in one safetensors file; files of a run that training resumes from."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from kappagcn.errors import CheckpointError, KappaGCNError
from kappagcn.models import NodeClassifier, build_model
from kappagcn.run_folder import plain_json, save_json, should_resume, writing
from kappagcn.training.trainer import Record, Trainer

STATE = "model/"  # before the names of a model's tensors, in a file that has others


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> Path:
    """Write tensors, with their description as JSON in the header of the file, and return its path."""
    # One copy per name: tensors that share memory cannot be stored.
    copies = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    content = save(copies, {"kappagcn": plain_json(about)})
    with writing(path) as file:
        file.write(content)
    return path


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors of a file and their description."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["kappagcn"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"{path}: expected a saved training state, found no such file.") from None
    except (SafetensorError, KeyError, ValueError, OSError) as problem:
        raise CheckpointError(f"{path}: expected a training state saved by kappagcn, found {problem}.") from None


def state_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model, to be saved in one file with other tensors."""
    return {f"{STATE}{name}": tensor for name, tensor in model.state_dict().items()}


def load_state(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load the state that `state_tensors` returned, from the tensors of a file."""
    model.load_state_dict({name[len(STATE) :]: t for name, t in tensors.items() if name.startswith(STATE)})


@contextmanager
def loading(path: Path, what: str) -> Iterator[tuple[dict[str, Tensor], dict[str, Any]]]:
    """Yield the tensors of a file and their description; if they do not fit, raise an error that names the file."""
    content = load_tensors(path)
    try:
        yield content
    except (KappaGCNError, KeyError, TypeError, RuntimeError, ValueError) as problem:
        raise CheckpointError(f"{path}: expected {what} of this version, found another ({problem}).") from None


def load_model(folder: str | Path) -> NodeClassifier:
    """The network of a finished run, with its best weights.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, random_split
    >>> from kappagcn.models import KappaGCN
    >>> from kappagcn.nn import TangentFeatures
    >>> from kappagcn.training import TrainingSettings, fit, predict
    >>> data, model = TangentFeatures(0.1)(disease(200)), KappaGCN(10, 2, "H4")
    >>> with TemporaryDirectory() as folder:
    ...     _ = fit(model, data, random_split(data.y, 0), TrainingSettings(epochs=2), folder=f"{folder}/run")
    ...     torch.equal(predict(load_model(f"{folder}/run"), data), predict(model, data))
    True
    """
    path = Path(folder) / "model.safetensors"
    if not path.exists() and (Path(folder) / "checkpoint.safetensors").exists():
        raise CheckpointError(f"{folder}: expected a finished run, found one that was interrupted; resume it first.")
    with loading(path, "weights of a network") as (tensors, about):
        model = build_model(about["model"], **about["options"])
        model = model.to(next(t.dtype for t in tensors.values() if t.is_floating_point()))
        model.load_state_dict(tensors)
    return model.eval()


class CheckpointFolder:
    """Files of a run: `config.json`, `checkpoint.safetensors`, `metrics.jsonl`, `model.safetensors`.

    Metrics are written before the checkpoint of their epoch; lines after the checkpoint, and damaged ones, are dropped
    when the run is resumed.

    >>> CheckpointFolder(Path("runs/mine")).metrics.as_posix()
    'runs/mine/metrics.jsonl'
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config, self.checkpoint = self.path / "config.json", self.path / "checkpoint.safetensors"
        self.metrics, self.model = self.path / "metrics.jsonl", self.path / "model.safetensors"
        self._written = 0

    def start(
        self, config: dict[str, Any], trainer: Trainer, history: Sequence[Record] = (), *, resume: bool = False
    ) -> list[Record]:
        """Start a run, or resume the one in the folder; returns the metrics of its epochs so far.

        Args:
            config: Run configuration, which a resumed run must share.
            trainer: Trainer whose state is saved, or loaded.
            history: Metrics of the epochs that the trainer of a new run has already run.
            resume: Whether a run in the folder may be resumed; it is never overwritten.
        """
        resumes = should_resume(self.path, config, resume=resume)
        for file in (self.config, self.checkpoint, self.metrics, self.model):
            for part in self.path.glob(f"{file.name}.*.part"):  # temporary files of a killed process
                part.unlink()
        if resumes and self.checkpoint.exists():
            return self.load(trainer)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.metrics.unlink(missing_ok=True)
        except OSError as problem:
            raise CheckpointError(f"{self.path}: expected a folder to write in, found {problem.strerror}.") from None
        self.save(trainer, list(history))
        save_json(self.config, config)  # written last: its presence marks a run
        return list(history)

    def save(self, trainer: Trainer, history: list[Record]) -> None:
        """Append metrics that are not yet written, then save the state."""
        try:
            with self.metrics.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in history[self._written :])
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise CheckpointError(f"{self.metrics}: cannot be written ({problem.strerror}).") from None
        self._written = len(history)
        save_tensors(self.checkpoint, trainer.tensors(), trainer.about())

    def moved(self, path: Path) -> CheckpointFolder:
        """This run in another folder, whose files the caller moves."""
        moved = CheckpointFolder(path)
        moved._written = self._written
        return moved

    def load(self, trainer: Trainer) -> list[Record]:
        """Load the state of the checkpoint into a trainer; returns the metrics of its epochs."""
        tensors, about = load_tensors(self.checkpoint)
        try:
            trainer.load(tensors, about)
        except (KeyError, RuntimeError, TypeError, ValueError) as problem:
            raise CheckpointError(f"{self.checkpoint}: expected a state of this network, found {problem}.") from None
        history = self._read_metrics(trainer.epoch)
        if len(history) < trainer.epoch:
            warnings.warn(
                f"{self.metrics}: expected {trainer.epoch} epochs, found {len(history)}. Training continues from the "
                "checkpoint; the curves of this run will have a gap.",
                stacklevel=2,
            )
        with writing(self.metrics) as file:
            file.write("".join(json.dumps(record) + "\n" for record in history).encode())
        self._written = len(history)
        return history

    def _read_metrics(self, epochs: int) -> list[Record]:
        """Metrics up to this epoch, without damaged lines."""
        records: dict[int, Record] = {}
        content = self.metrics.read_text(errors="replace") if self.metrics.is_file() else ""
        for line in content.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                records[int(record["epoch"])] = record
        return [records[epoch] for epoch in sorted(records) if 1 <= epoch <= epochs]


def fingerprint(*tensors: Tensor | None) -> str:
    """A short hash of the values, dtypes and shapes of tensors."""
    digest = hashlib.sha256()
    for tensor in tensors:
        if tensor is None:
            continue
        if tensor.layout != torch.strided:
            entries = tensor.detach().to_sparse_coo().coalesce()
            digest.update(fingerprint(entries.indices(), entries.values()).encode())
        else:
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            digest.update(np.ascontiguousarray(tensor.detach().cpu().numpy()).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]
