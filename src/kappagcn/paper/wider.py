"""Rows in addition to the paper's: GCN, κ-GCN, APPNP and κ-APPNP with settings that its protocol does not have.

Dropout of features and of Â, stronger L², 64 units, output layers with a bias, curvatures that start at 0, and PPNP's
stopping rule, for all four rows alike. The settings to try are few and written out, those that PPNP published first;
the choice among them is that of `kappagcn.paper.searching`.

On Pubmed settings are drawn from lists, and a flat row is searched first; the curved row with the same propagation has
the flat row's settings and chooses its space alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.paper.experiment import Experiment

__all__ = ["FLAT_ROW", "WIDER_ROWS", "candidates", "curved", "draws", "self_trained"]

WIDER_ROWS = {
    "gcn-wider": "GCN, wider search",
    "kappa-gcn": "κ-GCN, wider search",
    "appnp": "APPNP",
    "kappa-appnp": "κ-APPNP",
}
FLAT_ROW = {"kappa-gcn": "gcn-wider", "kappa-appnp": "appnp"}  # flat row with the propagation of a curved row
MODELS = {"gcn-wider": "gcn", "appnp": "appnp", "kappa-gcn": "kappa-gcn", "kappa-appnp": "appnp"}
COMMON: dict[str, Any] = {"stop_by": "either", "patience": 100, "self_features": "off"}
DROPOUT: dict[str, Any] = {"dropout": 0.5, "input_dropout": 0.5, "adjacency_dropout": 0.5}
# Flat rows take the dimension of the space alone. U starts at κ = 0, H and S slightly curved in units of the rows.
WORDS: tuple[dict[str, Any], ...] = (
    # Settings of PPNP, except that the learning rate is twice as large, which halves the number of epochs.
    {**DROPOUT, "space": "U64", "feature_norm": "rows", "l2": 5e-3, "lr": 0.02, "output": "midpoint"},
    {**DROPOUT, "space": "S64", "feature_norm": "lengths", "l2": 5e-3, "lr": 0.02, "output": "midpoint"},
    {**DROPOUT, "space": "H16", "feature_norm": "lengths", "l2": 1e-2, "lr": 0.02, "output": "paper-bias"},
)
COLUMNS: tuple[dict[str, Any], ...] = (
    {"space": "H16(-0.1)", "adjacency_norm": "row", "lr": 0.02, "output": "midpoint"},
    {"space": "S16(0.1)", "adjacency_norm": "row", "feature_scale": 3.0, "output": "midpoint"},
    {"space": "U16", "adjacency_norm": "row", "l2": 1e-4, "alpha": 0.2, "output": "paper-bias"},
)
# Pubmed: at most 32 units, since κ-APPNP propagates all of them and takes three times as long with 64.
DRAWN: dict[str, tuple[Any, ...]] = {
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
ROUNDS = 2  # of self-training


def candidates(dataset: str, row: str) -> list[Experiment]:
    """The settings to try for a row on a dataset, always the same.

    >>> [experiment.settings.space for experiment in candidates("cora_ml", "kappa-appnp")]
    ['U64', 'S64', 'H16']
    >>> [experiment.settings.space for experiment in candidates("cora_ml", "appnp")]
    ['E64', 'E64', 'E16']
    """
    if dataset == "pubmed":
        return _drawn(dataset, row)
    plain: dict[str, Any] = {"feature_norm": "columns", "dropout": 0.0, "l2": 0.0}
    return [
        _experiment(dataset, row, **{**plain, **COMMON, **each})
        for each in (COLUMNS if dataset == "airport" else WORDS)
    ]


def curved(flat: Experiment, row: str) -> list[Experiment]:
    """The settings of a flat row in spaces that are curved.

    >>> flat = candidates("pubmed", "appnp")[0]
    >>> [experiment.settings.space for experiment in curved(flat, "kappa-appnp")]
    ['U32', 'H32', 'S32']
    """
    units = flat.settings.space[1:]
    every = (replace(flat.settings, space=sign + units) for sign in SPACES)
    return [Experiment(flat.dataset, MODELS[row], settings) for settings in every]


def self_trained(experiment: Experiment) -> Experiment:
    """The settings of a row, with self-training and nothing else changed.

    >>> self_trained(candidates("cora_ml", "appnp")[0]).settings.self_training
    2
    """
    return replace(experiment, settings=replace(experiment.settings, self_training=ROUNDS))


def _drawn(dataset: str, row: str) -> list[Experiment]:
    """The first settings, then drawn ones, without repetitions: a row without propagation steps draws no two alike."""
    unused = () if row.endswith("appnp") else ("alpha", "propagation_steps")
    tried: list[Experiment] = []
    for values in chain(FIRST, draws(DRAWN, DRAWS - len(FIRST))):
        own = {name: value for name, value in values.items() if name not in unused}
        experiment = _experiment(dataset, row, **{**COMMON, "output": "midpoint", **own})
        if experiment not in tried:
            tried.append(experiment)
        if len(tried) == DRAWS:
            break
    return tried


def draws(lists: dict[str, tuple[Any, ...]], count: int) -> Iterator[dict[str, Any]]:
    """An endless series of settings, always the same; in each round of `count` all values of a list are used evenly."""
    rng = random.Random(0)
    while True:
        columns = {name: _evenly(values, count, rng) for name, values in lists.items()}
        yield from ({name: column[i] for name, column in columns.items()} for i in range(count))


def _evenly(values: tuple[Any, ...], count: int, rng: random.Random) -> list[Any]:
    """`count` values in random order, each about equally often."""
    repeated = list(values) * -(-count // len(values))
    return rng.sample(repeated[:count], count)


def _experiment(dataset: str, row: str, space: str, **values: Any) -> Experiment:
    if not row.startswith("kappa"):
        space = "E" + space[1:].split("(")[0]
    return Experiment(dataset, MODELS[row], ClassificationSettings(space, **values))
