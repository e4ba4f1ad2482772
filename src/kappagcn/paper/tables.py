"""Tables from records: the paper's Tables 2 and 3 with its own numbers beside ours, and others of the same form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from kappagcn.paper.cells import CURVED, DATASETS, ROWS, Cell
from kappagcn.paper.wider import WIDER_ROWS
from kappagcn.training.estimate import Estimate, bootstrapped

__all__ = ["Table", "accuracy_table", "curvature_table", "difference"]

Record = dict[str, Any]


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


def difference(ours: Sequence[Record], theirs: Sequence[Record]) -> Estimate:
    """Difference of the accuracies of two networks, over the splits and seeds that both have.

    >>> one = [{"split": s, "run": 0, "test": {"accuracy": 0.8 + 0.1 * s}} for s in range(2)]
    >>> other = [{"split": s, "run": 0, "test": {"accuracy": 0.7 + 0.1 * s}} for s in range(2)]
    >>> str(difference(one, other))
    '0.100 ± 0.000'
    """
    mine, other = (
        {(record["split"], record["run"]): record["test"]["accuracy"] for record in each if "test" in record}
        for each in (ours, theirs)
    )
    return bootstrapped([mine[key] - other[key] for key in mine if key in other])


def curvatures(records: Sequence[Record]) -> list[Estimate]:
    """Curvature of each factor, in the epoch whose weights were kept."""
    values = [record["curvatures"] for record in records if "test" in record]
    return [bootstrapped(factor) for factor in zip(*values, strict=True)]


def accuracy_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
    """Table 2: mean test accuracy with its interval, and the paper's in parentheses.

    >>> accuracy_table({Cell("cora_ml", "H16"): []}).rows
    [['H16 (κ-GCN)', 'no runs (paper 0.812 ± 0.005)']]
    """

    def entry(cell: Cell) -> str:
        ours = f"{accuracy(records[cell]) or 'no runs'}{_failures(records[cell])}"
        if cell.row in WIDER_ROWS:
            return ours
        mean, interval = paper()["accuracy"][cell.row][cell.dataset]
        return f"{ours} (paper {mean:.3f} ± {interval:.3f})"

    return _table(entry, list(records))


def _failures(records: Sequence[Record]) -> str:
    failed = sum("failed" in record for record in records)
    return f", {failed} of {len(records)} runs diverged" if failed else ""


def curvature_table(records: Mapping[Cell, Sequence[Record]]) -> Table:
    """Table 3: mean learned curvature of each factor, and the paper's in parentheses.

    >>> curvature_table({Cell("cora_ml", "H16"): []}).rows
    [['H16 (κ-GCN)', 'no runs (paper −1.51 ± 0.11)']]
    """

    def entry(cell: Cell) -> str:
        ours = ", ".join(map(str, curvatures(records[cell]))) or "no runs"
        theirs = ", ".join(f"{k:.2f} ± {i:.2f}" for k, i in paper()["curvature"][cell.row][cell.dataset])
        return f"{ours} (paper {theirs})".replace("-", "−")

    return _table(entry, [cell for cell in records if cell.row in CURVED])


def _table(entry: Callable[[Cell], str], wanted: Sequence[Cell]) -> Table:
    """Networks as rows, datasets as columns."""
    datasets = [dataset for dataset in DATASETS if any(cell.dataset == dataset for cell in wanted)]
    names = {**ROWS, **WIDER_ROWS}
    rows = [row for row in names if any(cell.row == row for cell in wanted)]
    lines = [[entry(cell) if (cell := Cell(d, row)) in wanted else "" for d in datasets] for row in rows]
    titles = [names[row] for row in rows]
    return Table(["", *(DATASETS[d] for d in datasets)], [[t, *each] for t, each in zip(titles, lines, strict=True)])
