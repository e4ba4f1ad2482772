"""What can be reproduced by name: the search, Tables 2 and 3, and datasets beyond the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kappagcn.errors import ConfigError
from kappagcn.experiments.cells import CURVED, Cell, cells, record_file, selected
from kappagcn.experiments.config import Experiment
from kappagcn.experiments.defaults import default_experiment
from kappagcn.experiments.protocol import load_benchmark
from kappagcn.experiments.runs import Job, Record, RecordFile, run_all
from kappagcn.experiments.search import chosen, search, settings
from kappagcn.experiments.tables import Table, accuracy, accuracy_table, curvature_table

__all__ = ["FURTHER", "FURTHER_ROWS", "Plan", "line"]

SPLITS, RUNS = 5, 2
FURTHER = {
    "chameleon_filtered": "Chameleon (heterophilous)",
    "actor": "Actor (heterophilous)",
    "amazon_computers": "Amazon Computers",
    "airports_usa": "Airports USA (no features)",
    "disease": "Disease",
}
FURTHER_ROWS = {
    "mlp": ("mlp", "E16", "MLP (no graph)"),
    "gcn": ("gcn", "E16", "E16 (GCN)"),
    "H16": ("kappa-gcn", "H16", "H16 (κ-GCN)"),
    "S16": ("kappa-gcn", "S16", "S16 (κ-GCN)"),
    "H8xS8": ("kappa-gcn", "H8xS8", "H8×S8 (κ-GCN)"),
}

Report = Callable[[Record, int, int], None]


class Plan:
    """Runs with a name, and the table they come to.

    Args:
        item: ``"search"``, ``"table2"``, ``"table3"`` or ``"further"``.
        parts: Which datasets, rows or cells; all without any.
        folder: Where records are kept, in a folder of their own for each item.
        root: Folder in which datasets are looked for first.
        splits: Per cell.
        runs: Per split, of Tables 2 and 3.
        quick: One split, one run and a tenth of the epochs, in a folder of their own.
    """

    def __init__(
        self,
        item: str,
        parts: Sequence[str],
        folder: Path,
        root: str | Path | None = None,
        *,
        splits: int = SPLITS,
        runs: int = RUNS,
        quick: bool = False,
    ) -> None:
        self.item, self.root, self.quick = item, root, quick
        self.splits, self.runs = (1, 1) if quick else (splits, runs)
        self.folder = folder / ("quick" if quick else "") / ("table2" if item == "table3" else item)
        self.cells = list(further_cells(parts) if item == "further" else cells(parts))
        if item == "table3":
            self.cells = [cell for cell in self.cells if cell.row in CURVED]

    def experiments(self) -> Iterator[tuple[str, Experiment]]:
        """Cells and their settings; for the search all that it tries."""
        for cell in self.cells:
            for experiment in settings(cell) if self.item == "search" else [self._experiment(cell)]:
                yield cell.name, shortened(experiment) if self.quick else experiment

    def _experiment(self, cell: Cell) -> Experiment:
        if self.item != "further":
            return cell.experiment()
        model, space, _ = FURTHER_ROWS[cell.row]
        return default_experiment(cell.dataset, load_benchmark(cell.dataset, self.root).data, space, model)

    def jobs(self) -> list[tuple[Job, RecordFile]]:
        """Runs and where each is kept."""
        runs = 1 if self.item == "further" else self.runs
        numbers = [(split, run) for split in range(self.splits) for run in range(runs)]
        places = {cell.name: record_file(self.folder, cell) for cell in self.cells}
        return [(Job(e, split, run), places[name]) for name, e in self.experiments() for split, run in numbers]

    def run(self, *, processes: int = 1, report: Report | None = None) -> None:
        """Do what is not yet done."""
        if self.item == "search":
            if self.quick:
                raise ConfigError("search: expected the whole search, found --quick.")
            search(self.cells, self.folder, root=self.root, processes=processes, report=report)
        else:
            run_all(self.jobs(), root=self.root, processes=processes, report=report)

    def table(self) -> Table:
        """What the records come to."""
        if self.item == "search":
            found = [(cell, *chosen(cell, self.folder)) for cell in self.cells]
            return Table(
                ["cell", "validation accuracy", "settings"],
                [[cell.name, f"{score:.4f}", json.dumps(e.record(), ensure_ascii=False)] for cell, e, score in found],
            )
        if self.item == "further":
            return further_table(self.folder, self.cells)
        make = accuracy_table if self.item == "table2" else curvature_table
        return make(lambda cell: record_file(self.folder, cell).records(), self.cells)


def line(record: Record) -> str:
    """One run in one line."""
    experiment = Experiment.from_record(record["experiment"])
    what = f"{experiment.dataset} {experiment.model} {experiment.space}, split {record['split']}, run {record['run']}"
    if "failed" in record:
        return f"{what}: {record['failed']}"
    score = record["test"]["accuracy"] if "test" in record else record["validation_accuracy"]
    which = "test" if "test" in record else "validation"
    took = f"{record['epochs']} epochs, {record['seconds']:.0f} s"
    return f"{what}: {which} accuracy {score:.3f} after {took}"


def shortened(experiment: Experiment) -> Experiment:
    """The same with a tenth of the epochs, to see that it runs."""
    return replace(experiment, training=replace(experiment.training, epochs=experiment.training.epochs // 10))


def further_cells(parts: Sequence[str]) -> list[Cell]:
    """Cells of datasets beyond the paper's."""
    every = [Cell(dataset, row) for dataset in FURTHER for row in FURTHER_ROWS]
    return list(selected(every, parts))


def further_table(folder: Path, wanted: Sequence[Cell]) -> Table:
    """Mean test accuracy with its interval, datasets as rows."""
    datasets = list(dict.fromkeys(cell.dataset for cell in wanted))
    rows = list(dict.fromkeys(cell.row for cell in wanted))
    lines = []
    for dataset in datasets:
        found = [accuracy(record_file(folder, Cell(dataset, row)).records()) for row in rows]
        lines.append([FURTHER[dataset], *(str(each or "no runs") for each in found)])
    return Table(["", *(FURTHER_ROWS[row][2] for row in rows)], lines)
