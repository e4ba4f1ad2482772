"""Tables from records: the paper's Tables 2 and 3 with its own numbers beside ours, and others of the same form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from kappagcn.paper.cells import CURVED, DATASETS, ROWS, WIDER_ROWS, Cell
from kappagcn.paper.runs import Record
from kappagcn.training.estimate import Estimate, bootstrapped

__all__ = ["Records", "Table", "accuracy", "accuracy_table", "curvature_table", "grid_table", "paper"]

Records = Mapping[Cell, Sequence[Record]]


@dataclass(frozen=True)
class Table:
    """A table of texts.

    >>> Table(["a", "b"], [["1", "2"]]).columns
    ['a', 'b']
    """

    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table as Markdown.

        >>> print(Table(["a", "b"], [["1", "2"]]).markdown())
        | a | b |
        | --- | --- |
        | 1 | 2 |
        """
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def grid_table(
    records: Records, entry: Callable[[Cell], str], rows: Mapping[str, str], datasets: Mapping[str, str]
) -> Table:
    """A table with networks as rows and datasets as columns, as far as they have cells.

    Args:
        records: Records of each cell.
        entry: The text of a cell.
        rows: Titles of the rows.
        datasets: Titles of the columns.
    """
    across = [dataset for dataset in datasets if any(cell.dataset == dataset for cell in records)]
    down = [row for row in rows if any(cell.row == row for cell in records)]
    lines = [[entry(Cell(d, row)) if Cell(d, row) in records else "" for d in across] for row in down]
    return Table(
        ["", *(datasets[d] for d in across)], [[rows[row], *line] for row, line in zip(down, lines, strict=True)]
    )


@cache
def paper() -> dict[str, Any]:
    """The numbers of Tables 1, 2 and 3 of arXiv:1911.05076."""
    text = resources.files("kappagcn.paper").joinpath("paper.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


def accuracy(records: Sequence[Record]) -> Estimate | None:
    """Test accuracy; None without a finished run."""
    values = [record["test"]["accuracy"] for record in records if "test" in record]
    return bootstrapped(values) if values else None


def accuracy_table(records: Records) -> Table:
    """Table 2: mean test accuracy with its interval, and the paper's in parentheses.

    >>> accuracy_table({Cell("cora_ml", "H16"): []}).rows
    [['H16 (κ-GCN)', 'no runs (paper 0.812 ± 0.005)']]
    """

    def entry(cell: Cell) -> str:
        of_cell = records[cell]
        failed = sum("failed" in record for record in of_cell)
        ours = f"{accuracy(of_cell) or 'no runs'}" + (f", {failed} of {len(of_cell)} runs diverged" if failed else "")
        if cell.row in WIDER_ROWS:
            return ours
        mean, interval = paper()["accuracy"][cell.row][cell.dataset]
        return f"{ours} (paper {mean:.3f} ± {interval:.3f})"

    return grid_table(records, entry, {**ROWS, **WIDER_ROWS}, DATASETS)


def curvature_table(records: Records) -> Table:
    """Table 3: mean learned curvature of each factor, and the paper's in parentheses.

    >>> curvature_table({Cell("cora_ml", "H16"): []}).rows
    [['H16 (κ-GCN)', 'no runs (paper −1.51 ± 0.11)']]
    """

    def entry(cell: Cell) -> str:
        kappas = zip(*(record["curvatures"] for record in records[cell] if "test" in record), strict=True)
        ours = ", ".join(str(bootstrapped(factor)) for factor in kappas) or "no runs"
        theirs = ", ".join(f"{k:.2f} ± {i:.2f}" for k, i in paper()["curvature"][cell.row][cell.dataset])
        return f"{ours} (paper {theirs})".replace("-", "−")

    return grid_table({cell: runs for cell, runs in records.items() if cell.row in CURVED}, entry, ROWS, DATASETS)
