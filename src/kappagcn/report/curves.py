"""Numbers by epoch, thinned for drawing."""

from __future__ import annotations

import math
from typing import Any

from kappagcn.run_folder import SavedRun

__all__ = ["curves"]

MOST_POINTS = 600
LOG_FROM = 5.0  # largest over smallest value from which a logarithmic axis shows more
LABELS = {
    "distortion": "average distortion",
    "train_loss": "training",
    "stopping_loss": "early stopping",
    "validation_loss": "validation",
    "train_accuracy": "training",
    "stopping_accuracy": "early stopping",
    "validation_accuracy": "validation",
}


def curves(run: SavedRun, factors: list[str]) -> list[dict[str, Any]]:
    """Charts for the page: title, axis, and series of values that may be None."""
    lines = _thinned(run.metrics)
    epochs = [_number(line.get("epoch")) for line in lines]
    if len(lines) < 2 or None in epochs:
        return []
    keys = dict.fromkeys(key for line in lines for key in line)
    if run.kind == "embedding":
        groups = [("Average distortion (0 is perfect)", [key for key in keys if key == "distortion"])]
    else:
        groups = [
            ("Loss (lower is better)", [key for key in keys if key.endswith("loss")]),
            ("Accuracy (higher is better)", [key for key in keys if key.endswith("accuracy")]),
        ]
    found = [_chart(title, epochs, {_label(key): _column(lines, key) for key in some}) for title, some in groups]
    found.append(_curvatures(run, lines, epochs, factors))
    best = _number(run.summary.get("best_epoch"))
    return [chart | {"best": best} for chart in found if chart["series"]]


def _chart(title: str, epochs: list[float | None], series: dict[str, list[float | None]]) -> dict[str, Any]:
    kept = {label: values for label, values in series.items() if any(value is not None for value in values)}
    values = [value for column in kept.values() for value in column if value is not None]
    spread = bool(values) and min(values) > 0 and max(values) > LOG_FROM * min(values)
    share = title.startswith("Accuracy")
    drawn = [{"name": label, "values": column} for label, column in kept.items()]
    return {"title": title, "epochs": epochs, "log": spread and not share, "share": share, "series": drawn}


def _curvatures(
    run: SavedRun, lines: list[dict[str, Any]], epochs: list[float | None], factors: list[str]
) -> dict[str, Any]:
    """In the graph's own unit of length, as the summary has them: training works with edges of length 1."""
    unit = _number(run.summary.get("edge_unit")) or 1.0
    columns: dict[str, list[float | None]] = {}
    for place, factor in enumerate(factors):
        values = [_number(_at(line.get("curvatures"), place)) for line in lines]
        if any(values):
            columns[factor] = [None if value is None else value / unit**2 for value in values]
    return _chart("Curvature of each factor", epochs, columns) | {"log": False, "zero": True}


def _at(values: Any, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None


def _column(lines: list[dict[str, Any]], key: str) -> list[float | None]:
    return [_number(line.get(key)) for line in lines]


def _number(value: Any) -> float | None:
    """As a float of seven digits; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(f"{value:.7g}")


def _label(key: str) -> str:
    return LABELS.get(key, key.replace("_", " "))


def _thinned(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    step = max(1, -(-len(lines) // MOST_POINTS))
    return [*lines[::step], *([] if (len(lines) - 1) % step == 0 else [lines[-1]])]
