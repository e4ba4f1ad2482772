"""Runs and their records; runs are done in parallel, in processes of one thread each, and none is done twice."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from kappagcn.errors import CheckpointError, ConfigError, DivergedError, EmbeddingFailedError, KappaGCNError
from kappagcn.paper.machine import made_by

__all__ = ["BaseExperiment", "Record", "RecordFile", "Run", "record_lines", "run_all"]

Record = dict[str, Any]
# Called with a finished record, the number of finished runs and the number of all.
Report = Callable[[Record, int, int], None]
WATCH_SECONDS = 0.5


class BaseExperiment:
    """A graph and what is trained on it, without the seed; subclasses are dataclasses with these two fields.

    Attributes:
        dataset: Name of the graph.
        settings: All settings.
    """

    KIND: ClassVar[type[Any]]  # type of the settings
    GRAPH: ClassVar[str] = "dataset"  # name of the graph in records
    REQUIRED: ClassVar[tuple[str, ...]] = ()  # settings that every record has
    UNRECORDED: ClassVar[tuple[str, ...]] = ("random_state", "device", "verbose")
    OLD: ClassVar[dict[str, Any]] = {}  # values of settings that older records do not have
    dataset: str
    settings: Any

    @classmethod
    def of(cls, dataset: str, settings: Any) -> Self:
        """The experiment with these settings."""
        return cls(dataset=dataset, settings=settings)  # type: ignore[call-arg]

    def changed(self, **settings: Any) -> Self:
        """The experiment with other values of some settings."""
        return self.of(self.dataset, replace(self.settings, **settings))

    def record(self) -> Record:
        """The experiment as plain numbers and words, which `from_record` reads."""
        settings = {name: value for name, value in asdict(self.settings).items() if name not in self.UNRECORDED}
        return {self.GRAPH: self.dataset, **settings}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], where: str = "experiment") -> Self:
        """An experiment from plain numbers and words, as a TOML file or the record of a run has them."""
        known = [each.name for each in fields(cls.KIND) if each.name not in cls.UNRECORDED]
        values = {**cls.OLD, **{name: value for name, value in record.items() if name != cls.GRAPH}}
        unknown, required = set(values) - set(known), (cls.GRAPH, *cls.REQUIRED)
        if unknown:
            raise ConfigError(f"{where}: expected {', '.join((cls.GRAPH, *known))}, found {min(unknown)!r}.")
        if not set(required) <= set(record):
            raise ConfigError(
                f"{where}: expected a {' and a '.join(required)}, found {', '.join(record) or 'nothing'}."
            )
        try:
            return cls.of(str(record[cls.GRAPH]), cls.KIND(**values))
        except KappaGCNError as problem:
            raise ConfigError(f"{where}: {problem}") from None


class Run(ABC):
    """A training run with a record that identifies it; subclasses are dataclasses."""

    KINDS: ClassVar[dict[str, type[Run]]] = {}  # by the name that the experiment has in records

    def __init_subclass__(cls, kind: str | None = None) -> None:
        if kind is not None:
            Run.KINDS[kind] = cls

    @property
    @abstractmethod
    def identity(self) -> Record:
        """The part of the record that identifies the run."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Record) -> Run:
        """The run of a record."""

    @abstractmethod
    def results(self, root: str | Path | None) -> Record:
        """Train and evaluate."""

    @property
    def key(self) -> str:
        """Key that identifies the run: equal for equal settings, be they written as 1 or 1.0."""
        return json.dumps(json.loads(json.dumps(self.identity), parse_int=float), sort_keys=True)

    def run(self, root: str | Path | None = None) -> Record:
        """Do the run with one thread, and return its record; that of a run that diverges says so."""
        record, start = {**self.identity, **made_by()}, time.perf_counter()
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they count is in the record
            try:
                record |= self.results(root)
            except (DivergedError, EmbeddingFailedError) as problem:
                record["failed"] = str(problem)
        return {**record, "seconds_in_all": round(time.perf_counter() - start, 2)}

    @property
    def folder(self) -> Path | None:
        """Folder of the checkpoint while the run is unfinished; None for runs without one."""
        return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread, so that the order of sums does not depend on the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def record_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Complete lines of a file of records, those of ``PATH.xz`` first; where each stands, and its text."""
    for each in (path.with_name(path.name + ".xz"), path):
        if not each.exists():
            continue
        try:
            text = (lzma.decompress(each.read_bytes()) if each.suffix == ".xz" else each.read_bytes()).decode()
        except (OSError, lzma.LZMAError, UnicodeDecodeError) as problem:
            raise CheckpointError(f"{each}: expected records, found {problem}.") from None
        lines = text.split("\n")[:-1]  # after the last newline is nothing, or an incomplete line of a killed process
        yield from ((f"{each}, line {number}", line) for number, line in enumerate(lines, 1) if line)


@dataclass(frozen=True)
class RecordFile:
    """The records of an item, one per line, appended as runs finish. An incomplete last line is ignored.

    Records may be compressed: those in ``PATH.xz`` are read first, and new ones are appended to ``PATH``.

    >>> import tempfile
    >>> file = RecordFile(Path(tempfile.mkdtemp()) / "records.jsonl")
    >>> file.records()
    []
    """

    path: Path

    def records(self) -> list[Record]:
        """Records of all complete lines."""
        return [record for _, record in self._keys_and_records()]

    def finished(self) -> dict[str, Record]:
        """Records by the key of their run."""
        return dict(self._keys_and_records())

    def _keys_and_records(self) -> Iterator[tuple[str, Record]]:
        for where, line in record_lines(self.path):
            try:
                record: Record = json.loads(line)
                (kind,) = Run.KINDS.keys() & record.keys()
                yield Run.KINDS[kind].from_record(record).key, record
            except (AttributeError, KappaGCNError, KeyError, TypeError, ValueError):
                raise CheckpointError(
                    f"{where}: expected one record a line, found {line[:40]!r}. Remove the line; its run is then "
                    "repeated."
                ) from None

    def append(self, *records: Record) -> None:
        """Add records after the last complete line; without records, check that they can be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                if file.tell():
                    file.truncate(self.path.read_bytes().rfind(b"\n") + 1)
                file.writelines((json.dumps(record, ensure_ascii=False) + "\n").encode() for record in records)
        except OSError as problem:
            raise CheckpointError(f"{self.path}: cannot be written ({problem.strerror}).") from None


