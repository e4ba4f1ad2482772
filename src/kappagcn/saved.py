"""Run folders read back: plain files, without torch, for figures and reports."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write

__all__ = ["PARTS", "Embedded", "SavedRun", "principal", "save_embedded", "save_json"]

Array = NDArray[Any]
# What reading an archive whose bytes were changed raises.
DAMAGE = (OSError, ValueError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
PARTS = ("other", "train", "stopping", "validation", "test")  # what a node was for


@dataclass(frozen=True)
class Embedded:
    """The arrays of a run: where its nodes are, and what is known of them.

    Args:
        tangent: Tangent vectors at the origin, (N, D).
        points: The same as points of the space, (N, D).
        dims: Dimensions of the factors, (F,).
        curvatures: Of the factors, (F,).
        edges: Each edge once, (E, 2).
        names: Of nodes, (N,); None where they are numbered.
        labels: Places among `class_names`, −1 for none, (N,).
        class_names: In the order of `labels`, (C,).
        probabilities: Of the classes, (N, C).
        parts: What each node was for, places in `PARTS`, (N,).
        ratio_edges: Borders of the bins of d/d_G over pairs of nodes, (B + 1,).
        ratio_counts: Pairs in each bin, (B,).
    """

    tangent: Array
    points: Array
    dims: Array
    curvatures: Array
    edges: Array
    names: Array | None = None
    labels: Array | None = None
    class_names: Array | None = None
    probabilities: Array | None = None
    parts: Array | None = None
    ratio_edges: Array | None = None
    ratio_counts: Array | None = None

    def __post_init__(self) -> None:
        n, d = self.tangent.shape if self.tangent.ndim == 2 else (-1, -1)
        wanted = {
            "tangent": (n, d),
            "points": (n, d),
            "curvatures": self.dims.shape,
            "edges": (len(self.edges), 2),
            "names": (n,),
            "labels": (n,),
            "parts": (n,),
            "probabilities": (n, len(self.class_names) if self.class_names is not None else 0),
        }
        for name, shape in wanted.items():
            value = getattr(self, name)
            if value is not None and value.shape != shape:
                raise ValueError(f"{name} of shape {value.shape} instead of {shape}")
        if self.dims.sum() != d or (len(self.edges) and not 0 <= self.edges.min() <= self.edges.max() < n):
            raise ValueError("dimensions or edges that do not belong to the points")

    @property
    def factors(self) -> list[tuple[float, slice]]:
        """Curvature and columns of each factor."""
        ends = np.cumsum([0, *self.dims]).tolist()
        return [
            (float(k), slice(start, stop)) for k, start, stop in zip(self.curvatures, ends[:-1], ends[1:], strict=True)
        ]

    def name(self, node: int) -> str:
        """Its name, or its number."""
        return str(node) if self.names is None else str(self.names[node])


def principal(v: Array) -> tuple[Array, float]:
    """Directions in which vectors (N, D) are longest, as columns, (D, D), and the share of squares the first two have.

    >>> axes, share = principal(np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]))
    >>> np.allclose(axes[:, 0], [0, 0, 1]), round(share, 6)
    (True, 1.0)
    """
    squares, axes = np.linalg.eigh(v.T @ v)
    axes, total = axes[:, ::-1], float(squares.sum())
    largest = np.abs(axes).argmax(0)
    axes = axes * np.sign(axes[largest, range(len(largest))])  # the same picture on every machine
    return axes, float(squares[-2:].sum()) / total if total else 1.0


def save_embedded(path: Path, embedded: Embedded) -> None:
    """Write the arrays that are there; the file appears whole or not at all."""
    arrays = {name: value for name, value in vars(embedded).items() if value is not None}
    try:
        with atomic_write(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
    except OSError as problem:
        raise CheckpointError(f"{path}: cannot be written ({problem.strerror}).") from None


def save_json(path: Path, values: dict[str, Any]) -> None:
    """Write numbers and words; the file appears whole or not at all."""
    try:
        with atomic_write(path) as file:
            file.write((json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())
    except OSError as problem:
        raise CheckpointError(f"{path}: cannot be written ({problem.strerror}).") from None


@dataclass(frozen=True)
class SavedRun:
    """A finished run of `kappagcn embed` or `kappagcn classify`, or of the estimators with a folder.

    Args:
        path: Its folder.

    >>> SavedRun(Path("nowhere"))
    Traceback (most recent call last):
    kappagcn.errors.CheckpointError: nowhere: expected the folder of a run, found no folder.
    """

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            value = "a file" if self.path.exists() else "no folder"
            raise CheckpointError(f"{self.path}: expected the folder of a run, found {value}.")
        if not (self.path / "config.json").is_file():
            raise CheckpointError(f"{self.path}: expected the folder of a run, found no config.json in it.")
        if not (self.path / "summary.json").is_file():
            raise CheckpointError(
                f"{self.path}: expected a finished run, found one that was interrupted. The command that started it "
                "goes on with it, with --resume."
            )

    @cached_property
    def config(self) -> dict[str, Any]:
        """What was asked for."""
        return self._json("config.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What it came to."""
        return self._json("summary.json")

    @property
    def kind(self) -> str:
        """``"embedding"`` or ``"classification"``."""
        return "classification" if "accuracy" in self.summary else "embedding"

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """Numbers of each epoch."""
        path = self.path / "metrics.jsonl"
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as problem:
            raise CheckpointError(f"{path}: expected one record per line, found {problem}.") from None

    @cached_property
    def embedded(self) -> Embedded:
        """Points and what is known of them."""
        path = self.path / "embedding.npz"
        try:
            with path.open("rb") as whole, np.load(whole, allow_pickle=False) as file:
                return Embedded(**{name: file[name] for name in file.files})
        except DAMAGE as problem:
            raise CheckpointError(f"{path}: expected the points of a run, found {problem}.") from None

    @property
    def graph(self) -> str:
        """What was embedded or classified."""
        return str(self.summary.get("graph", "graph"))

    def confusion(self) -> Array | None:
        """Test nodes by class (rows) and prediction (columns); None where there is nothing to compare."""
        embedded = self.embedded
        if embedded.labels is None or embedded.probabilities is None or embedded.parts is None:
            return None
        tested = (embedded.parts == PARTS.index("test")) & (embedded.labels >= 0)
        classes = embedded.probabilities.shape[1]
        pairs = classes * embedded.labels[tested] + embedded.probabilities[tested].argmax(1)
        return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)

    def _json(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise CheckpointError(f"{path}: expected what kappagcn wrote there, found {problem}.") from None
        if not isinstance(content, dict):
            raise CheckpointError(f"{path}: expected what kappagcn wrote there, found {type(content).__name__}.")
        return content
