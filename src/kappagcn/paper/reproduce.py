"""Items of `kappagcn reproduce`: the search, Tables 2 and 3, and datasets beyond the paper's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kappagcn.classification.network import COLUMNS, WORDS, start_space
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.paper.cells import CONFIGS, CURVED, DATASETS, Cell, cells, record_file, selected
from kappagcn.paper.experiment import Experiment, save_experiment
from kappagcn.paper.links import LinkPlan
from kappagcn.paper.runs import Job, Record, RecordFile, Report, Run, run_all
from kappagcn.paper.searching import chosen, search, settings
from kappagcn.paper.table1 import EmbeddingPlan
from kappagcn.paper.tables import Table, accuracy, accuracy_table, curvature_table
from kappagcn.paper.wider import WIDER_ROWS, self_trained

__all__ = ["FURTHER", "FURTHER_ROWS", "Plan", "line", "plan"]

SPLITS, RUNS = 5, 2
SEARCHES = ("search", "wider-search")
FURTHER = {
    "chameleon_filtered": "Chameleon (heterophilous)",
    "actor": "Actor (heterophilous)",
    "amazon_computers": "Amazon Computers",
    "airports_usa": "Airports USA (no features)",
    "disease": "Disease",
}
MEASURED = ("disease",)  # datasets whose features are measurements; the others have words, or one-hot features
FURTHER_ROWS = {
    "mlp": ("mlp", "E16", "MLP (no graph)"),
    "gcn": ("gcn", "E16", "E16 (GCN)"),
    "E16": ("kappa-gcn", "E16", "E16 (κ-GCN)"),  # shows effects other than that of curvature
    "H16": ("kappa-gcn", "H16", "H16 (κ-GCN)"),
    "S16": ("kappa-gcn", "S16", "S16 (κ-GCN)"),
    "H8xS8": ("kappa-gcn", "H8xS8", "H8×S8 (κ-GCN)"),
}


class Plan:
    """The runs of an item, and their table.

    Args:
        item: ``"search"``, ``"table2"``, ``"table3"``, ``"wider-search"``, ``"wider"``,
            ``"self-training"`` or ``"further"``.
        parts: Datasets, rows or cells to run; all by default.
        folder: Folder with the records, in a subfolder for each item.
        root: Folder in which datasets are looked for first.
        configs: Folder of settings for the tables; by default those that come with the package.
        splits: Splits per cell; 5 by default.
        runs: Runs per split; by default 2 for the tables, 1 for further datasets.
        quick: One split, one run and a tenth of the epochs, in a folder of their own.
    """

    def __init__(
        self,
        item: str,
        parts: Sequence[str],
        folder: Path,
        root: str | Path | None = None,
        *,
        configs: Path | None = None,
        splits: int | None = None,
        runs: int | None = None,
        quick: bool = False,
    ) -> None:
        if item in SEARCHES and (splits, runs, quick) != (None, None, False):
            raise ConfigError(f"{item}: expected its own budget, found splits, runs or quick.")
        self.item, self.root, self.quick = item, root, quick
        self.configs = configs or (CONFIGS / "wider" if item in ("wider", "self-training") else CONFIGS)
        self.splits = 1 if quick else splits or SPLITS
        self.runs = 1 if quick else runs or (1 if item == "further" else RUNS)
        self.folder = folder / ("quick" if quick else "") / ("table2" if item == "table3" else item)
        self.cells = _cells(item, parts)
        if item == "table3":
            self.cells = [cell for cell in self.cells if cell.row in CURVED]
        if not self.cells:
            raise ConfigError(f"{item}: expected a cell of that table, found none in {' '.join(parts)}.")

    def experiments(self) -> Iterator[tuple[Cell, Experiment]]:
        """Cells and their settings; for the search all candidates."""
        for cell in self.cells:
            for experiment in settings(cell, self.folder) if self.item in SEARCHES else [self._experiment(cell)]:
                yield cell, experiment.shortened() if self.quick else experiment

    def _experiment(self, cell: Cell) -> Experiment:
        if self.item == "self-training":
            return self_trained(cell.experiment(self.configs))
        if self.item != "further":
            return cell.experiment(self.configs)
        model, space, _ = FURTHER_ROWS[cell.row]
        measured = cell.dataset in MEASURED
        values: dict[str, Any] = {
            **(COLUMNS if measured else WORDS),
            "feature_norm": "columns" if measured else "lengths",
            "output": "paper",
            "self_features": "off",
        }
        return Experiment(cell.dataset, model, ClassificationSettings(start_space(space), **values))

    def jobs(self) -> list[tuple[Run, RecordFile]]:
        """Runs and the files of their records."""
        numbers = [(split, run) for split in range(self.splits) for run in range(self.runs)]
        return [
            (Job(experiment, split, run), record_file(self.folder, cell))
            for cell, experiment in self.experiments()
            for split, run in numbers
        ]

    def run(self, *, processes: int = 1, report: Report | None = None) -> None:
        """Do the runs that have no record yet."""
        if self.item in SEARCHES:
            search(self.cells, self.folder, root=self.root, processes=processes, report=report)
        else:
            run_all(self.jobs(), root=self.root, processes=processes, report=report)

    def save_chosen(self, folder: Path) -> None:
        """Write the settings that the search chose, for the tables."""
        for cell in self.cells:
            save_experiment(chosen(cell, self.folder)[0], cell.config(folder))

    def records(self) -> dict[Cell, list[Record]]:
        """Records of the runs of this plan; other records in its files are left out."""
        wanted: dict[Path, set[str]] = {}
        for job, file in self.jobs():
            wanted.setdefault(file.path, set()).add(job.key)
        by_cell = {}
        for cell in self.cells:
            file = record_file(self.folder, cell)
            by_cell[cell] = [record for key, record in file.finished().items() if key in wanted[file.path]]
        return by_cell

    def table(self) -> Table:
        """The table of the records."""
        if self.item in SEARCHES:
            chosen_settings = [(cell, *chosen(cell, self.folder)) for cell in self.cells]
            return Table(
                ["cell", "validation accuracy", "settings"],
                [
                    [cell.name, f"{score:.4f}", json.dumps(e.record(), ensure_ascii=False)]
                    for cell, e, score in chosen_settings
                ],
            )
        if self.item == "further":
            return further_table(self.records())
        return (curvature_table if self.item == "table3" else accuracy_table)(self.records())


def plan(
    item: str, parts: Sequence[str], folder: Path, root: str | Path | None = None, **options: Any
) -> Plan | EmbeddingPlan | LinkPlan:
    """The plan of an item.

    Args:
        item: ``"table1"``, ``"sweep"``, ``"large"``, ``"links"``, or an item of `Plan`.
        parts: Datasets, rows or cells to run; all by default.
        folder: Folder with the records.
        root: Folder in which datasets are looked for first.
        options: Further arguments of `Plan`; embeddings take `quick` alone.
    """
    if item == "links":
        for name in ("configs", "runs"):
            if options.get(name) is not None:
                raise ConfigError(f"links: expected no {name}, found {options[name]}. --splits is the number of seeds.")
        return LinkPlan(parts, folder, root, seeds=options.get("splits"), quick=bool(options.get("quick")))
    if item not in ("table1", "sweep", "large"):
        return Plan(item, parts, folder, root, **options)
    for name in ("configs", "splits", "runs"):
        if options.get(name) is not None:
            raise ConfigError(f"{item}: expected no {name}, an embedding has none, found {options[name]}.")
    return EmbeddingPlan(item, parts, folder, root, quick=bool(options.get("quick")))


def line(record: Record) -> str:
    """One run in one line."""
    if "embedding" in record:
        embedding = record["embedding"]
        run_name = f"{embedding['graph']} {embedding['space']}, {embedding['method']}, start: {embedding['start']}"
        score = record.get("failed") or f"distortion {record['distortion']:.5f}"
        return f"{run_name}: {score}" + (f" after {record['seconds']:.0f} s" if record.get("seconds") else "")
    if "links" in record:
        links = record["links"]
        score = f"test AUC {record['test']['roc_auc']:.4f}" if "test" in record else None
        score = record.get("failed") or score or f"validation AUC {record['validation_auc']:.4f}"
        duration = f" after {record['epochs']} epochs, {record['seconds']:.0f} s" if "epochs" in record else ""
        return f"{links['dataset']} {links['model']} {links['space']}, seed {record['seed']}: {score}{duration}"
    experiment = Experiment.from_record(record["experiment"])
    run_name = f"{experiment.dataset} {experiment.model} {experiment.settings.space}"
    run_name += f", split {record['split']}, run {record['run']}"
    if "failed" in record:
        return f"{run_name}: {record['failed']}"
    score = record["test"]["accuracy"] if "test" in record else record["validation_accuracy"]
    part = "test" if "test" in record else "validation"
    duration = f"{record['epochs']} epochs, {record['seconds']:.0f} s"
    return f"{run_name}: {part} accuracy {score:.3f} after {duration}"


def _cells(item: str, parts: Sequence[str]) -> list[Cell]:
    if item == "further":
        return further_cells(parts)
    if item in ("wider", "wider-search", "self-training"):
        return list(selected([Cell(dataset, row) for dataset in DATASETS for row in WIDER_ROWS], parts))
    return cells(parts)


def further_cells(parts: Sequence[str]) -> list[Cell]:
    """Cells of datasets beyond the paper's."""
    every = [Cell(dataset, row) for dataset in FURTHER for row in FURTHER_ROWS]
    return list(selected(every, parts))


def further_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
    """Mean test accuracy with its interval, datasets as rows."""
    datasets, rows = (list(dict.fromkeys(getattr(cell, kind) for cell in records)) for kind in ("dataset", "row"))
    lines = [
        [FURTHER[dataset], *(str(accuracy(records.get(Cell(dataset, row), [])) or "no runs") for row in rows)]
        for dataset in datasets
    ]
    return Table(["", *(FURTHER_ROWS[row][2] for row in rows)], lines)
