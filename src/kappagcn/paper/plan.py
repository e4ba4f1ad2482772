"""What every item of `kappagcn reproduce` is: cells, the settings of each, runs in rounds, and a table of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kappagcn.paper.cells import Cell
from kappagcn.paper.runs import BaseExperiment, Record, RecordFile, Report, Run, run_all
from kappagcn.paper.tables import Records, Table

__all__ = ["Finished", "Halving", "Plan"]

Finished = Mapping[str, Record]  # records by the key of their run


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

    def ranked(
        self, candidates: Sequence[Any], runs: Callable[[Any], Sequence[Run]], finished: Finished
    ) -> list[tuple[Any, float]]:
        """Candidates with the mean score of their runs, the best first; none before all runs are finished."""
        keys = [[run.key for run in runs(candidate)] for candidate in candidates]
        if not all(key in finished for of_candidate in keys for key in of_candidate):
            return []
        scores = [sum(self.score(finished[key]) for key in of_candidate) / len(of_candidate) for of_candidate in keys]
        return sorted(zip(candidates, scores, strict=True), key=lambda pair: -pair[1])

    def kept(self, candidates: Sequence[Any], finished: Finished) -> list[Any]:
        """The best candidates of the first round; none before it is finished."""
        return [candidate for candidate, _ in self.ranked(candidates, self.first, finished)[: self.keep]]

    def chosen(self, candidates: Sequence[Any], finished: Finished) -> tuple[Any, float] | None:
        """The best candidate of the last round with its mean score; None before that is finished."""
        return next(iter(self.ranked(self.kept(candidates, finished), self.last, finished)), None)


@dataclass
class Plan:
    """The runs of an item, and their table.

    Args:
        cells: Cells of the table.
        file: The file with all records of the item.
        settings: The experiments of a cell; where one of them is chosen, all candidates.
        runs: The runs of an experiment that the table shows; None for a search, which shows its last round.
        table_of: The table of the records of these runs by cell; None for a search, which shows what it chose.
        halving: The choice among the experiments of a cell; None where all of them are shown.
        before: Cells whose choice the settings of `cells` depend on.
        root: Folder in which datasets are looked for first.
    """

    cells: Sequence[Cell]
    file: RecordFile
    settings: Callable[[Cell, Finished], Sequence[Any]]
    runs: Callable[[Any], Sequence[Run]] | None = None
    table_of: Callable[[Records], Table] | None = None
    halving: Callable[[Cell], Halving] | None = None
    before: Sequence[Cell] = ()
    root: str | Path | None = None

    def experiments(self) -> Iterator[tuple[Cell, BaseExperiment]]:
        """Cells and their settings."""
        finished = self.file.finished()
        return ((cell, experiment) for cell in self.cells for experiment in self.settings(cell, finished))

    def chosen(self, cell: Cell, finished: Finished | None = None) -> tuple[Any, float] | None:
        """The experiment that is chosen for a cell, and its score; None before the choice is made, and without one."""
        finished = self.file.finished() if finished is None else finished
        return self.halving and self.halving(cell).chosen(self.settings(cell, finished), finished)

    def _first_round(self, cell: Cell, finished: Finished) -> list[Run]:
        assert self.halving is not None
        return [job for each in self.settings(cell, finished) for job in self.halving(cell).first(each)]

    def _last_round(self, cell: Cell, finished: Finished) -> list[Run]:
        assert self.halving is not None
        halving = self.halving(cell)
        return [job for each in halving.kept(self.settings(cell, finished), finished) for job in halving.last(each)]

    def jobs(self, cell: Cell, finished: Finished) -> list[Run]:
        """The runs of a cell that the table shows, as far as earlier rounds have chosen them."""
        if self.runs is None:
            return self._last_round(cell, finished)
        if self.halving is None:
            return [job for each in self.settings(cell, finished) for job in self.runs(each)]
        best = self.chosen(cell, finished)
        return [] if best is None else [*self.runs(best[0])]

    def run(self, *, processes: int = 1, report: Report | None = None) -> None:
        """Do the runs that have no record yet."""
        choice = () if self.halving is None else (self._first_round, self._last_round)
        rounds = [(cells, jobs) for cells in (self.before, self.cells) for jobs in choice]
        for cells, jobs in (*rounds, (self.cells, self.jobs)):
            finished = self.file.finished()
            todo = [(job, self.file) for cell in cells for job in jobs(cell, finished)]
            run_all(todo, root=self.root, processes=processes, report=report)

    def records(self) -> dict[Cell, list[Record]]:
        """Records of the runs that the table shows; other records in the file are left out."""
        finished = self.file.finished()
        keys = {cell: [job.key for job in self.jobs(cell, finished)] for cell in self.cells}
        return {cell: [finished[key] for key in wanted if key in finished] for cell, wanted in keys.items()}

    def table(self) -> Table:
        """The table of the records."""
        if self.table_of is not None:
            return self.table_of(self.records())
        finished, rows = self.file.finished(), []
        for cell in self.cells:
            best = self.chosen(cell, finished)
            settings = "" if best is None else json.dumps(best[0].record(), ensure_ascii=False)
            rows.append([cell.name, "not finished" if best is None else f"{best[1]:.4f}", settings])
        return Table(["cell", "validation accuracy", "settings"], rows)
