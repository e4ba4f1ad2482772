"""Rows in addition to the paper's: GCN, κ-GCN, APPNP and κ-APPNP with settings that its protocol does not have.

Dropout of features and of Â, stronger L², 64 units, output layers with a bias, curvatures that start at 0, and PPNP's
stopping rule, for all four rows alike. The settings to try are few and written out, those that PPNP published first;
the choice among them is that of `kappagcn.paper.searching`.
"""

from __future__ import annotations

from typing import Any

from kappagcn.estimators.settings import ClassificationSettings
from kappagcn.paper.experiment import Experiment

__all__ = ["FLAT_ROW", "WIDER_ROWS", "candidates"]

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


def candidates(dataset: str, row: str) -> list[Experiment]:
    """The settings to try for a row on a dataset, always the same.

    >>> [experiment.settings.space for experiment in candidates("cora_ml", "kappa-appnp")]
    ['U64', 'S64', 'H16']
    >>> [experiment.settings.space for experiment in candidates("cora_ml", "appnp")]
    ['E64', 'E64', 'E16']
    """
    plain: dict[str, Any] = {"feature_norm": "columns", "dropout": 0.0, "l2": 0.0}
    return [
        _experiment(dataset, row, **{**plain, **COMMON, **each})
        for each in (COLUMNS if dataset == "airport" else WORDS)
    ]


def _experiment(dataset: str, row: str, space: str, **values: Any) -> Experiment:
    if not row.startswith("kappa"):
        space = "E" + space[1:].split("(")[0]
    return Experiment(dataset, MODELS[row], ClassificationSettings(space, **values))
