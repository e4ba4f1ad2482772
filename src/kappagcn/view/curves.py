"""Numbers by epoch, and curves of a link prediction, thinned for drawing."""

import math
from typing import Any, NamedTuple

import numpy as np

from kappagcn.run_folder import Array, SavedRun

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


def curvature_columns(run: SavedRun) -> tuple[list[int], Array]:
    """Epochs and curvatures, (epochs, layers · factors), in the graph's own unit of length, as in the summary."""
    records = [line for line in run.metrics if isinstance(line.get("curvatures"), list) and line["curvatures"]]
    kappas = np.array([line["curvatures"] for line in records], float)  # training works with edges of length 1
    return [line["epoch"] for line in records], kappas / _unit(run) ** 2


def _curvatures(run: SavedRun, lines: list[dict[str, Any]], epochs: Column, factors: list[str]) -> dict[str, Any]:
    """Curvatures in the graph's own unit of length."""
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


LINK_POINTS = 400  # most points of a curve over thresholds
BINS = 40


class LinkCurves(NamedTuple):
    """Points of both curves, from (0, 0) and from recall 0, and shares of scores in bins of the log-odds."""

    false_positives: Array
    true_positives: Array
    recall: Array
    precision: Array
    borders: Array
    edge_shares: Array
    other_shares: Array


def link_curves(edges: Array, others: Array) -> LinkCurves:
    """Curves over all thresholds, thinned for drawing; equal scores are one threshold.

    >>> curves = link_curves(np.array([2.0, 1.0]), np.array([1.5, 0.0]))
    >>> curves.false_positives.tolist(), curves.true_positives.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    thresholds = np.unique(np.concatenate([edges, others]))[::-1]
    true_positives = len(edges) - np.searchsorted(np.sort(edges), thresholds)
    wrong = len(others) - np.searchsorted(np.sort(others), thresholds)
    kept = np.unique(np.linspace(0, len(thresholds) - 1, LINK_POINTS).astype(int))
    true_positives, wrong = true_positives[kept], wrong[kept]
    low, high = np.quantile(np.concatenate([edges, others]), [0.005, 0.995])
    borders = np.linspace(low, max(high, low + 1e-6), BINS + 1)
    shares = [np.histogram(np.clip(x, low, borders[-1]), borders)[0] / len(x) for x in (edges, others)]
    precision = true_positives / (true_positives + wrong)
    return LinkCurves(
        np.concatenate([[0.0], wrong / len(others)]),
        np.concatenate([[0.0], true_positives / len(edges)]),
        np.concatenate([[0.0], true_positives / len(edges)]),
        np.concatenate([precision[:1], precision]),
        borders,
        *shares,
    )
