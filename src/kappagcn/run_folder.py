"""The plain files of a run folder, read and written without torch: configuration, metrics, arrays, summary."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write, save_arrays

Array = NDArray[Any]
# Exceptions of reading a damaged archive.
DAMAGE = (OSError, ValueError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
ArraysT = TypeVar("ArraysT", "Embedded", "Links")
PARTS = ("other", "train", "stopping", "validation", "test")  # roles of nodes


@dataclass(frozen=True)
class Embedded:
    """The arrays of a run, for N nodes in F factors of D dimensions in all; None for what a run does not have."""

    tangent: Array  # tangent vectors at the origin, (N, D)
    points: Array  # points of the space, (N, D)
    dims: Array  # dimension of each factor, (F,)
    curvatures: Array  # curvature of each factor, (F,)
    edges: Array  # each edge once, (E, 2)
    lengths: Array | None = None  # lengths of the edges, (E,); None where all are 1
    names: Array | None = None  # names of nodes, (N,)
    labels: Array | None = None  # indices into class_names, −1 for none, (N,)
    class_names: Array | None = None  # (C,)
    probabilities: Array | None = None  # probabilities of the classes, (N, C)
    parts: Array | None = None  # role of each node, indices into PARTS, (N,)
    columns: Array | None = None  # numbers of a node table, where they are few, (N, K)
    column_names: Array | None = None  # (K,)
    ratio_edges: Array | None = None  # borders of the histogram of d/d_G over all pairs, (B + 1,)
    ratio_counts: Array | None = None  # pairs in each bin, (B,)

    def __post_init__(self) -> None:
        n, d = self.tangent.shape if self.tangent.ndim == 2 else (-1, -1)
        shapes = {
            "tangent": (n, d),
            "points": (n, d),
            "curvatures": self.dims.shape,
            "edges": (len(self.edges), 2),
            "lengths": (len(self.edges),),
            "names": (n,),
            "labels": (n,),
            "parts": (n,),
            "probabilities": (n, len(self.class_names) if self.class_names is not None else 0),
            "columns": (n, len(self.column_names) if self.column_names is not None else 0),
        }
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is not None and value.shape != shape:
                raise ValueError(f"{name} of shape {value.shape} instead of {shape}")
        if self.dims.sum() != d or (len(self.edges) and not 0 <= self.edges.min() <= self.edges.max() < n):
            raise ValueError("dimensions or edges that do not belong to the points")

    @property
    def factors(self) -> list[tuple[float, slice]]:
        """Curvature and columns of each factor."""
        ends = np.cumsum(self.dims).tolist()
        return [(float(k), slice(end - d, end)) for k, d, end in zip(self.curvatures, self.dims, ends, strict=True)]

    def name(self, node: int) -> str:
        """Name of a node, or its number."""
        return str(node) if self.names is None else str(self.names[node])


@dataclass(frozen=True)
class Links:
    """Results of a link prediction: scores of test pairs, and the most probable missing links, best first."""

    edge_scores: Array  # log-odds of test edges, (P,)
    other_scores: Array  # log-odds of test pairs without an edge, (Q,)
    sources: Array  # names of nodes, (K,)
    targets: Array  # (K,)
    probabilities: Array  # (K,)


def factor_name(k: float, dim: int) -> str:
    """The letter of a curvature's sign, with the dimension.

    >>> factor_name(-0.5, 2)
    'H2'
    """
    return f"{'H' if k < 0 else 'S' if k > 0 else 'E'}{dim}"


def principal(v: Array) -> tuple[Array, float]:
    """Principal directions of vectors (N, D) as columns, (D, D), and the share of the first two in the sum of squares.

    >>> axes, share = principal(np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]))
    >>> np.allclose(axes[:, 0], [0, 0, 1]), round(share, 6)
    (True, 1.0)
    """
    squares, axes = np.linalg.eigh(v.T @ v)
    axes, total = axes[:, ::-1], float(squares.sum())
    largest = np.abs(axes).argmax(0)
    axes = axes * np.sign(axes[largest, range(len(largest))])  # the same picture on every machine
    return axes, float(squares[-2:].sum()) / total if total else 1.0


@contextmanager
def writing(path: Path) -> Iterator[IO[Any]]:
    """Open a file as `atomic_write` does; a failure raises `CheckpointError`."""
    try:
        with atomic_write(path) as file:
            yield file
    except OSError as problem:
        raise CheckpointError(f"{path}: cannot be written ({problem.strerror}); the old file is unchanged.") from None


def save_embedded(path: Path, embedded: Embedded) -> None:
    """Write the arrays of a run as an npz file."""
    with writing(path) as file:
        save_arrays(file, **{k: v for k, v in vars(embedded).items() if v is not None})


def save_links(path: Path, links: Links) -> None:
    """Write the results of a link prediction as an npz file."""
    with writing(path) as file:
        save_arrays(file, **vars(links))


def save_json(path: Path, values: dict[str, Any]) -> None:
    """Write a dictionary as a JSON file."""
    text = plain_json(values, indent=1, ensure_ascii=False) + "\n"
    with writing(path) as file:
        # File names that are not text of the locale hold lone surrogates, which JSON writes as \udcxx.
        file.write(text.encode(errors="backslashreplace"))


def plain_json(value: Any, **options: Any) -> str:
    """JSON of plain values, with numbers of NumPy and torch as numbers; `options` are those of ``json.dumps``."""
    try:
        return json.dumps(value, default=lambda number: number.item(), **options)
    except (AttributeError, TypeError, ValueError) as problem:
        raise CheckpointError(f"expected settings of plain numbers and words to write down, found {problem}.") from None


def holds_run(path: Path, *, resume: bool) -> bool:
    """Whether a run folder holds a run, which is to be resumed; the settings are not compared.

    Raises:
        CheckpointError: The folder holds a run and `resume` is False, or files of another kind.
    """
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path}: expected a folder for the run, found a file.")
    if not (path / "config.json").exists():
        _refuse_other_files(path)
        return False
    if not resume:
        raise CheckpointError(f"{path}: holds a run already; resume it, or choose another folder.")
    return True


def should_resume(path: Path, config: dict[str, Any], *, resume: bool) -> bool:
    """Whether a run folder holds a run with this configuration that is to be resumed; False without a run.

    Raises:
        CheckpointError: The folder holds another run, or a run and `resume` is False.
    """
    if not holds_run(path, resume=resume):
        return False
    before = read_json(path / "config.json", "the run's settings")
    differences = _differences(before, json.loads(plain_json(config)))
    if differences:
        raise CheckpointError(
            f"{path}: expected to resume with the settings and data of the run, found "
            f"{', '.join(differences)}. Choose another folder for another run."
        )
    return True


def _refuse_other_files(path: Path) -> None:
    """Refuse a folder without config.json that has other files of a run, so that they are not overwritten."""
    names = [name for name in ("summary.json", "embedding.npz", "model.safetensors", "runs") if (path / name).exists()]
    metrics = path / "metrics.jsonl"
    if metrics.exists() and metrics.stat().st_size:  # a killed process may leave an empty file
        names.append(metrics.name)
    if names:
        raise CheckpointError(
            f"{path}: expected a run with its config.json, or a folder without files of a run, found {names[0]} "
            "alone. Choose another folder."
        )


def _differences(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """Settings that differ, by their path in nested dictionaries."""
    differences = []
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            differences += _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            differences.append(f"{prefix}{key} {new} instead of {old}")
    return differences


def read_json(path: Path, expected: str = "what kappagcn wrote there") -> dict[str, Any]:
    """The dictionary in a JSON file; `expected` is for the message of an error."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
        problem: Any = type(content).__name__
    except (OSError, ValueError) as error:
        problem = error
    raise CheckpointError(f"{path}: expected {expected}, found {problem}.")


