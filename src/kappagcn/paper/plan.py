"""What every item of `kappagcn reproduce` is: cells, the settings of each, runs in rounds, and a table of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kappagcn.paper.cells import Cell
from kappagcn.paper.runs import Record, RecordFile, Report, Run, run_all
from kappagcn.paper.tables import Table

__all__ = ["AnyExperiment", "Finished", "Halving", "Plan", "Records"]

Finished = Mapping[str, Record]  # records by the key of their run
Records = Mapping[Cell, Sequence[Record]]


class AnyExperiment(Protocol):
    """Settings of a run without its seed."""

    def record(self) -> Record:
        """All settings as plain numbers and words."""


@dataclass
class Plan:
    """The runs of an item, and their table.

    Args:
        item: Name of the item.
        cells: Cells of the table.
        settings: The experiments of a cell; for a search all candidates.
        jobs: The runs that the table shows, of a cell whose earlier rounds are finished.
        table_of: The table of the records of these runs by cell, and all finished runs.
        file: The file with all records of the item.
        root: Folder in which datasets are looked for first.
        rounds: The runs of the rounds before, which a search needs, in their order.
        chosen: The experiment that a search chose for a cell; None for other items.
    """

    item: str
    cells: Sequence[Cell]
    settings: Callable[[Cell, Finished], Sequence[Any]]
    jobs: Callable[[Cell, Finished], Sequence[Run]]
    table_of: Callable[[Records, Finished], Table]
    file: RecordFile
    root: str | Path | None = None
    rounds: Sequence[Callable[[Cell, Finished], Sequence[Run]]] = field(default=())
    chosen: Callable[[Cell, Finished], Any] | None = None

    def experiments(self) -> Iterator[tuple[Cell, AnyExperiment]]:
        """Cells and their settings."""
        finished = self.file.finished()
        return ((cell, experiment) for cell in self.cells for experiment in self.settings(cell, finished))

    def run(self, *, processes: int = 1, report: Report | None = None) -> None:
        """Do the runs that have no record yet."""
        for jobs in (*self.rounds, self.jobs):
            finished = self.file.finished()
            todo = [(job, self.file) for cell in self.cells for job in jobs(cell, finished)]
            run_all(todo, root=self.root, processes=processes, report=report)

    def records(self) -> dict[Cell, list[Record]]:
        """Records of the runs that the table shows; other records in the file are left out."""
        return self._by_cell(self.file.finished())

    def _by_cell(self, finished: Finished) -> dict[Cell, list[Record]]:
        keys = {cell: [job.key for job in self.jobs(cell, finished)] for cell in self.cells}
        return {cell: [finished[key] for key in wanted if key in finished] for cell, wanted in keys.items()}

    def table(self) -> Table:
        """The table of the records."""
        finished = self.file.finished()
        return self.table_of(self._by_cell(finished), finished)


@dataclass(frozen=True)
class Halving:
    """The choice among candidates: all run the first round, the best few of them the last one.

    Args:
        first: Runs of a candidate in the first round.
        last: Its runs in the last round, whose mean score decides.
        score: Score of a record; larger is better.
        keep: Number of candidates in the last round.
    """

    first: Callable[[Any], Sequence[Run]]
    last: Callable[[Any], Sequence[Run]]
    score: Callable[[Record], float]
    keep: int

    def mean(self, jobs: Sequence[Run], finished: Finished) -> float | None:
        """Mean score of some runs; None before they are finished."""
        if not all(job.key in finished for job in jobs):
            return None
        return sum(self.score(finished[job.key]) for job in jobs) / len(jobs)

    def kept(self, candidates: Sequence[Any], finished: Finished) -> list[Any]:
        """The best candidates of the first round; none before it is finished."""
        scores = [self.mean(self.first(candidate), finished) for candidate in candidates]
        known = [score for score in scores if score is not None]
        if len(known) < len(scores):
            return []
        best = sorted(range(len(known)), key=lambda i: -known[i])
        return [candidates[i] for i in best[: self.keep]]

    def chosen(self, candidates: Sequence[Any], finished: Finished) -> tuple[Any, float] | None:
        """The best candidate of the last round with its mean score; None before that is finished."""
        scored = [(each, self.mean(self.last(each), finished)) for each in self.kept(candidates, finished)]
        known = [(candidate, score) for candidate, score in scored if score is not None]
        if not known or len(known) < len(scored):
            return None
        return max(known, key=lambda pair: pair[1])