def run_all(
    jobs: Iterable[tuple[Run, RecordFile]],
    *,
    root: str | Path | None = None,
    processes: int = 1,
    report: Report | None = None,
) -> None:
    """Run all jobs that have no record in their files yet.

    Args:
        jobs: Runs and the files of their records.
        root: Folder in which datasets are looked for first.
        processes: Number of processes; results do not depend on it.
        report: Called with each finished record, the number of finished runs and the number of all.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.paper import Experiment, Job
    >>> mine = Experiment("disease", "gcn").changed(epochs=2)
    >>> with TemporaryDirectory() as folder:
    ...     file = RecordFile(Path(folder) / "mine.jsonl")
    ...     run_all([(Job(mine, split), file) for split in range(2)])
    ...     [record["split"] for record in file.records()]
    [0, 1]
    """
    todo: dict[tuple[Path, str], tuple[Run, RecordFile]] = {}
    finished: dict[Path, set[str]] = {}
    for job, file in jobs:
        if file.path not in finished:
            finished[file.path] = set(file.finished())
        if job.key not in finished[file.path]:
            todo[file.path, job.key] = job, file
    for file in {file for _, file in todo.values()}:
        file.append()
    for done, (record, job, file) in enumerate(_results(list(todo.values()), root, processes), 1):
        file.append(record)
        if job.folder is not None:
            shutil.rmtree(job.folder, ignore_errors=True)
        if report is not None:
            report(record, done, len(todo))


def _results(
    todo: list[tuple[Run, RecordFile]], root: str | Path | None, processes: int
) -> Iterator[tuple[Record, Run, RecordFile]]:
    if processes == 1 or len(todo) < 2:
        yield from ((job.run(root), job, file) for job, file in todo)
        return
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(min(processes, len(todo)), context, initializer=_start_watch, initargs=(stop,))
    try:
        submitted = {pool.submit(job.run, root): (job, file) for job, file in todo}
        for future in as_completed(submitted):
            yield future.result(), *submitted[future]
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_watch(stop: Event) -> None:
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()


def _watch(stop: Event) -> None:
    """End this worker process on request, or when its parent process has died."""
    parent = parent_process()
    while parent is not None and parent.is_alive() and not stop.wait(WATCH_SECONDS):
        pass
    os._exit(1)
