"""Low-distortion embeddings: the paper's Table 1, its sweep of curvatures, and a graph with too many pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kappagcn.paper.cells import Cell
from kappagcn.paper.embeddings import EmbeddingExperiment
from kappagcn.paper.runs import Record
from kappagcn.paper.tables import Table, paper

__all__ = ["EMBEDDINGS", "GRAPHS", "LARGE", "ROWS", "SWEEP", "VARIANTS", "ZERO", "record_of_variant"]

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
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "graph": (
        "start from the graph",
        {"method": "kappa-gcn", "start": "graph", "lr": "auto", "curvature_lr": "auto"},
    ),
    "paper": ("the paper's start", {"method": "kappa-gcn", "start": "paper"}),
    "free": (
        "free points",
        {"method": "free", "start": "graph", "epochs": 2000, "lr": "auto", "curvature_lr": "auto"},
    ),
}
FITS = {"tree": "H10", "torus": "S5xS5", "sphere": "S10"}  # the space that suits each graph
PROTOCOL = {"epochs": 10_000, "lr": 0.01, "curvature_lr": 1e-4}
SWEEP = [round(-5 + 10 * i / 199, 6) for i in range(200)]
ZERO = [round(0.001 * i, 6) for i in range(-20, 21)]  # more values close to 0
LARGE = {"wordnet_nouns": "WordNet nouns"}
LARGE_ROWS = ("H10", "E10", "S10")
LARGE_EPOCHS = 120
SWEPT = {"method": "kappa-gcn", "start": "paper", "curvature_lr": 0.0, "epochs": 500, "lr": 0.01}


def table1_settings(cell: Cell) -> list[EmbeddingExperiment]:
    """A network from both starts, and free points in the plane and in the space that suits the graph."""
    row = ROWS[cell.row][1]
    with_free = cell.row in ("E10-linear", FITS[cell.dataset])
    variants = [options for name, (_, options) in VARIANTS.items() if name != "free" or with_free]
    return [EmbeddingExperiment(cell.dataset, {**PROTOCOL, **row, **options}) for options in variants]


def sweep_settings(cell: Cell) -> list[EmbeddingExperiment]:
    """The plane, and spaces whose curvature is held."""
    spaces = ["E10", *(f"U10({kappa})" for kappa in SWEEP + ZERO)]
    return [EmbeddingExperiment(cell.dataset, {**SWEPT, "space": space}) for space in spaces]


def large_settings(cell: Cell) -> list[EmbeddingExperiment]:
    """The defaults with few epochs."""
    return [EmbeddingExperiment(cell.dataset, {"space": cell.row, "epochs": LARGE_EPOCHS})]


def record_of_variant(records: Sequence[Record], variant: str) -> Record | None:
    """The record of one kind of training; None if there is none."""
    wanted = VARIANTS[variant][1]
    names = ("method", "start")
    matching = [r for r in records if all(r["embedding"][name] == wanted[name] for name in names)]
    return matching[0] if matching else None


def distortion_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
    """Table 1: the lowest average distortion of both starts, and that of free points, beside the paper's numbers."""

    def entry(cell: Cell) -> list[str]:
        theirs = paper()["distortion"][cell.row][cell.dataset]
        values = []
        for variant in VARIANTS:
            record = record_of_variant(records[cell], variant)
            if record is None:
                values.append("")
            else:
                values.append((record.get("failed", "") and "diverged") or f"{record['distortion']:.4f}")
        return [*values, f"{theirs:.4f}"]

    lines = [[GRAPHS[cell.dataset], ROWS[cell.row][0], *entry(cell)] for cell in records]
    return Table(["graph", "space", *(title for title, _ in VARIANTS.values()), "paper"], lines)


def sweep_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
    """Distortion by curvature."""
    lines = [
        [record["embedding"]["space"], f"{record['distortion']:.5f}" if "distortion" in record else "diverged"]
        for each in records.values()
        for record in each
    ]
    return Table(["space", "average distortion"], lines)


def large_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
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
        for cell, each in records.items()
        for record in each
        if "failed" not in record
    ]
    return Table(["graph", "space", "average distortion", "worst", "precision", "learned κ", "time", "memory"], lines)


@dataclass(frozen=True)
class EmbeddingItem:
    """An item whose runs are embeddings: cells, the settings of each, and the table."""

    cells: Sequence[Cell]
    settings: Callable[[Cell], list[EmbeddingExperiment]]
    table: Callable[[Mapping[Cell, Sequence[Record]]], Table]


EMBEDDINGS = {
    "table1": EmbeddingItem([Cell(graph, row) for graph in GRAPHS for row in ROWS], table1_settings, distortion_table),
    "sweep": EmbeddingItem([Cell("small_tree", "sweep")], sweep_settings, sweep_table),
    "large": EmbeddingItem([Cell(graph, row) for graph in LARGE for row in LARGE_ROWS], large_settings, large_table),
}
