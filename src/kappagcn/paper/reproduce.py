"""Items of `kappagcn reproduce` by name: the paper's tables, searches, links, embeddings, and further datasets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.paper import links, searching
from kappagcn.paper.cells import CURVED, DATASETS, ROWS, Cell, selected
from kappagcn.paper.embeddings import EmbeddingExperiment, EmbeddingJob
from kappagcn.paper.experiment import SETTINGS, Experiment, load_settings, save_settings
from kappagcn.paper.links import LINK_DATASETS, LINK_ROWS, SEEDS, LinkJob, auc_table, link_jobs, link_rounds
from kappagcn.paper.plan import Finished, Plan, Records
from kappagcn.paper.runs import Job, Record, RecordFile, Run
from kappagcn.paper.table1 import EMBEDDINGS
from kappagcn.paper.tables import Table, accuracy, accuracy_table, curvature_table
from kappagcn.paper.wider import WIDER_ROWS, self_trained
from kappagcn.training.networks import regularisation, start_space

__all__ = ["FURTHER", "FURTHER_ROWS", "SEARCHES", "line", "plan", "save_chosen"]

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


def grid(datasets: Sequence[str], rows: Sequence[str]) -> list[Cell]:
    """All rows of each dataset."""
    return [Cell(dataset, row) for dataset in datasets for row in rows]


PAPERS, WIDER = grid([*DATASETS], [*ROWS]), grid([*DATASETS], [*WIDER_ROWS])
CELLS = {
    "search": PAPERS,
    "table2": PAPERS,
    "table3": PAPERS,
    "wider-search": WIDER,
    "wider": WIDER,
    "self-training": WIDER,
    "further": grid([*FURTHER], [*FURTHER_ROWS]),
    "links": grid([*LINK_DATASETS], [*LINK_ROWS]),
    **{item: list(embeddings.cells) for item, embeddings in EMBEDDINGS.items()},
}
# Options that an item does not have, and why.
WITHOUT: dict[str, tuple[str, Sequence[str]]] = {
    **dict.fromkeys(SEARCHES, ("a search has a budget", ("splits", "runs", "quick"))),
    **dict.fromkeys(EMBEDDINGS, ("an embedding has none", ("configs", "splits", "runs"))),
    "links": ("--splits is the number of seeds", ("configs", "runs")),
}


def plan(
    item: str,
    parts: Sequence[str],
    folder: Path,
    root: str | Path | None = None,
    *,
    configs: Path | None = None,
    splits: int | None = None,
    runs: int | None = None,
    quick: bool = False,
) -> Plan:
    """The plan of an item.

    Args:
        item: One of `CELLS`.
        parts: Datasets, rows or cells to run; all by default.
        folder: Folder with the records, a file for each item.
        root: Folder in which datasets are looked for first.
        configs: File of the settings of the tables; by default that of the package.
        splits: Splits per cell, 5 by default; for links seeds, 10 by default.
        runs: Runs per split; by default 2 for the tables, 1 for further datasets.
        quick: One split or seed, one run and few epochs, in a folder of their own.
    """
    given = {"configs": configs, "splits": splits, "runs": runs, "quick": quick or None}
    reason, refused = WITHOUT.get(item, ("", ()))
    for name in refused:
        if given[name] is not None:
            raise ConfigError(f"{item}: expected no {name}, found {given[name]}; {reason}.")
    if item == "sweep" and parts:
        raise ConfigError(f"sweep: expected no parts, found {parts[0]!r}.")
    cells = list(selected(CELLS[item], parts))
    if item == "table3":
        cells = [cell for cell in cells if cell.row in CURVED]
    if not cells:
        raise ConfigError(f"{item}: expected a cell of that table, found none in {' '.join(parts)}.")
    path = folder / ("quick" if quick else "") / f"{'table2' if item == 'table3' else item}.jsonl"
    if item in EMBEDDINGS:
        return _embeddings(item, cells, path, root, quick)
    if item == "links":
        jobs = partial(link_jobs, seeds=1 if quick else splits or SEEDS, quick=quick)
        tried = partial(_tried_links, quick=quick)
        return Plan(item, cells, tried, jobs, _links_table, RecordFile(path, LinkJob), root, link_rounds(quick))
    if item in SEARCHES:
        return Plan(
            item,
            cells,
            searching.settings,
            searching.last_round,
            _search_table,
            RecordFile(path),
            root,
            searching.ROUNDS,
            searching.chosen,
        )
    return _accuracies(item, cells, path, root, configs, splits, runs, quick)


def _embeddings(item: str, cells: list[Cell], path: Path, root: str | Path | None, quick: bool) -> Plan:
    embeddings = EMBEDDINGS[item]

    def settings(cell: Cell, finished: Finished) -> list[EmbeddingExperiment]:
        return [e.shortened() if quick else e for e in embeddings.settings(cell)]

    def jobs(cell: Cell, finished: Finished) -> list[EmbeddingJob]:
        return [EmbeddingJob(e, scratch=path.parent / "running") for e in settings(cell, finished)]

    table = _without_finished(embeddings.table)
    return Plan(item, cells, settings, jobs, table, RecordFile(path, EmbeddingJob), root)


def _accuracies(
    item: str,
    cells: list[Cell],
    path: Path,
    root: str | Path | None,
    configs: Path | None,
    splits: int | None,
    runs: int | None,
    quick: bool,
) -> Plan:
    file = configs or SETTINGS
    by_name = {} if item == "further" else load_settings(file)
    for cell in cells:
        if item != "further" and cell.name not in by_name:
            raise ConfigError(f"{file}: expected settings of {cell.name}, found {', '.join(by_name) or 'none'}.")

    def settings(cell: Cell, finished: Finished) -> list[Experiment]:
        experiment = further_settings(cell) if item == "further" else by_name[cell.name]
        if item == "self-training":
            experiment = self_trained(experiment)
        return [experiment.shortened() if quick else experiment]

    def jobs(cell: Cell, finished: Finished) -> list[Run]:
        numbers = [(split, run) for split in range(1 if quick else splits or SPLITS) for run in range(count)]
        return [Job(e, split, run) for e in settings(cell, finished) for split, run in numbers]

    count = 1 if quick else runs or (1 if item == "further" else RUNS)
    table = {"further": further_table, "table3": curvature_table}.get(item, accuracy_table)
    return Plan(item, cells, settings, jobs, _without_finished(table), RecordFile(path), root)


def _without_finished(table: Callable[[Records], Table]) -> Callable[[Records, Finished], Table]:
    return lambda records, _: table(records)


def _tried_links(cell: Cell, finished: Finished, quick: bool) -> list[links.LinkExperiment]:
    return links.link_settings(cell, quick)


def _links_table(records: Records, finished: Finished) -> Table:
    return auc_table(records)


def _search_table(records: Records, finished: Finished) -> Table:
    rows = []
    for cell in records:
        best = searching.chosen(cell, finished)
        text = "not finished" if best is None else f"{best[1]:.4f}"
        rows.append([cell.name, text, "" if best is None else json.dumps(best[0].record(), ensure_ascii=False)])
    return Table(["cell", "validation accuracy", "settings"], rows)


def save_chosen(searched: Plan, path: Path) -> None:
    """Write the settings that a search chose into a file for the tables; those of other cells in it stay."""
    experiments = load_settings(path) if path.exists() else {}
    finished = searched.file.finished()
    for cell in searched.cells:
        best = searching.chosen(cell, finished)
        if best is not None:
            experiments[cell.name] = best[0]
    save_settings(experiments, path)


def further_settings(cell: Cell) -> Experiment:
    """Settings on a dataset beyond the paper's: defaults, with its output layer."""
    model, space, _ = FURTHER_ROWS[cell.row]
    measured = cell.dataset in MEASURED
    values: dict[str, Any] = {
        **regularisation(not measured),
        "feature_norm": "columns" if measured else "lengths",
        "output": "paper",
        "self_features": "off",
    }
    return Experiment(cell.dataset, model, ClassificationSettings(start_space(space), **values))


def further_table(records: Records) -> Table:
    """Mean test accuracy with its interval, datasets as rows."""
    datasets, rows = (list(dict.fromkeys(getattr(cell, kind) for cell in records)) for kind in ("dataset", "row"))
    lines = [
        [FURTHER[dataset], *(str(accuracy(records.get(Cell(dataset, row), [])) or "no runs") for row in rows)]
        for dataset in datasets
    ]
    return Table(["", *(FURTHER_ROWS[row][2] for row in rows)], lines)


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
