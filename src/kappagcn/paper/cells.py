"""The cells of a table: a row is a network or a space, a column a dataset or a graph; those of the paper's Table 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kappagcn.errors import ConfigError

__all__ = ["CURVED", "DATASETS", "ROWS", "WIDER_ROWS", "Cell", "cells", "grid", "selected"]

DATASETS = {"citeseer": "Citeseer", "cora_ml": "Cora-ML", "pubmed": "Pubmed", "airport": "Airport"}
ROWS = {
    "gcn": "E16 (GCN)",
    "hgcn": "H16 (HGCN)",
    "H16": "H16 (κ-GCN)",
    "S16": "S16 (κ-GCN)",
    "prod": "Prod (κ-GCN)",
}
CURVED = ("H16", "S16", "prod")
WIDER_ROWS = {  # rows in addition to the paper's
    "gcn-wider": "GCN, wider search",
    "kappa-gcn": "κ-GCN, wider search",
    "appnp": "APPNP",
    "kappa-appnp": "κ-APPNP",
}


@dataclass(frozen=True)
class Cell:
    """The network of a row, on a dataset.

    >>> Cell("cora_ml", "H16").name
    'cora_ml/H16'
    """

    dataset: str
    row: str

    @property
    def name(self) -> str:
        """Name of the cell on the command line."""
        return f"{self.dataset}/{self.row}"


def grid(datasets: Iterable[str], rows: Iterable[str]) -> list[Cell]:
    """All rows of each dataset."""
    names = list(rows)
    return [Cell(dataset, row) for dataset in datasets for row in names]


def selected(table: Sequence[Cell], names: Sequence[str]) -> list[Cell]:
    """The cells that are named, as ``cora_ml/H16``, or lie in the named datasets and rows; all without names."""
    known = dict.fromkeys(name for cell in table for name in (cell.dataset, cell.row, cell.name))
    for name in names:
        if name not in known:
            plain = ", ".join(each for each in known if "/" not in each)
            raise ConfigError(f"expected one of {plain}, or two as in {table[0].name}, found {name!r}.")
    datasets, rows = ({getattr(cell, kind) for cell in table} & set(names) for kind in ("dataset", "row"))

    def is_inside(cell: Cell) -> bool:
        return (not datasets or cell.dataset in datasets) and (not rows or cell.row in rows)

    whole = not names or bool(datasets or rows)
    return [cell for cell in table if cell.name in names or (whole and is_inside(cell))]


def cells(names: Sequence[str] = ()) -> list[Cell]:
    """Cells of Table 2 by name; all without names.

    >>> [cell.name for cell in cells(["citeseer/gcn", "airport/prod"])]
    ['citeseer/gcn', 'airport/prod']
    """
    return selected(grid(DATASETS, ROWS), names)
