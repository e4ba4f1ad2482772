"""The search for settings that the paper does not state: on validation nodes, with the same budget for every network.

For each cell of Table 2 some settings are trained on one split, the best few of them on more splits, and the one with
the best mean accuracy on the validation nodes is chosen. The numbers of settings and splits are a `Budget`, the same
for all networks. The first setting is the paper's own as far as it is stated, the others are drawn from lists. Settings
that networks have in common are drawn in the same way for all of them, except where a network without curvature would
try a setting twice.

Rows in addition to the paper's have what its protocol does not: dropout of features and of Â, stronger L², 64 units,
output layers with a bias, curvatures that start at 0, and PPNP's stopping rule, for all of them alike. The settings to
try are few and written out, those that PPNP published first. On Pubmed they are drawn from lists, and a flat row is
searched first; the curved row with the same propagation has the flat row's settings and chooses its space alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.paper.cells import WIDER_ROWS, Cell
from kappagcn.paper.classification import Experiment, Job
from kappagcn.paper.plan import Finished, Halving

__all__ = ["BUDGETS", "FLAT_ROW", "Budget", "budget", "chosen", "flat_cell", "halving", "settings"]

Lists = dict[str, tuple[Any, ...]]  # values of settings to draw from


class Budget(NamedTuple):
    """Numbers of settings and splits of the search for a cell."""

    draws: int  # settings on the first split
    kept: int  # settings that are trained on the other splits
    splits: int  # number of splits


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

    >>> budget(Cell("pubmed", "H16")) == budget(Cell("pubmed", "appnp"))
    True
    """
    if cell.dataset == "pubmed" and cell.row in WIDER_ROWS:
        return CURVED_PUBMED if cell.row in FLAT_ROW else FLAT_PUBMED
    return (WIDER if cell.row in WIDER_ROWS else BUDGETS)[cell.dataset]


