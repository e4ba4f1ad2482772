"""Runs and their records; runs are done in parallel, in processes of one thread each, and none is done twice."""

from __future__ import annotations

import json
import lzma
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Protocol

import torch

from kappagcn.classification.evaluation import final_evaluation, run_record
from kappagcn.classification.fitting import fit
from kappagcn.errors import CheckpointError, DivergedError, KappaGCNError, PrecisionWarning
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.paper.experiment import Experiment
from kappagcn.paper.machine import made_by
from kappagcn.training.trainer import seeded

__all__ = ["Job", "RecordFile", "Run", "record_lines", "run", "run_all"]

Record = dict[str, Any]
# Called with a finished record, the number of finished runs and the number of all.
Report = Callable[[Record, int, int], None]
WATCH_SECONDS = 0.5


class Run(Protocol):
    """A run with a record that identifies it."""

    @property
    def key(self) -> str:
        """Key that identifies the run."""

    def run(self, root: str | Path | None) -> Record:
        """Do the run, and return its record."""

    def tidy(self) -> None:
        """Remove the checkpoint of the run."""

    @classmethod
    def from_record(cls, record: Record) -> Run:
        """The run of a record."""


@dataclass(frozen=True)
class Job:
    """One training run of a table.

    Args:
        experiment: Dataset, network and settings.
        split: Number of the split.
        number: Number of the run on this split; the seed is 1000 · split + number.
        purpose: ``"test"`` for reported numbers, ``"validation"`` for choosing: test nodes are then not used.

    >>> Job(Experiment("disease", "gcn"), split=2, number=1).seed
    2001
    """

    experiment: Experiment
    split: int
    number: int = 0
    purpose: str = "test"

    @property
    def seed(self) -> int:
        """Seed of weights and dropout."""
        return 1000 * self.split + self.number

    @property
    def key(self) -> str:
        """Key that identifies the run."""
        return canonical([self.experiment.record(), self.purpose, self.split, self.number])

    def run(self, root: str | Path | None) -> Record:
        """Train and evaluate."""
        return run(self, root)

    def tidy(self) -> None:
        """Do nothing: these runs keep no checkpoint."""

    @classmethod
    def from_record(cls, record: Record) -> Job:
        """The run of a record."""
        return cls(Experiment.from_record(record["experiment"]), record["split"], record["run"], record["purpose"])


def canonical(settings: Any) -> str:
    """JSON of settings that is the same for equal settings."""
    return json.dumps(_numbers_as_floats(settings), sort_keys=True)


def _numbers_as_floats(value: Any) -> Any:
    """Settings with all numbers as floats, so that 1 and 1.0 are equal."""
    if isinstance(value, dict):
        return {key: _numbers_as_floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers_as_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread, so that the order of sums does not depend on the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run(job: Job, root: str | Path | None = None) -> Record:
    """Train and evaluate; the record of a run that diverges says so.

    Args:
        job: The run.
        root: Folder in which datasets are looked for first.

    >>> from dataclasses import replace
    >>> mine = Experiment("disease", "gcn")
    >>> run(Job(replace(mine, settings=replace(mine.settings, epochs=5)), split=0))["epochs"]
    5
    """
    benchmark = load_benchmark(job.experiment.dataset, root)
    split = benchmark.numbered_split(job.split, job.purpose)
    record: Record = {
        "experiment": job.experiment.record(),
        "purpose": job.purpose,
        "split": job.split,
        "split_name": split.name,
        "run": job.number,
        "seed": job.seed,
        **made_by(),
    }
    start = time.perf_counter()
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the record has their number
        data = job.experiment.prepare(benchmark[0])
        with seeded(job.seed):
            model = job.experiment.build(data.num_features, benchmark.num_classes)
        try:
            result = fit(model, data, split, job.experiment.training(job.seed))
        except DivergedError as problem:
            return record | {"failed": str(problem), "seconds": round(time.perf_counter() - start, 2)}
        if job.purpose == "test":
            record["test"] = final_evaluation(model, data, split)
    return record | run_record(result) | {"seconds": round(time.perf_counter() - start, 2)}


class RecordFile:
    """The records of an item, one per line, appended as runs finish. An incomplete last line is ignored.

    Records may be compressed: those in ``PATH.xz`` are read first, and new ones are appended to ``PATH``.

    Args:
        path: The file.
        kind: Type of the runs in it.

    >>> import tempfile
    >>> file = RecordFile(Path(tempfile.mkdtemp()) / "records.jsonl")
    >>> file.records()
    []
    """

    def __init__(self, path: Path, kind: type[Run] = Job) -> None:
        self.path, self.kind = path, kind

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
                yield self.kind.from_record(record).key, record
            except (KappaGCNError, KeyError, TypeError, ValueError):
                raise CheckpointError(
                    f"{where}: expected one record a line, found {line[:40]!r}. Remove the line; its run is then "
                    "repeated."
                ) from None

    def prepare(self) -> None:
        """Check before a run that its record can be written, and remove an incomplete last line."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                if file.tell():
                    file.truncate(self.path.read_bytes().rfind(b"\n") + 1)
        except OSError as problem:
            raise CheckpointError(f"{self.path}: cannot be written ({problem.strerror}).") from None

    def append(self, record: Record) -> None:
        """Add a record in one write."""
        self.prepare()
        try:
            with self.path.open("ab") as file:
                file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
        except OSError as problem:
            raise CheckpointError(f"{self.path}: cannot be written ({problem.strerror}).") from None


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

    >>> from dataclasses import replace
    >>> from tempfile import TemporaryDirectory
    >>> mine = Experiment("disease", "gcn")
    >>> mine = replace(mine, settings=replace(mine.settings, epochs=2))
    >>> with TemporaryDirectory() as folder:
    ...     file = RecordFile(Path(folder) / "mine.jsonl")
    ...     run_all([(Job(mine, split), file) for split in range(2)])
    ...     [record["split"] for record in file.records()]
    [0, 1]
    """
    known: dict[Path, set[str]] = {}
    todo = []
    for job, file in jobs:
        if file.path not in known:
            known[file.path] = set(file.finished())
        if job.key not in known[file.path]:
            known[file.path].add(job.key)
            todo.append((job, file))
    for file in {file.path: file for _, file in todo}.values():
        file.prepare()
    for done, (record, job, file) in enumerate(_results(todo, root, processes), 1):
        file.append(record)
        job.tidy()
        if report is not None:
            report(record, done, len(todo))


def _start_watch(stop: Event) -> None:
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()


def _watch(stop: Event) -> None:
    """End this worker process on request, or when its parent process has died."""
    parent = parent_process()
    while parent is not None and parent.is_alive() and not stop.wait(WATCH_SECONDS):
        pass
    os._exit(1)


def _run(job: Run, root: str | Path | None) -> Record:
    return job.run(root)


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
        waiting = {pool.submit(_run, job, root): (job, file) for job, file in todo}
        while waiting:
            over = wait(waiting, return_when=FIRST_COMPLETED).done
            # Write finished records before an error is raised.
            for future in sorted(over, key=lambda each: each.exception() is not None):
                yield future.result(), *waiting.pop(future)
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
