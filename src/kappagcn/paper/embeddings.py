"""Low-distortion embeddings: the paper's Table 1, its sweep of curvatures, and a graph with too many pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.graphs import load_graph
from kappagcn.paper.cells import Cell, grid
from kappagcn.paper.machine import peak_memory
from kappagcn.paper.runs import BaseExperiment, Record, Run
from kappagcn.paper.tables import Records, Table, paper
from kappagcn.training.run import curvature_path, thinned

__all__ = ["EMBEDDINGS", "GRAPHS", "ROWS", "SWEEP", "VARIANTS", "ZERO", "EmbeddingExperiment", "EmbeddingJob"]

GRAPHS = {"tree": "Tree", "torus": "Toroidal graph", "sphere": "Spherical graph"}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "E10-linear": ("E10 (GCN, linear)", {"space": "E10"}),
    "E10-relu": ("E10 (GCN, ReLU)", {"space": "E10", "act": "relu"}),
    "H10": ("H10 (κ-GCN)", {"space": "H10"}),
    "S10": ("S10 (κ-GCN)", {"space": "S10"}),
    "H5xH5": ("H5×H5 (κ-GCN)", {"space": "H5xH5"}),
    "S5xS5": ("S5×S5 (κ-GCN)", {"space": "S5xS5"}),
    "H2^4": ("H2⁴ (κ-GCN)", {"space": "H2^4"}),
    "S2^4": ("S2⁴ (κ-GCN)", {"space": "S2^4"}),
}
AUTO = {"start": "graph", "lr": "auto", "curvature_lr": "auto"}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "graph": ("start from the graph", {"method": "kappa-gcn", **AUTO}),
    "paper": ("the paper's start", {"method": "kappa-gcn", "start": "paper"}),
    "free": ("free points", {"method": "free", "epochs": 2000, **AUTO}),
}
FITS = {"tree": "H10", "torus": "S5xS5", "sphere": "S10"}  # the space that suits each graph
PROTOCOL = {"epochs": 10_000, "lr": 0.01, "curvature_lr": 1e-4}
SWEEP = [round(-5 + 10 * i / 199, 6) for i in range(200)]
ZERO = [round(0.001 * i, 6) for i in range(-20, 21)]  # more values close to 0
SWEPT: dict[str, Any] = {"method": "kappa-gcn", "start": "paper", "curvature_lr": 0.0, "epochs": 500, "lr": 0.01}
LARGE = {"wordnet_nouns": "WordNet nouns"}
LARGE_EPOCHS = 120


@dataclass(frozen=True)
class EmbeddingExperiment(BaseExperiment):
    """A graph and the settings of its embedding, except the seed.

    >>> EmbeddingExperiment("tree", EmbeddingSettings("H10")).record()["space"]
    'H10'
    """

    KIND = EmbeddingSettings
    GRAPH = "graph"
    UNRECORDED = ("random_state", "device", "verbose", "intervals")  # intervals are computed afterwards

    dataset: str
    settings: EmbeddingSettings = field(default_factory=EmbeddingSettings)

    @classmethod
    def from_record(cls, record: Mapping[str, Any], where: str = "experiment") -> EmbeddingExperiment:
        """The experiment of a record; some of version 0.2 also have intervals, which change no point."""
        return super().from_record({name: value for name, value in record.items() if name != "intervals"}, where)


@dataclass(frozen=True)
class EmbeddingJob(Run, kind="embedding"):
    """One embedding to compute; an interrupted one continues from its last checkpoint.

    Args:
        experiment: Graph and settings.
        seed: Seed of the initial points.
        scratch: Folder for the checkpoints of unfinished runs; None for no checkpoints.

    >>> job = EmbeddingJob(EmbeddingExperiment("karate", EmbeddingSettings("H2", epochs=5)))
    >>> job.run()["epochs"]
    5
    """

    experiment: EmbeddingExperiment
    seed: int = 0
    scratch: Path | None = field(default=None, compare=False)

    @property
    def identity(self) -> Record:
        """The part of the record that identifies the run."""
        return {"embedding": self.experiment.record(), "seed": self.seed}

    @classmethod
    def from_record(cls, record: Record) -> EmbeddingJob:
        """The run of a record."""
        return cls(EmbeddingExperiment.from_record(record["embedding"]), record["seed"])

    @property
    def folder(self) -> Path | None:
        """Folder of the checkpoint while the run is unfinished; None for runs without one."""
        return self.scratch and self.scratch / hashlib.sha256(self.key.encode()).hexdigest()[:16]

    def results(self, root: str | Path | None) -> Record:
        """Embed the graph and measure."""
        options = {**vars(self.experiment.settings), "random_state": self.seed, "verbose": False}
        embedder = GraphEmbedder(**options)
        embedder.fit(load_graph(self.experiment.dataset, root=root), folder=self.folder, resume=bool(self.folder))
        summary = {name: value for name, value in embedder.summary().items() if name != "space"}
        return {
            **summary,
            "memory_gib": peak_memory(),
            "curvature_path": curvature_path(embedder.history_),
            "distortion_path": [[each["epoch"], each["distortion"]] for each in thinned(embedder.history_)],
        }


def table1_settings(cell: Cell) -> list[EmbeddingExperiment]:
    """A network from both starts, and free points in the plane and in the space that suits the graph."""
    with_free = cell.row in ("E10-linear", FITS[cell.dataset])
    variants = [options for name, (_, options) in VARIANTS.items() if name != "free" or with_free]
    options = [{**PROTOCOL, **ROWS[cell.row][1], **variant} for variant in variants]
    return [EmbeddingExperiment(cell.dataset, EmbeddingSettings(**each)) for each in options]


def sweep_settings(cell: Cell) -> list[EmbeddingExperiment]:
    """The plane, and spaces whose curvature is held."""
    spaces = ["E10", *(f"U10({kappa})" for kappa in SWEEP + ZERO)]
    return [EmbeddingExperiment(cell.dataset, EmbeddingSettings(space, **SWEPT)) for space in spaces]


def large_settings(cell: Cell) -> list[EmbeddingExperiment]:
    """The defaults with few epochs."""
    return [EmbeddingExperiment(cell.dataset, EmbeddingSettings(cell.row, epochs=LARGE_EPOCHS))]


def record_of_variant(records: Sequence[Record], variant: str) -> Record | None:
    """The record of one kind of training; None if there is none."""
    wanted = VARIANTS[variant][1]
    same = (r for r in records if all(r["embedding"][name] == wanted[name] for name in ("method", "start")))
    return next(same, None)


def distortion_table(records: Records) -> Table:
    """Table 1: the lowest average distortion of both starts, and that of free points, beside the paper's numbers."""

    def entry(record: Record | None) -> str:
        return "" if record is None else "diverged" if "failed" in record else f"{record['distortion']:.4f}"

    lines = [
        [
            GRAPHS[cell.dataset],
            ROWS[cell.row][0],
            *(entry(record_of_variant(records[cell], variant)) for variant in VARIANTS),
            f"{paper()['distortion'][cell.row][cell.dataset]:.4f}",
        ]
        for cell in records
    ]
    return Table(["graph", "space", *(title for title, _ in VARIANTS.values()), "paper"], lines)