@dataclass(frozen=True)
class SavedRun:
    """A finished run of `kappagcn embed` or `kappagcn classify`, or of the estimators with a folder.

    >>> SavedRun(Path("nowhere"))
    Traceback (most recent call last):
    kappagcn.errors.CheckpointError: nowhere: expected the folder of a run, found no folder.
    """

    path: Path

    def __post_init__(self) -> None:
        if not (self.path / "config.json").is_file():
            value = "no config.json in it" if self.path.is_dir() else "a file" if self.path.exists() else "no folder"
            raise CheckpointError(f"{self.path}: expected the folder of a run, found {value}.")
        if not (self.path / "summary.json").is_file():
            raise CheckpointError(
                f"{self.path}: expected a finished run, found one that was interrupted. The same command with "
                "--resume continues it."
            )

    @cached_property
    def config(self) -> dict[str, Any]:
        """Run configuration."""
        return read_json(self.path / "config.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Results of the run."""
        return read_json(self.path / "summary.json")

    @property
    def kind(self) -> str:
        """``"embedding"``, ``"classification"`` or ``"links"``."""
        if "roc_auc" in self.summary:
            return "links"
        return "classification" if "accuracy" in self.summary else "embedding"

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """Metrics of each epoch."""
        path = self.path / "metrics.jsonl"
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as problem:
            raise CheckpointError(f"{path}: expected one record per line, found {problem}.") from None

    @cached_property
    def embedded(self) -> Embedded:
        """Arrays of the run."""
        return self._arrays("embedding.npz", "points", Embedded)

    @cached_property
    def links(self) -> Links | None:
        """Results of a link prediction; None for runs of other kinds."""
        return self._arrays("links.npz", "links", Links) if self.kind == "links" else None

    def _arrays(self, name: str, content: str, kind: type[ArraysT]) -> ArraysT:
        """The arrays of an npz file of the run, as a dataclass of that kind."""
        path = self.path / name
        try:
            with path.open("rb") as whole, np.load(whole, allow_pickle=False) as file:
                return kind(**{key: file[key] for key in file.files})
        except DAMAGE as problem:
            raise CheckpointError(f"{path}: expected the {content} of a run, found {problem}.") from None

    @property
    def graph(self) -> str:
        """Name of the graph, as text also where its file's name is not."""
        return str(self.summary.get("graph", "graph")).encode(errors="surrogateescape").decode(errors="replace")

    def confusion(self) -> Array | None:
        """Test nodes by class (rows) and prediction (columns); None if the run has no predictions of test nodes."""
        embedded = self.embedded
        if embedded.labels is None or embedded.probabilities is None or embedded.parts is None:
            return None
        tested = (embedded.parts == PARTS.index("test")) & (embedded.labels >= 0)
        classes = embedded.probabilities.shape[1]
        pairs = classes * embedded.labels[tested] + embedded.probabilities[tested].argmax(1)
        return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)
