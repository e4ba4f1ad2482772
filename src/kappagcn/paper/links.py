"""Link prediction on the four datasets of HGCN; every row tries the same settings, chosen on validation edges."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from kappagcn.errors import ConfigError, DivergedError
from kappagcn.graphs import EdgeSplit, edge_split, load_graph, standardize_columns
from kappagcn.links.baselines import baseline_metrics
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.paper.cells import Cell, selected
from kappagcn.paper.runs import Record, RecordFile, Report, canonical, made_by, one_thread, run_all
from kappagcn.paper.tables import Table
from kappagcn.training.estimate import Estimate, bootstrapped

__all__ = ["LINK_DATASETS", "LINK_ROWS", "PUBLISHED", "LinkExperiment", "LinkJob", "LinkPlan", "candidates", "paired"]

LINK_DATASETS = {"disease_lp": "Disease", "airport": "Airport", "pubmed": "PubMed", "cora": "Cora"}
LINK_ROWS = {
    "gcn": ("gcn", "E16", "GCN"),
    "hgcn": ("hgcn", "H16", "HGCN"),
    "H16": ("kappa-gcn", "H16", "κ-GCN H16"),
    "S16": ("kappa-gcn", "S16", "κ-GCN S16"),
    "prod": ("kappa-gcn", "H8xS8", "κ-GCN H8×S8"),
    "free": ("free", "H16", "free points H16"),
}
PUBLISHED = {  # ROC AUC in per cent: HGCN's paper, and the best published value that could be confirmed
    "disease_lp": (90.8, 97.0),
    "airport": (96.4, 97.2),
    "pubmed": (96.3, 96.9),
    "cora": (92.9, 95.0),
}
SEEDS = 10
SEARCH_SEED = 1000  # seed of the split of the search, whose test edges are not used
FIRST, KEPT = 60, 2  # epochs of all candidates, and number of candidates that then run to the end
BASE: dict[str, Any] = {"epochs": 400, "patience": 60, "evaluate_every": 2}
NETWORK: tuple[dict[str, Any], ...] = (
    {"folds": 5},
    {"folds": 1},
    {"folds": 5, "num_layers": 2},
    {"folds": 5, "input_dropout": 0.2},
    {"folds": 5, "inputs": "both", "l2": 0.01},
    {"folds": 1, "inputs": "both", "l2": 0.01},
    {"folds": 5, "num_layers": 2, "adjacency_norm": "symmetric"},
    {"folds": 5, "input_dropout": 0.2, "other": True},
    {"folds": 1, "inputs": "both", "l2": 0.01, "other": True},
    {"folds": 1, "num_layers": 2, "adjacency_norm": "symmetric", "other": True},
)
RATES = ((0.02, 0.0), (0.05, 0.0), (0.02, 0.001), (0.05, 0.001), (0.1, 0.001))
FREE = tuple({"lr": lr, "l2": l2, "other": other} for lr, l2 in RATES for other in (False, True))


def candidates(row: str) -> list[LinkPredictionSettings]:
    """The ten settings to try for a row; ``other`` starts from κ = ±1, and for a GCN uses inner products."""
    model, space, _ = LINK_ROWS[row]
    settings = []
    for values in FREE if model == "free" else NETWORK:
        options = {**BASE, **{name: value for name, value in values.items() if name != "other"}}
        start = "(1)" if values.get("other") else "(0.1)"
        signature = "x".join(
            f + (start.replace("(", "(-") if f[0] == "H" else start if f[0] == "S" else "") for f in space.split("x")
        )
        if model == "gcn":
            options["decoder"] = "dot" if values.get("other") else "fermi-dirac"
        settings.append(LinkPredictionSettings(signature, model=model, **options))
    return settings


@dataclass(frozen=True)
class LinkExperiment:
    """A dataset and the settings of a link prediction, except the seed."""

    dataset: str
    settings: LinkPredictionSettings = field(default_factory=LinkPredictionSettings)

    def record(self) -> Record:
        """All settings as plain numbers and words."""
        values = {k: v for k, v in asdict(self.settings).items() if k not in ("random_state", "device", "verbose")}
        return {"dataset": self.dataset, **values}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> LinkExperiment:
        """The experiment of a record."""
        values = {name: value for name, value in record.items() if name != "dataset"}
        return cls(str(record["dataset"]), LinkPredictionSettings(**values))


@lru_cache(maxsize=1)
def _loaded(name: str, root: str | Path | None) -> Data:
    return load_graph(name, root=root, sparse=True)


def link_data(name: str, seed: int, root: str | Path | None = None) -> tuple[Data, EdgeSplit]:
    """A dataset with features that reveal no hidden edge, and the split of a seed.

    Airport's features are latitude, longitude, altitude and gdp, and the degree among training edges, as in HGCN.
    """
    data = _loaded(name, root).clone()
    split = edge_split(data, seed)
    if name == "airport":
        degree = torch.bincount(split.train.flatten(), minlength=data.num_nodes)
        few = torch.nn.functional.one_hot(degree.clamp(max=5), 6).float()
        columns = standardize_columns(torch.as_tensor(data.feat).float())
        data.x = torch.cat((columns, few, degree[:, None].float().log1p() - 1), 1)
    return data, split


@dataclass(frozen=True)
class LinkJob:
    """One link prediction to run.

    Args:
        experiment: Dataset and settings.
        seed: Seed of split, weights and pairs.
        purpose: ``"test"``, or ``"validation"``: test edges are then not used.
    """

    experiment: LinkExperiment
    seed: int = 0
    purpose: str = "test"

    @property
    def key(self) -> str:
        """Key that identifies the run."""
        return canonical([self.experiment.record(), self.purpose, self.seed])

    def tidy(self) -> None:
        """Do nothing: these runs keep no checkpoint."""

    @classmethod
    def from_record(cls, record: Record) -> LinkJob:
        """The run of a record."""
        return cls(LinkExperiment.from_record(record["links"]), record["seed"], record["purpose"])

    def run(self, root: str | Path | None = None) -> Record:
        """Train and evaluate; the record of a run that diverges says so."""
        record: Record = {
            "links": self.experiment.record(),
            "purpose": self.purpose,
            "seed": self.seed,
            **made_by(),
        }
        data, split = link_data(self.experiment.dataset, self.seed, root)
        values = {**asdict(self.experiment.settings), "random_state": self.seed, "verbose": False}
        predictor, start, cpu = KappaGCNLinkPredictor(**values), time.perf_counter(), time.process_time()
        with one_thread():
            try:
                predictor.fit(data, split=split)
            except DivergedError as problem:
                return record | {"failed": str(problem)}
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            if self.purpose == "test":
                record |= {"test": predictor.evaluate(), "baselines": baseline_metrics(data, split)}
        result = predictor.result_
        return record | {
            "validation_auc": result.best["validation_auc"],
            "epochs": result.epochs,
            "best_epoch": result.best_epoch,
            "curvatures": predictor.curvatures_,
            "seconds": round(seconds, 2),
            "cpu_seconds": round(cpu, 2),
        }


class LinkPlan:
    """The search and the reported runs of link prediction, and their table.

    Args:
        parts: Datasets, rows or cells to run; all by default.
        folder: Folder with the records, in the subfolder ``links``.
        root: Folder in which datasets are looked for first.
        seeds: Number of seeds per cell; 10 by default.
        quick: One seed, 10 epochs, two candidates, in a folder of their own.
    """

    def __init__(
        self,
        parts: Sequence[str],
        folder: Path,
        root: str | Path | None = None,
        *,
        seeds: int | None = None,
        quick: bool = False,
    ) -> None:
        self.root, self.quick, self.seeds = root, quick, 1 if quick else seeds or SEEDS
        self.folder = folder / ("quick" if quick else "") / "links"
        self.cells = list(selected([Cell(d, row) for d in LINK_DATASETS for row in LINK_ROWS], parts))
        if not self.cells:
            raise ConfigError(f"links: expected a cell of that table, found none in {' '.join(parts)}.")

    def file(self, cell: Cell, purpose: str) -> RecordFile:
        """The file with the records of a cell, of the search or of the reported runs."""
        return RecordFile(self.folder / cell.dataset / f"{cell.row}-{purpose}.jsonl", LinkJob)

    def experiments(self) -> list[tuple[Cell, LinkExperiment]]:
        """All settings that are tried."""
        tried = [(cell, LinkExperiment(cell.dataset, each)) for cell in self.cells for each in candidates(cell.row)]
        if not self.quick:
            return tried
        return [(c, replace(e, settings=replace(e.settings, epochs=10))) for c, e in tried if e.settings.folds == 1]

    def _jobs(self, cell: Cell, epochs: int | None) -> list[LinkJob]:
        every = [experiment for each, experiment in self.experiments() if each == cell]
        if epochs is not None:
            every = [replace(e, settings=replace(e.settings, epochs=min(epochs, e.settings.epochs))) for e in every]
        return [LinkJob(experiment, SEARCH_SEED, "validation") for experiment in every]

    def _ranked(self, cell: Cell, jobs: Sequence[LinkJob]) -> list[int]:
        """Indices of finished jobs, best validation AUC first."""
        done = self.file(cell, "validation").finished()
        scores = [done.get(job.key, {}).get("validation_auc", -1.0) for job in jobs]
        return sorted((i for i, score in enumerate(scores) if score >= 0), key=lambda i: -scores[i])

    def chosen(self, cell: Cell) -> LinkExperiment | None:
        """The settings that the search chose; None before it is done."""
        full = self._jobs(cell, None)
        kept = self._ranked(cell, self._jobs(cell, FIRST))[:KEPT]
        finished = [place for place in self._ranked(cell, full) if place in kept]
        return full[finished[0]].experiment if len(finished) == len(kept) > 0 else None

    def run(self, *, processes: int = 1, report: Report | None = None) -> None:
        """Do the missing runs: all candidates for some epochs, the best to the end, the chosen one on all seeds."""
        options: dict[str, Any] = {"root": self.root, "processes": processes, "report": report}
        run_all([(job, self.file(c, "validation")) for c in self.cells for job in self._jobs(c, FIRST)], **options)
        longer = []
        for cell in self.cells:
            full = self._jobs(cell, None)
            kept = self._ranked(cell, self._jobs(cell, FIRST))[:KEPT]
            longer += [(full[place], self.file(cell, "validation")) for place in kept]
        run_all(longer, **options)
        run_all(self.jobs(), **options)

    def jobs(self) -> list[tuple[LinkJob, RecordFile]]:
        """The reported runs, of the cells whose search is done."""
        settings = {cell: self.chosen(cell) for cell in self.cells}
        return [
            (LinkJob(experiment, seed), self.file(cell, "test"))
            for cell, experiment in settings.items()
            if experiment is not None
            for seed in range(self.seeds)
        ]

    def records(self) -> dict[Cell, list[Record]]:
        """Reported runs of the chosen settings, by cell."""
        by_cell: dict[Cell, list[Record]] = {cell: [] for cell in self.cells}
        for job, file in self.jobs():
            cell = Cell(job.experiment.dataset, file.path.stem.removesuffix("-test"))
            by_cell[cell] += [record for key, record in file.finished().items() if key == job.key]
        return by_cell

    def table(self) -> Table:
        """Mean ROC AUC in per cent with its interval, and the published values."""
        return auc_table(self.records())


def auc(records: Sequence[Record]) -> Estimate | None:
    """Test AUC in per cent; None without a finished run."""
    values = [100 * record["test"]["roc_auc"] for record in records if "test" in record]
    return bootstrapped(values) if values else None


def paired(ours: Sequence[Record], theirs: Sequence[Record]) -> Estimate | None:
    """Difference of two AUCs in per cent, over the seeds that both have."""
    mine, other = ({r["seed"]: 100 * r["test"]["roc_auc"] for r in each if "test" in r} for each in (ours, theirs))
    gains = [mine[seed] - other[seed] for seed in mine if seed in other]
    return bootstrapped(gains) if gains else None


def short(estimate: Estimate | None) -> str:
    """A mean with its interval, one decimal."""
    if estimate is None:
        return "no runs"
    margin = "" if estimate.interval is None else f" ± {estimate.interval:.1f}"
    return f"{estimate.mean:.1f}{margin}".replace("-", "−")


def _entry(records: Sequence[Record]) -> str:
    """The mean, and the number of seeds if some are missing."""
    count = sum("test" in record for record in records)
    return short(auc(records)) + (f" ({count} seeds)" if 0 < count < SEEDS else "")


def auc_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
    """The table of AUCs: networks as rows, datasets as columns."""
    datasets, rows = (list(dict.fromkeys(getattr(cell, kind) for cell in records)) for kind in ("dataset", "row"))
    lines = [[LINK_ROWS[row][2], *(_entry(records.get(Cell(d, row), [])) for d in datasets)] for row in rows]
    lines.append(["HGCN, published", *(f"{PUBLISHED[d][0]}" for d in datasets)])
    lines.append(["best published", *(f"{PUBLISHED[d][1]}" for d in datasets)])
    return Table(["", *(LINK_DATASETS[d] for d in datasets)], lines)