def sweep_table(records: Records) -> Table:
    """Distortion by curvature."""
    runs = [record for of_cell in records.values() for record in of_cell]
    values = [f"{record['distortion']:.5f}" if "distortion" in record else "diverged" for record in runs]
    spaces = [record["embedding"]["space"] for record in runs]
    return Table(["space", "average distortion"], [[*row] for row in zip(spaces, values, strict=True)])


def large_table(records: Records) -> Table:
    """Distortion, estimated from sources that were used neither for training nor for stopping, mAP, time and memory."""
    lines = [
        [
            LARGE[cell.dataset],
            cell.row,
            f"{record['distortion']:.4f} ± {record['distortion_std_error']:.4f}",
            f"{record['worst_distortion']:.0f}",
            f"{record['map']:.3f}",
            ", ".join(f"{kappa:+.4f}" for kappa in record["curvatures"]).replace("-", "−"),
            f"{record['seconds_in_all'] / 60:.1f} min",
            f"{record['memory_gib']} GiB",
        ]
        for cell, of_cell in records.items()
        for record in of_cell
        if "failed" not in record
    ]
    return Table(["graph", "space", "average distortion", "worst", "precision", "learned κ", "time", "memory"], lines)


class EmbeddingItem(NamedTuple):
    """An item whose runs are embeddings: cells, the settings of each, and the table."""

    cells: list[Cell]
    settings: Callable[[Cell], list[EmbeddingExperiment]]
    table: Callable[[Records], Table]


EMBEDDINGS = {
    "table1": EmbeddingItem(grid(GRAPHS, ROWS), table1_settings, distortion_table),
    "sweep": EmbeddingItem([Cell("small_tree", "sweep")], sweep_settings, sweep_table),
    "large": EmbeddingItem(grid(LARGE, ("H10", "E10", "S10")), large_settings, large_table),
}
