"""Link prediction on the four datasets of HGCN; every row tries the same settings, chosen on validation edges."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from kappagcn.graphs import EdgeSplit, edge_split, load_graph, standardize_columns
from kappagcn.links.metrics import baseline_metrics
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.paper.cells import Cell
from kappagcn.paper.plan import Halving
from kappagcn.paper.runs import BaseExperiment, Record, Run
from kappagcn.paper.tables import Records, Table, grid_table
from kappagcn.training.estimate import Estimate, bootstrapped

__all__ = ["LINK_DATASETS", "LINK_ROWS", "PUBLISHED", "LinkExperiment", "LinkJob", "auc", "auc_table", "candidates"]

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
class LinkExperiment(BaseExperiment):
    """A dataset and the settings of a link prediction, except the seed."""

    KIND = LinkPredictionSettings

    dataset: str
    settings: LinkPredictionSettings = field(default_factory=LinkPredictionSettings)

    def limited(self, epochs: int) -> LinkExperiment:
        """The experiment with at most so many epochs."""
        return self.changed(epochs=min(epochs, self.settings.epochs))


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
class LinkJob(Run, kind="links"):
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
    def identity(self) -> Record:
        """The part of the record that identifies the run."""
        return {"links": self.experiment.record(), "purpose": self.purpose, "seed": self.seed}

    @classmethod
    def from_record(cls, record: Record) -> LinkJob:
        """The run of a record."""
        return cls(LinkExperiment.from_record(record["links"]), record["seed"], record["purpose"])

    def results(self, root: str | Path | None) -> Record:
        """Train and evaluate."""
        data, split = link_data(self.experiment.dataset, self.seed, root)
        values = {**asdict(self.experiment.settings), "random_state": self.seed, "verbose": False}
        cpu = time.process_time()
        predictor = KappaGCNLinkPredictor(**values).fit(data, split=split)
        cpu, result = time.process_time() - cpu, predictor.result_
        record = {
            "validation_auc": result.best["validation_auc"],
            "epochs": result.epochs,
            "best_epoch": result.best_epoch,
            "curvatures": predictor.curvatures_,
            "seconds": round(result.seconds, 2),
            "cpu_seconds": round(cpu, 2),
        }
        if self.purpose == "test":
            record |= {"test": predictor.evaluate(), "baselines": baseline_metrics(data, split)}
        return record


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


def auc(records: Sequence[Record]) -> Estimate | None:
    """Test AUC in per cent; None without a finished run."""
    values = [100 * record["test"]["roc_auc"] for record in records if "test" in record]
    return bootstrapped(values) if values else None


def short(estimate: Estimate | None) -> str:
    """A mean with its interval, one decimal."""
    if estimate is None:
        return "no runs"
    margin = "" if estimate.interval is None else f" ± {estimate.interval:.1f}"
    return f"{estimate.mean:.1f}{margin}".replace("-", "−")


def auc_table(records: Records) -> Table:
    """The table of AUCs: networks as rows, datasets as columns, and the published values."""

    def entry(cell: Cell) -> str:
        count = sum("test" in record for record in records[cell])
        return short(auc(records[cell])) + (f" ({count} seeds)" if 0 < count < SEEDS else "")

    table = grid_table(records, entry, {row: title for row, (_, _, title) in LINK_ROWS.items()}, LINK_DATASETS)
    datasets = [dataset for dataset in LINK_DATASETS if any(cell.dataset == dataset for cell in records)]
    for i, title in enumerate(("HGCN, published", "best published")):
        table.rows.append([title, *(f"{PUBLISHED[d][i]}" for d in datasets)])
    return table
