"""One driver for classification and links: an estimator over splits of a graph, in a run folder that can be resumed."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn._version import __version__
from kappagcn.distributed import Communicator
from kappagcn.errors import CheckpointError
from kappagcn.graphs import EdgeSplit, Split
from kappagcn.run_folder import Embedded, read_json, save_embedded, save_json, should_resume, writing
from kappagcn.training.networks import weights_of_runs
from kappagcn.training.provenance import provenance
from kappagcn.training.run_lock import locked

UNCOMPARED = ("verbose", "intervals")  # settings in which a resumed run may differ
Record = dict[str, Any]
Report = Callable[[Record, int, int], None]  # of a finished run, the number of finished runs and the number of all
EstimatorT = TypeVar("EstimatorT")
SplitT = TypeVar("SplitT", Split, EdgeSplit)


@dataclass(frozen=True)
class SplitRun(Generic[SplitT]):
    """A run on a split: the split, the seed, the numbers of split and run for the record, the name of the folder."""

    split: SplitT
    seed: int
    numbers: dict[str, int]

    @property
    def name(self) -> str:
        """Name of the folder of the run.

        >>> SplitRun(Split([0], [], [], []), seed=0, numbers={"split": 1, "run": 0}).name
        'split1-run0'
        """
        return "-".join(f"{key}{number}" for key, number in self.numbers.items())


class SplitRuns(ABC, Generic[EstimatorT, SplitT]):
    """Runs of an estimator on splits, of which the one with the best score is the result; a task says what differs.

    Each run has a folder in ``runs`` with a record once it is finished; files, arrays and weights of the best run are
    those of the run folder.

    Args:
        estimator: Estimator with the settings; it is not fitted itself.
        data: The graph.
        runs: Splits and seeds.
        folder: Run folder.
        group: Process group of torch.distributed to train with; None for one process. Rank 0 writes.
    """

    runs: Sequence[SplitRun[SplitT]]
    kind: str  # what config.json calls the settings

    def __init__(
        self,
        estimator: Any,
        data: Data,
        runs: Sequence[SplitRun[SplitT]],
        folder: Path,
        group: ProcessGroup | Communicator | None = None,
    ) -> None:
        self.estimator, self.data, self.runs, self.folder = estimator, data, runs, folder
        self.communicator = Communicator.of(group)

    @abstractmethod
    def train(self, estimator: EstimatorT, split: SplitT, **run: Any) -> EstimatorT:
        """Fit an estimator to a split; `run` has its folder, whether to resume, and the group."""

    @abstractmethod
    def record(self, fitted: EstimatorT, split_run: SplitRun[SplitT]) -> Record:
        """Epochs, seconds and validation metrics of a run, and test metrics if the split has test items."""

    @abstractmethod
    def score(self, record: Record) -> tuple[float, ...]:
        """The higher, the better a run; by what is not tested."""

    @abstractmethod
    def arrays(self, fitted: EstimatorT, split: SplitT) -> Embedded:
        """Arrays of the best run."""

    @abstractmethod
    def results(self, fitted: EstimatorT, best: SplitRun[SplitT], records: list[Record]) -> Record:
        """Write the task's files of the best run, and return what the summary has beside the entries of all tasks."""

    def run(self, about: Record, *, resume: bool = False, report: Report | None = None) -> Record:
        """Train on every split, and keep the best run; the summary, or on ranks above 0 an empty one.

        Args:
            about: Configuration, beside version, settings and splits, that a resumed run must share.
            resume: Continue the runs in the folder, if there are any.
            report: Called on rank 0 with each finished run.
        """
        settings = {name: value for name, value in self.estimator.get_params().items() if name not in UNCOMPARED}
        names = [split_run.split.name for split_run in self.runs if not split_run.numbers.get("run")]
        about = {"kappagcn": __version__, self.kind: settings, "splits": names, **about}
        with locked(self.folder, self.communicator):
            self.communicator.run_on_rank0(partial(self._start, about, resume=resume))
            return self._run_all(report)

    def _start(self, about: Record, *, resume: bool) -> None:
        if not should_resume(self.folder, about, resume=resume):
            save_json(self.folder / "config.json", about)

    def _run_all(self, report: Report | None) -> Record:
        records: list[Record] = []
        best, best_fit = 0, None
        for done, split_run in enumerate(self.runs, 1):
            record, fitted = self._run(split_run)
            records.append(record)
            best = self.best(records)
            if best == done - 1:
                best_fit = fitted
            if report is not None and self.communicator.rank == 0:
                report(record, done, len(self.runs))
        fitted = best_fit or self._fit(self.runs[best])  # a finished run is read back from its folder
        return self._finish(fitted, self.runs[best], records) if self.communicator.rank == 0 else {}

    def best(self, records: Sequence[Record]) -> int:
        """Index of the best run, of equal ones the first."""
        return max(range(len(records)), key=lambda i: self.score(records[i]))

    def folder_of(self, split_run: SplitRun[SplitT]) -> Path:
        """Folder of a run."""
        return self.folder / "runs" / split_run.name

    def copy_file(self, split_run: SplitRun[SplitT], name: str) -> None:
        """Copy a file of a run into the run folder."""
        with writing(self.folder / name) as target, (self.folder_of(split_run) / name).open("rb") as source:
            shutil.copyfileobj(source, target)

    def _run(self, split_run: SplitRun[SplitT]) -> tuple[Record, EstimatorT | None]:
        """The record of a run, and its estimator, which is None for a run that was finished before."""
        path = self.folder_of(split_run) / "record.json"
        finished: Record | None = self.communicator.run_on_rank0(partial(self._finished, path))
        if finished is not None:
            return finished, None
        fitted = self._fit(split_run)
        return self.communicator.run_on_rank0(partial(self._new_record, path, fitted, split_run)), fitted

    def _finished(self, path: Path) -> Record | None:
        if not path.exists():
            return None
        record = read_json(path, "the record of a run")
        if not self.is_complete(record):
            raise CheckpointError(f"{path}: expected the record of a run, found another. Remove it to repeat the run.")
        return record

    def is_complete(self, record: Record) -> bool:
        """Whether a dictionary is the record of a finished run."""
        return "seconds" in record

    def _fit(self, split_run: SplitRun[SplitT]) -> EstimatorT:
        estimator = type(self.estimator)(**{**self.estimator.get_params(), "random_state": split_run.seed})
        folder = self.folder_of(split_run)
        return self.train(estimator, split_run.split, folder=folder, resume=True, group=self.communicator)

    def _new_record(self, path: Path, fitted: Any, split_run: SplitRun[Any]) -> Record:
        record = {**split_run.numbers, "split_name": split_run.split.name, "seed": split_run.seed}
        record |= {"edge_weights": fitted.edge_weights_, **self.record(fitted, split_run)}
        save_json(path, record)
        return record

    def _finish(self, fitted: Any, best: SplitRun[Any], records: list[Record]) -> Record:
        """Write files and arrays of the best run, and the summary of all."""
        self.copy_file(best, "metrics.jsonl")
        save_embedded(self.folder / "embedding.npz", self.arrays(fitted, best.split))
        summary: Record = {
            "graph": str(self.data.get("name") or "graph"),
            "model": fitted.model,
            "space": fitted.space,
            "learned_space": fitted.space_,
            "splits": len({record["split"] for record in records}),
            "edge_weights": weights_of_runs([record.get("edge_weights") for record in records]),
            "curvatures": fitted.curvatures_,
            "epochs": fitted.result_.epochs,
            "best_epoch": fitted.result_.best_epoch,
            "seconds": round(sum(record["seconds"] for record in records), 2),
            "records": records,
            **self.results(fitted, best, records),
        }
        save_json(self.folder / "summary.json", summary | provenance(self.estimator))
        return summary
