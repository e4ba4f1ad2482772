"""Checkpoints: tensors and their description in one safetensors file, and the run folder that training resumes from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from kappagcn.errors import CheckpointError
from kappagcn.run_folder import plain_json, save_json, should_resume, writing
from kappagcn.training.trainer import Record, Trainer

__all__ = ["RunFolder", "fingerprint", "load_tensors", "save_tensors"]


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors, and their description as JSON in the header of the file."""
    # One copy per name: tensors that share memory cannot be stored.
    copies = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    content = save(copies, {"kappagcn": plain_json(about)})
    with writing(path) as file:
        file.write(content)


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


class RunFolder:
    """Files of a run: `config.json`, `checkpoint.safetensors`, `metrics.jsonl`, `model.safetensors`.

    Metrics are written before the checkpoint of their epoch, so lines are never missing; those after the checkpoint are
    dropped when the run is resumed.

    >>> RunFolder(Path("runs/mine")).metrics.as_posix()
    'runs/mine/metrics.jsonl'
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config, self.checkpoint = self.path / "config.json", self.path / "checkpoint.safetensors"
        self.metrics, self.model = self.path / "metrics.jsonl", self.path / "model.safetensors"
        self._written = 0

    def start(self, config: dict[str, Any], trainer: Trainer, *, resume: bool = False) -> list[Record]:
        """Start a run, or resume the one in the folder; the history so far.

        Args:
            config: Run configuration, which a resumed run must share.
            trainer: Trainer whose state is saved, or loaded.
            resume: Whether a run in the folder may be resumed; it is never overwritten.
        """
        resumes = should_resume(self.path, config, resume=resume)
        for file in (self.config, self.checkpoint, self.metrics, self.model):
            for part in self.path.glob(f"{file.name}.*.part"):  # of a write that a kill cut short
                part.unlink()
        if resumes:
            return self._load(trainer)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.metrics.unlink(missing_ok=True)
        except OSError as problem:
            raise CheckpointError(f"{self.path}: expected a folder to write in, found {problem.strerror}.") from None
        self.save(trainer, [])
        save_json(self.config, config)  # last: from now on there is a run
        return []

    def save(self, trainer: Trainer, history: list[Record]) -> None:
        """Append metrics that are not yet written, then save the state."""
        try:
            with self.metrics.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in history[self._written :])
        except OSError as problem:
            raise CheckpointError(f"{self.metrics}: cannot be written ({problem.strerror}).") from None
        self._written = len(history)
        save_tensors(self.checkpoint, trainer.tensors(), trainer.about())

    def _load(self, trainer: Trainer) -> list[Record]:
        tensors, about = load_tensors(self.checkpoint)
        try:
            trainer.load(tensors, about)
        except (KeyError, RuntimeError, TypeError, ValueError) as problem:
            raise CheckpointError(f"{self.checkpoint}: expected a state of this network, found {problem}.") from None
        try:
            lines = self.metrics.read_text().splitlines()[: trainer.epoch] if self.metrics.exists() else []
            history = [json.loads(line) for line in lines]
        except (OSError, ValueError) as problem:
            raise CheckpointError(f"{self.metrics}: expected one record per line, found {problem}.") from None
        if len(lines) < trainer.epoch:
            raise CheckpointError(f"{self.metrics}: expected {trainer.epoch} lines, found {len(lines)}.")
        with writing(self.metrics) as file:
            file.write("".join(line + "\n" for line in lines).encode())
        self._written = len(lines)
        return history


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
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
