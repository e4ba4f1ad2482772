"""Items of `kappagcn reproduce` by name: the paper's tables, searches, links, embeddings, and further datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.paper import links, searching
from kappagcn.paper.cells import CURVED, DATASETS, ROWS, WIDER_ROWS, Cell, grid, selected
from kappagcn.paper.classification import SETTINGS, Experiment, Job, load_settings, save_settings
from kappagcn.paper.embeddings import EMBEDDINGS, EmbeddingExperiment, EmbeddingJob
from kappagcn.paper.plan import Finished, Plan
from kappagcn.paper.runs import Record, RecordFile
from kappagcn.paper.tables import Records, Table, accuracy, accuracy_table, curvature_table
from kappagcn.training.networks import regularisation, start_space

__all__ = ["FURTHER", "FURTHER_ROWS", "SEARCHES", "line", "plan", "save_chosen"]

SPLITS, RUNS = 5, 2
ROUNDS = 2  # of self-training
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


PAPERS, WIDER = grid(DATASETS, ROWS), grid(DATASETS, WIDER_ROWS)
CELLS = {
    "search": PAPERS,
    "table2": PAPERS,
    "table3": PAPERS,
    "wider-search": WIDER,
    "wider": WIDER,
    "self-training": WIDER,
    "further": grid(FURTHER, FURTHER_ROWS),
    "links": grid(links.LINK_DATASETS, links.LINK_ROWS),
    **{item: embeddings.cells for item, embeddings in EMBEDDINGS.items()},
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
    cells = selected(CELLS[item], parts)
    if item == "table3":
        cells = [cell for cell in cells if cell.row in CURVED]
    if not cells:
        raise ConfigError(f"{item}: expected a cell of that table, found none in {' '.join(parts)}.")
    file = RecordFile(folder / ("quick" if quick else "") / f"{'table2' if item == 'table3' else item}.jsonl")
    if item in SEARCHES:
        before = [flat for flat in map(searching.flat_cell, cells) if flat is not None]
        return Plan(cells, file, searching.settings, halving=searching.halving, before=before, root=root)
    if item in EMBEDDINGS:
        embeddings, scratch = EMBEDDINGS[item], file.path.parent / "running"

        def embedded(cell: Cell, _: Finished) -> list[EmbeddingExperiment]:
            whole = embeddings.settings(cell)
            return [e.changed(epochs=max(1, int(e.settings.epochs) // 100)) for e in whole] if quick else whole

        return Plan(cells, file, embedded, lambda e: [EmbeddingJob(e, scratch=scratch)], embeddings.table, root=root)
    if item == "links":
        seeds = range(1 if quick else splits or links.SEEDS)
        return Plan(
            cells,
            file,
            lambda cell, _: links.link_settings(cell, quick),
            lambda e: [links.LinkJob(e, seed) for seed in seeds],
            links.auc_table,
            halving=lambda _: links.HALVING,
            root=root,
        )
    table = {"further": further_table, "table3": curvature_table}.get(item, accuracy_table)
    experiments = {cell: further_settings(cell) for cell in cells} if item == "further" else _loaded(cells, configs)
    if item == "self-training":
        experiments = {cell: experiment.changed(self_training=ROUNDS) for cell, experiment in experiments.items()}
    if quick:
        experiments = {cell: e.changed(epochs=e.settings.epochs // 10) for cell, e in experiments.items()}
    numbers = [
        (split, run)
        for split in range(1 if quick else splits or SPLITS)
        for run in range(1 if quick else runs or (1 if item == "further" else RUNS))
    ]
    return Plan(
        cells,
        file,
        lambda cell, _: [experiments[cell]],
        lambda e: [Job(e, split, run) for split, run in numbers],
        table,
        root=root,
    )


def _loaded(cells: Sequence[Cell], configs: Path | None) -> dict[Cell, Experiment]:
    """Settings of cells of Table 2, or of rows beside it, from a file."""
    path = configs or SETTINGS
    by_name = load_settings(path)
    for cell in cells:
        if cell.name not in by_name:
            raise ConfigError(f"{path}: expected settings of {cell.name}, found {', '.join(by_name) or 'none'}.")
    return {cell: by_name[cell.name] for cell in cells}


def save_chosen(searched: Plan, path: Path) -> None:
    """Write the settings that a search chose into a file for the tables; those of other cells in it stay."""
    experiments = load_settings(path) if path.exists() else {}
    finished = searched.file.finished()
    best = {cell.name: searched.chosen(cell, finished) for cell in searched.cells}
    experiments |= {name: choice[0] for name, choice in best.items() if choice is not None}
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
    rows = list(dict.fromkeys(cell.row for cell in records))
    lines = [
        [FURTHER[dataset], *(str(accuracy(records.get(Cell(dataset, row), [])) or "no runs") for row in rows)]
        for dataset in dict.fromkeys(cell.dataset for cell in records)
    ]
    return Table(["", *(FURTHER_ROWS[row][2] for row in rows)], lines)


def line(record: Record) -> str:
    """One run in one line."""
    if "embedding" in record:
        settings = record["embedding"]
        name = f"{settings['graph']} {settings['space']}, {settings['method']}, start: {settings['start']}"
        scores = [(record.get("distortion"), "distortion {:.5f}")]
    elif "links" in record:
        settings = record["links"]
        name = f"{settings['dataset']} {settings['model']} {settings['space']}, seed {record['seed']}"
        tested, validated = record.get("test", {}).get("roc_auc"), record.get("validation_auc")
        scores = [(tested, "test AUC {:.4f}"), (validated, "validation AUC {:.4f}")]
    else:
        settings = record["experiment"]
        name = f"{settings['dataset']} {settings['model']} {settings['space']}"
        name += f", split {record['split']}, run {record['run']}"
        tested, validated = record.get("test", {}).get("accuracy"), record.get("validation_accuracy")
        scores = [(tested, "test accuracy {:.3f}"), (validated, "validation accuracy {:.3f}")]
    if "failed" in record:
        return f"{name}: {record['failed']}"
    score = next(text.format(value) for value, text in scores if value is not None)
    return f"{name}: {score} after {record['epochs']} epochs, {record['seconds']:.0f} s"
