"""The directory of a run: configuration, checkpoint, metrics of each epoch, weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write
from kappagcn.training.checkpoint import load_tensors, plain_json, save_tensors
from kappagcn.training.trainer import Record, Trainer

__all__ = ["RunFolder", "fingerprint", "should_resume"]


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
        resumes = should_resume(self.path, config, resume=resume)
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
            with atomic_write(path) as file:
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


def should_resume(path: Path, config: dict[str, Any], *, resume: bool) -> bool:
    """Whether a directory holds a run with this configuration that is to be resumed; False without a run.

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
    names = [name for name in ("summary.json", "embedding.npz", "model.safetensors", "runs") if (path / name).exists()]
    if metrics.exists() and metrics.stat().st_size:  # an empty one is left by a start that was cut short
        names.append(metrics.name)
    if names:
        raise CheckpointError(
            f"{path}: expected a run with its config.json, or a folder without files of that kind, found {names[0]} "
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