# Features (norm, map, scale) and everything else to draw from; words are sparse counts, columns real numbers.
WORDS: Lists = {
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
COLUMNS: Lists = {
    "features": (("columns", "tangent", 0.3), ("columns", "tangent", 1.0), ("columns", "tangent", 3.0)),
    "dropout": (0.0, 0.1),
    "adjacency_dropout": (0.0,),
    "dropconnect": (0.0,),
    "l2": (0.0, 1e-4),
    "adjacency_norm": ("symmetric", "row"),
    "lr": (0.01, 0.02),
}
CURVED: Lists = {
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


FLAT_ROW = {"kappa-gcn": "gcn-wider", "kappa-appnp": "appnp"}  # flat row with the propagation of a curved row
MODELS = {"gcn-wider": "gcn", "appnp": "appnp", "kappa-gcn": "kappa-gcn", "kappa-appnp": "appnp"}
COMMON: dict[str, Any] = {"stop_by": "either", "patience": 100, "self_features": "off"}
DROPOUT: dict[str, Any] = {"dropout": 0.5, "input_dropout": 0.5, "adjacency_dropout": 0.5}
# Flat rows take the dimension of the space alone. U starts at κ = 0, H and S slightly curved in units of the rows.
WIDER_WORDS: tuple[dict[str, Any], ...] = (
    # Settings of PPNP, except that the learning rate is twice as large, which halves the number of epochs.
    {**DROPOUT, "space": "U64", "feature_norm": "rows", "l2": 5e-3, "lr": 0.02, "output": "midpoint"},
    {**DROPOUT, "space": "S64", "feature_norm": "lengths", "l2": 5e-3, "lr": 0.02, "output": "midpoint"},
    {**DROPOUT, "space": "H16", "feature_norm": "lengths", "l2": 1e-2, "lr": 0.02, "output": "paper-bias"},
)
WIDER_COLUMNS: tuple[dict[str, Any], ...] = (
    {"space": "H16(-0.1)", "adjacency_norm": "row", "lr": 0.02, "output": "midpoint"},
    {"space": "S16(0.1)", "adjacency_norm": "row", "feature_scale": 3.0, "output": "midpoint"},
    {"space": "U16", "adjacency_norm": "row", "l2": 1e-4, "alpha": 0.2, "output": "paper-bias"},
)
# Pubmed: at most 32 units, since κ-APPNP propagates all of them and takes three times as long with 64.
DRAWN: Lists = {
    "space": ("E16", "E32"),
    "feature_norm": ("rows", "lengths", "none"),
    "l2": (5e-3, 1e-2, 2e-2, 5e-2),
    "lr": (0.01, 0.02, 0.05),
    "dropout": (0.5, 0.7),
    "input_dropout": (0.0, 0.5),
    "adjacency_dropout": (0.0, 0.5),
    "alpha": (0.05, 0.1, 0.2),
    "propagation_steps": (10, 20),
}
# PPNP's settings as above, and the best of some trial runs on validation nodes.
FIRST: tuple[dict[str, Any], ...] = (
    {**DROPOUT, "space": "E32", "feature_norm": "rows", "l2": 5e-3, "lr": 0.02},
    {**DROPOUT, "space": "E32", "feature_norm": "lengths", "l2": 5e-3, "lr": 0.01},
)
DRAWS = 12
SPACES = ("U", "H", "S")


def flat_cell(cell: Cell) -> Cell | None:
    """The cell whose chosen settings this cell takes; None for a cell with a search of its own."""
    return Cell(cell.dataset, FLAT_ROW[cell.row]) if cell.dataset == "pubmed" and cell.row in FLAT_ROW else None


def settings(cell: Cell, finished: Finished | None = None) -> list[Experiment]:
    """The settings to try for a cell, always the same.

    Args:
        cell: A cell.
        finished: Records by key, for a cell whose settings depend on the search for another one.

    >>> settings(Cell("cora_ml", "S16"))[0].settings.space
    'S16(1.0)'
    >>> [experiment.settings.space for experiment in settings(Cell("cora_ml", "kappa-appnp"))]
    ['U64', 'S64', 'H16']
    """
    flat = flat_cell(cell)
    if flat is not None:
        best = chosen(flat, finished or {})
        if best is None:
            raise ConfigError(f"{flat.name}: expected its search to be finished, whose settings {cell.name} takes.")
        spaces = [sign + best[0].settings.space[1:] for sign in SPACES]
        return [Experiment(cell.dataset, MODELS[cell.row], replace(best[0].settings, space=space)) for space in spaces]
    count = budget(cell).draws
    if cell.row not in WIDER_ROWS:
        lists = (COLUMNS if cell.dataset == "airport" else WORDS) | CURVED
        papers = {**PAPER, "features": (lists["features"][0][0], "points", 1.0)}
        return distinct((_paper_setting(cell, values) for values in chain([papers], draws(lists, count - 1))), count)
    if cell.dataset != "pubmed":
        plain: dict[str, Any] = {"feature_norm": "columns", "dropout": 0.0, "l2": 0.0}
        written = WIDER_COLUMNS if cell.dataset == "airport" else WIDER_WORDS
        return [_wider_setting(cell, **{**plain, **COMMON, **values}) for values in written]
    unused = () if cell.row.endswith("appnp") else ("alpha", "propagation_steps")
    drawn = chain(FIRST, draws(DRAWN, count - len(FIRST)))
    used = ({name: value for name, value in values.items() if name not in unused} for values in drawn)
    return distinct((_wider_setting(cell, **{**COMMON, "output": "midpoint", **values}) for values in used), count)


def draws(lists: Lists, count: int) -> Iterator[dict[str, Any]]:
    """An endless series of settings, always the same; in each round of `count` all values of a list are used evenly."""
    rng = random.Random(0)
    while True:
        repeated = {name: (list(values) * -(-count // len(values)))[:count] for name, values in lists.items()}
        columns = {name: rng.sample(values, count) for name, values in repeated.items()}
        yield from ({name: column[i] for name, column in columns.items()} for i in range(count))


def distinct(drawn: Iterable[Experiment], count: int) -> list[Experiment]:
    """The first so many experiments that differ: a network that does not use all settings may have some drawn twice."""
    tried: list[Experiment] = []
    for experiment in drawn:
        if experiment not in tried:
            tried.append(experiment)
        if len(tried) == count:
            break
    return tried


def _paper_setting(cell: Cell, drawn: Mapping[str, Any]) -> Experiment:
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


def _wider_setting(cell: Cell, space: str, **values: Any) -> Experiment:
    if not cell.row.startswith("kappa"):
        space = "E" + space[1:].split("(")[0]
    return Experiment(cell.dataset, MODELS[cell.row], ClassificationSettings(space, **values))


def halving(cell: Cell) -> Halving:
    """The choice among the settings of a cell: a split for all of them, then more splits for the best."""
    drawn = budget(cell)
    return Halving(
        first=lambda experiment: [Job(experiment, 0, 0, "validation")],
        last=lambda experiment: [Job(experiment, split, 0, "validation") for split in range(drawn.splits)],
        score=lambda record: float(record.get("validation_accuracy") or 0.0),  # a diverged run has no accuracy
        keep=drawn.kept,
    )


def chosen(cell: Cell, finished: Finished) -> tuple[Experiment, float] | None:
    """The setting with the best mean accuracy over the splits, and that mean; None before the search is finished."""
    return halving(cell).chosen(settings(cell, finished), finished)
