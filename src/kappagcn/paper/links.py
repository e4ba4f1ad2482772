"""Link prediction on the four datasets of HGCN; every row tries the same settings, chosen on validation edges."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from kappagcn.errors import DivergedError
from kappagcn.graphs import EdgeSplit, edge_split, load_graph, standardize_columns
from kappagcn.links.metrics import baseline_metrics
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.paper.cells import Cell
from kappagcn.paper.machine import made_by
from kappagcn.paper.plan import Finished, Halving
from kappagcn.paper.runs import Record, Run, canonical, one_thread
from kappagcn.paper.tables import Table
from kappagcn.training.estimate import Estimate, bootstrapped

__all__ = ["LINK_DATASETS", "LINK_ROWS", "PUBLISHED", "LinkExperiment", "LinkJob", "candidates", "link_jobs", "paired"]

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

    def limited(self, epochs: int) -> LinkExperiment:
        """The experiment with at most so many epochs."""
        return replace(self, settings=replace(self.settings, epochs=min(epochs, self.settings.epochs)))

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


HALVING = Halving(
    first=lambda e: [LinkJob(e.limited(FIRST), SEARCH_SEED, "validation")],
    last=lambda e: [LinkJob(e, SEARCH_SEED, "validation")],
    score=lambda record: float(record.get("validation_auc", 0.0)),  # a diverged run has none
    keep=KEPT,
)


def link_settings(cell: Cell, quick: bool = False) -> list[LinkExperiment]:
    """All settings that are tried; those of one fold, for a few epochs, in a quick test."""
    tried = [LinkExperiment(cell.dataset, values) for values in candidates(cell.row)]
    return [e.limited(10) for e in tried if e.settings.folds == 1] if quick else tried


def link_rounds(quick: bool = False) -> tuple[Callable[[Cell, Finished], list[Run]], ...]:
    """The rounds of the search: all candidates for some epochs, the best of them to the end."""

    def first(cell: Cell, finished: Finished) -> list[Run]:
        return [job for e in link_settings(cell, quick) for job in HALVING.first(e)]

    def last(cell: Cell, finished: Finished) -> list[Run]:
        return [job for e in HALVING.kept(link_settings(cell, quick), finished) for job in HALVING.last(e)]

    return first, last


def link_jobs(cell: Cell, finished: Finished, seeds: int = SEEDS, quick: bool = False) -> list[LinkJob]:
    """The reported runs of the settings that the search chose; none before it is finished."""
    chosen = HALVING.chosen(link_settings(cell, quick), finished)
    return [] if chosen is None else [LinkJob(chosen[0], seed) for seed in range(seeds)]


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
