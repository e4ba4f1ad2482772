"""The search for settings that the paper does not state: on validation nodes, with the same budget for every network.

For each cell of Table 2 some settings are trained on one split, the best few of them on more splits, and the one with
the best mean accuracy on the validation nodes is chosen. The numbers of settings and splits are a `Budget`, the same
for all networks. The first setting is the paper's own as far as it is stated, the others are drawn from lists. Settings
that networks have in common are drawn in the same way for all of them, except where a network without curvature would
try a setting twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.paper.cells import Cell
from kappagcn.paper.experiment import Experiment
from kappagcn.paper.plan import Finished, Halving
from kappagcn.paper.runs import Job, Run
from kappagcn.paper.wider import FLAT_ROW, WIDER_ROWS, candidates, curved, draws

__all__ = ["BUDGETS", "ROUNDS", "WIDER", "Budget", "budget", "chosen", "halving", "last_round", "settings"]


class Budget(NamedTuple):
    """Numbers of settings and splits of the search for a cell."""

    draws: int  # settings on the first split
    kept: int  # settings that are trained on the other splits
    splits: int  # number of splits

    @property
    def runs(self) -> int:
        """Total number of runs."""
        return self.draws + self.kept * (self.splits - 1)


BUDGETS = {
    "airport": Budget(20, 5, 4),
    "cora_ml": Budget(20, 5, 4),
    "citeseer": Budget(20, 5, 4),
    "pubmed": Budget(12, 3, 3),  # its runs take longest
}
WIDER = {"airport": Budget(3, 2, 2), "cora_ml": Budget(3, 2, 2), "citeseer": Budget(3, 2, 2)}
FLAT_PUBMED, CURVED_PUBMED = Budget(12, 3, 3), Budget(3, 1, 1)  # the second: spaces alone, on the flat row's settings


def budget(cell: Cell) -> Budget:
    """Budget of a cell: one for all of the paper's rows, one for all other rows; on Pubmed two of these.

    >>> budget(Cell("pubmed", "H16")).runs, budget(Cell("pubmed", "appnp")).runs
    (18, 18)
    """
    if cell.dataset == "pubmed" and cell.row in WIDER_ROWS:
        return CURVED_PUBMED if cell.row in FLAT_ROW else FLAT_PUBMED
    return (WIDER if cell.row in WIDER_ROWS else BUDGETS)[cell.dataset]


# Features (norm, map, scale) and everything else to draw from; words are sparse counts, columns real numbers.
WORDS: dict[str, tuple[Any, ...]] = {
    "features": (
        ("rows", "points", 1.0),
        ("rows", "tangent", 1.0),
        ("rows", "tangent", 3.0),
        ("none", "points", 1.0),
        ("none", "tangent", 1.0),
    ),
    "dropout": (0.3, 0.5, 0.7),
    "adjacency_dropout": (0.0, 0.5),
    "dropconnect": (0.0, 0.2),
    "l2": (2e-3, 5e-3, 1e-2),
    "adjacency_norm": ("symmetric", "row"),
    "lr": (0.01, 0.02),
}
COLUMNS: dict[str, tuple[Any, ...]] = {
    "features": (("columns", "tangent", 0.3), ("columns", "tangent", 1.0), ("columns", "tangent", 3.0)),
    "dropout": (0.0, 0.1),
    "adjacency_dropout": (0.0,),
    "dropconnect": (0.0,),
    "l2": (0.0, 1e-4),
    "adjacency_norm": ("symmetric", "row"),
    "lr": (0.01, 0.02),
}
CURVED: dict[str, tuple[Any, ...]] = {
    "kappa": (0.03, 0.1, 0.3, 1.0),
    "curvature_lr": (0.001, 0.01),
    "signs": ("HS", "HH", "SS"),
    "split_input": (True, False),
}
PAPER: dict[str, Any] = {
    "dropout": 0.5,
    "adjacency_dropout": 0.5,
    "dropconnect": 0.2,
    "l2": 5e-4,
    "adjacency_norm": "symmetric",
    "lr": 0.01,
    "kappa": 1.0,
    "curvature_lr": 0.01,
    "signs": "HS",
    "split_input": True,
}


def follows(cell: Cell) -> Cell | None:
    """The flat cell whose chosen settings this cell takes; None for a cell with a search of its own."""
    return Cell(cell.dataset, FLAT_ROW[cell.row]) if cell.dataset == "pubmed" and cell.row in FLAT_ROW else None


def settings(cell: Cell, finished: Finished | None = None) -> list[Experiment]:
    """The settings to try for a cell, always the same.

    Args:
        cell: A cell.
        finished: Records by key, for a cell whose settings depend on the search for another one.

    >>> settings(Cell("cora_ml", "S16"))[0].settings.space
    'S16(1.0)'
    """
    flat = follows(cell)
    if flat is not None:
        best = chosen(flat, finished or {})
        if best is None:
            raise ConfigError(f"{flat.name}: expected its search to be finished, whose settings {cell.name} takes.")
        return curved(best[0], cell.row)
    if cell.row in WIDER_ROWS:
        return candidates(cell.dataset, cell.row)[: budget(cell).draws]
    lists = (COLUMNS if cell.dataset == "airport" else WORDS) | CURVED
    papers = {**PAPER, "features": (lists["features"][0][0], "points", 1.0)}
    tried = [_setting(cell, papers)]
    count = budget(cell).draws
    for drawn in draws(lists, count - 1):
        setting = _setting(cell, drawn)
        if setting not in tried:  # for a network without curvature the same setting may be drawn twice
            tried.append(setting)
        if len(tried) == count:
            break
    return tried


def _setting(cell: Cell, drawn: dict[str, Any]) -> Experiment:
    names = ("dropout", "adjacency_dropout", "dropconnect", "adjacency_norm", "lr", "l2")
    values = {name: drawn[name] for name in names}
    values |= {"output": "paper", "self_features": "off"}
    values |= dict(zip(("feature_norm", "feature_map", "feature_scale"), drawn["features"], strict=True))
    starts = {"H": -drawn["kappa"], "S": drawn["kappa"]}
    if cell.row == "gcn":
        return Experiment(cell.dataset, "gcn", ClassificationSettings("E16", **values))
    values["curvature_lr"] = drawn["curvature_lr"]
    if cell.row == "hgcn":
        values["adjacency_dropout"] = 0.0  # HGCN's code has none
        return Experiment(cell.dataset, "hgcn", ClassificationSettings(f"H16({starts['H']})", **values))
    if cell.row == "prod":
        values["split_input"] = drawn["split_input"]
        space = "x".join(f"{sign}8({starts[sign]})" for sign in drawn["signs"])
    else:
        space = f"{cell.row}({starts[cell.row[0]]})"
    return Experiment(cell.dataset, "kappa-gcn", ClassificationSettings(space, **values))


def halving(cell: Cell) -> Halving:
    """The choice among the settings of a cell: a split for all of them, then more splits for the best."""
    drawn = budget(cell)
    return Halving(
        first=lambda experiment: [Job(experiment, 0, 0, "validation")],
        last=lambda experiment: [Job(experiment, split, 0, "validation") for split in range(drawn.splits)],
        score=lambda record: float(record.get("validation_accuracy") or 0.0),  # a diverged run has no accuracy
        keep=drawn.kept,
    )


def first_round(cell: Cell, finished: Finished) -> list[Run]:
    """A run of every setting."""
    return [job for e in settings(cell, finished) for job in halving(cell).first(e)]


def last_round(cell: Cell, finished: Finished) -> list[Run]:
    """The runs of the settings that are kept."""
    rounds = halving(cell)
    return [job for e in rounds.kept(settings(cell, finished), finished) for job in rounds.last(e)]


def of_flat_cell(jobs: Callable[[Cell, Finished], list[Run]]) -> Callable[[Cell, Finished], list[Run]]:
    """These runs of the flat cell whose settings a cell takes; none for a cell with a search of its own."""

    def of_followed(cell: Cell, finished: Finished) -> list[Run]:
        flat = follows(cell)
        return [] if flat is None else jobs(flat, finished)

    return of_followed


def chosen(cell: Cell, finished: Finished) -> tuple[Experiment, float] | None:
    """The setting with the best mean accuracy over the splits, and that mean; None before the search is finished."""
    return halving(cell).chosen(settings(cell, finished), finished)


ROUNDS = (of_flat_cell(first_round), of_flat_cell(last_round), first_round)  # before the last one
