"""Rows beside the paper's: GCN, κ-GCN, APPNP and κ-APPNP with settings that the paper's protocol does not have.

Dropout of features, stronger L², output layers with a bias, curvatures that start at 0, and PPNP's stopping rule, for
all four rows alike. The settings to try are few and written out, APPNP's published ones first; the choice among them is
that of `kappagcn.paper.searching`.
"""

from __future__ import annotations

from typing import Any

from kappagcn.estimators.settings import ClassificationSettings
from kappagcn.paper.experiment import Experiment

__all__ = ["WIDER_ROWS", "tries"]

WIDER_ROWS = {
    "gcn-wider": "E16 (GCN)",
    "appnp": "E16 (APPNP)",
    "kappa-gcn": "U16 (κ-GCN)",
    "kappa-appnp": "U16 (κ-APPNP)",
}
MODELS = {"gcn-wider": "gcn", "appnp": "appnp", "kappa-gcn": "kappa-gcn", "kappa-appnp": "appnp"}
COMMON: dict[str, Any] = {"stop_by": "either", "patience": 100, "self_features": "off"}
# κ is where curvature starts, of either sign or 0; all else is the same for every row.
WORDS: tuple[dict[str, Any], ...] = (
    {"κ": -0.1, "feature_norm": "rows", "dropout": 0.5, "input_dropout": 0.5, "l2": 5e-3, "output": "midpoint"},
    {"κ": 0.0, "feature_norm": "lengths", "dropout": 0.5, "input_dropout": 0.5, "l2": 5e-3, "output": "paper-bias"},
    {"κ": 0.1, "feature_norm": "rows", "dropout": 0.5, "input_dropout": 0.5, "l2": 2e-2, "output": "midpoint"},
    {
        **{"κ": -0.1, "feature_norm": "lengths", "dropout": 0.7, "input_dropout": 0.5, "adjacency_dropout": 0.3},
        **{"l2": 1e-2, "output": "midpoint"},
    },
)
COLUMNS: tuple[dict[str, Any], ...] = (
    {"κ": -0.1, "adjacency_norm": "row", "lr": 0.02, "output": "midpoint"},
    {"κ": 0.1, "adjacency_norm": "row", "feature_scale": 3.0, "output": "midpoint"},
    {"κ": 0.0, "adjacency_norm": "row", "l2": 1e-4, "alpha": 0.2, "output": "paper-bias"},
    {"κ": -0.1, "adjacency_norm": "symmetric", "l2": 1e-4, "alpha": 0.2, "output": "midpoint"},
)


def tries(dataset: str, row: str) -> list[Experiment]:
    """The settings to try for a row on a dataset, always the same.

    >>> [experiment.settings.space for experiment in tries("cora_ml", "kappa-appnp")]
    ['H16(-0.1)', 'U16', 'S16(0.1)', 'H16(-0.1)']
    """
    plain: dict[str, Any] = {"feature_norm": "columns", "dropout": 0.0, "l2": 0.0}
    return [
        _experiment(dataset, row, {**plain, **COMMON, **each}) for each in (COLUMNS if dataset == "airport" else WORDS)
    ]


def _experiment(dataset: str, row: str, values: dict[str, Any]) -> Experiment:
    kappa = values.pop("κ")
    space = "E16"
    if row.startswith("kappa"):
        space = f"{'H' if kappa < 0 else 'S'}16({kappa})" if kappa else "U16"
    return Experiment(dataset, MODELS[row], ClassificationSettings(space, **values))
