"""Numbers by epoch, thinned for drawing."""

import math
from typing import Any

from kappagcn.run_folder import SavedRun

MOST_POINTS = 600
LOG_FROM = 5.0  # ratio of the largest to the smallest value from which the axis is logarithmic
LABELS = {
    "distortion": "average distortion",
    "train": "training",
    "stopping": "early stopping",
    "validation": "validation",
}

OBJECTIVES = {
    "distortion": "Average distortion (0 is perfect)",
    "d_avg": "D_avg (0 is perfect)",
    "stress": "Stress (0 is perfect)",
    "ranking_loss": "Ranking loss (0 is perfect)",
}

Column = list[float | None]


def curves(run: SavedRun, factors: list[str]) -> list[dict[str, Any]]:
    """Charts for the page: title, axis, and series of values that may be None."""
    step = max(1, -(-len(run.metrics) // MOST_POINTS))
    lines = run.metrics[::step]
    if (len(run.metrics) - 1) % step:
        lines.append(run.metrics[-1])
    epochs = _column(lines, "epoch")
    if len(lines) < 2 or None in epochs:
        return []
    keys = dict.fromkeys(key for line in lines for key in line)
    if run.kind == "embedding":
        groups = {title: [key for key in keys if key == name] for name, title in OBJECTIVES.items()}
    else:
        groups = {
            "Loss (lower is better)": [key for key in keys if key.endswith("loss")],
            "Accuracy (higher is better)": [key for key in keys if key.endswith("accuracy")],
            "Validation AUC (higher is better)": [key for key in keys if key.endswith("auc")],
        }
    charts = [
        _chart(title, epochs, {_label(key): _column(lines, key) for key in names}) for title, names in groups.items()
    ]
    charts.append(_curvatures(run, lines, epochs, factors))
    best = _number(run.summary.get("best_epoch"))
    return [chart | {"best": best} for chart in charts if chart["series"]]


def _chart(title: str, epochs: Column, series: dict[str, Column]) -> dict[str, Any]:
    series = {label: column for label, column in series.items() if any(value is not None for value in column)}
    values = [value for column in series.values() for value in column if value is not None]
    wide = bool(values) and min(values) > 0 and max(values) > LOG_FROM * min(values)
    share = title.startswith("Accuracy")
    same: dict[tuple[float | None, ...], list[str]] = {}  # equal series are drawn as one line with both names
    for label, column in series.items():
        same.setdefault(tuple(column), []).append(label)
    drawn = [{"name": " and ".join(labels), "values": list(column)} for column, labels in same.items()]
    return {"title": title, "epochs": epochs, "log": wide and not share, "share": share, "series": drawn}


def _curvatures(run: SavedRun, lines: list[dict[str, Any]], epochs: Column, factors: list[str]) -> dict[str, Any]:
    """Curvatures in the graph's own unit of length, as in the summary: training works with edges of length 1."""
    unit = _unit(run)
    columns: dict[str, Column] = {}
    for i, factor in enumerate(factors):
        kappas = [line.get("curvatures") for line in lines]
        values = [_number(k[i]) if isinstance(k, list) and i < len(k) else None for k in kappas]
        if any(values):
            columns[factor] = [None if value is None else value / unit**2 for value in values]
    title = "Curvature of each factor" if len(columns) > 1 else "Curvature"
    return _chart(title, epochs, columns) | {"log": False, "zero": True}


def _unit(run: SavedRun) -> float:
    """Unit of length of training in that of the result; a ranking loss has none, and its result is rescaled."""
    unit = _number(run.summary.get("edge_unit")) or 1.0
    best = next((line for line in run.metrics if line.get("epoch") == run.summary.get("best_epoch")), {})
    trained, result = best.get("curvatures"), run.embedded.curvatures.tolist()
    if run.summary.get("objective") != "neighbours" or not isinstance(trained, list) or len(trained) != len(result):
        return unit
    ratios = [k / final for k, final in zip(trained, result, strict=True) if final and k / final > 0]
    return math.sqrt(ratios[0]) if ratios else unit


def _column(lines: list[dict[str, Any]], key: str) -> Column:
    return [_number(line.get(key)) for line in lines]


def _number(value: Any) -> float | None:
    """A number rounded to seven digits; None for anything but finite numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(f"{value:.7g}")


def _label(key: str) -> str:
    return LABELS.get(key.removesuffix("_loss").removesuffix("_accuracy"), key.replace("_", " "))
