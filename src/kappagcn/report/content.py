"""What the page's script draws, as plain numbers and words."""

from __future__ import annotations

from typing import Any

import numpy as np

from kappagcn.report.curves import curves
from kappagcn.report.neighbours import central, distances_from, nearest
from kappagcn.report.projection import picture
from kappagcn.report.subset import edges_among, shown_nodes
from kappagcn.report.words import factor_name, number
from kappagcn.run_folder import PARTS, Array, Embedded, SavedRun

__all__ = ["content"]

SIGHT = {"disk": "Poincaré disk", "sphere": "sphere", "plane": "plane"}
PURPOSES = {"train": "training", "stopping": "early stopping", "other": ""}


def content(run: SavedRun) -> dict[str, Any]:
    """The embedding, the curves and the histogram."""
    told = run.embedded
    labels = [
        f"{factor_name(float(k), int(dim))}, factor {place}" if len(told.dims) > 1 else factor_name(float(k), int(dim))
        for place, (k, dim) in enumerate(zip(told.curvatures, told.dims, strict=True), 1)
    ]
    return {"view": _view(told, labels), "curves": curves(run, labels), "histogram": _histogram(told)}


def _view(told: Embedded, labels: list[str]) -> dict[str, Any]:
    shown = shown_nodes(len(told.tangent))
    edges, among = edges_among(told.edges, shown, len(told.tangent))
    places, near, lengths = _near(told, shown)
    return {
        "nodes": len(told.tangent),
        "shown": len(shown),
        "edges": edges.ravel().tolist(),
        "edgesAmong": among,
        "edgesAll": len(told.edges),
        "names": [told.name(int(node)) for node in (*shown, *places)],
        "near": near.tolist(),
        "lengths": _rounded(lengths, 6),
        "factors": [
            _factor(told.tangent[:, part], k, label, shown)
            for (k, part), label in zip(told.factors, labels, strict=True)
        ],
        **_colours(told, shown),
        **_predictions(told, shown),
    }


def _near(told: Embedded, shown: Array) -> tuple[Array, Array, Array]:
    """Nodes that are not shown but near to one that is; neighbours as places in shown and those; distances."""
    near, lengths = nearest(told, shown)
    besides = np.setdiff1d(near, shown)
    place = np.zeros(len(told.tangent), np.int64)
    place[shown], place[besides] = np.arange(len(shown)), len(shown) + np.arange(len(besides))
    return besides, place[near], lengths


def _factor(v: Array, k: float, label: str, shown: Array) -> dict[str, Any]:
    seen = picture(v, k)
    return {
        "label": f"{label} · {SIGHT[seen.kind]}",
        "name": label,
        "kind": seen.kind,
        "curvature": number(k) if k else "0",
        "dim": v.shape[1],
        "share": seen.share,
        "points": _rounded(seen.points[shown].ravel(), 14),
    }


def _colours(told: Embedded, shown: Array) -> dict[str, Any]:
    """By class where there are any, otherwise by distance from the middle."""
    labels = told.labels
    if labels is None and told.probabilities is not None and told.probabilities.shape[1]:
        labels = told.probabilities.argmax(1)
    if labels is None:
        middle = central(told, shown)
        return {
            "central": int(np.searchsorted(shown, middle)),
            "depths": _rounded(distances_from(told, middle, shown), 6),
        }
    names = told.class_names if told.class_names is not None else np.arange(max(int(labels.max()) + 1, 0))
    return {"classes": [str(name) for name in names], "labels": labels[shown].tolist()}


def _predictions(told: Embedded, shown: Array) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if told.probabilities is not None and told.probabilities.shape[1]:
        some = told.probabilities[shown]
        found |= {"predicted": some.argmax(1).tolist(), "probabilities": _rounded(some.max(1), 4)}
    if told.parts is not None:
        found["parts"] = told.parts[shown].tolist()
        found["purposes"] = [PURPOSES.get(part, part) for part in PARTS]
    return found


def _histogram(told: Embedded) -> dict[str, Any] | None:
    if told.ratio_counts is None or told.ratio_edges is None or not told.ratio_counts.sum():
        return None
    return {"borders": _rounded(told.ratio_edges, 6), "counts": told.ratio_counts.tolist()}


def _rounded(numbers: Array, digits: int) -> Any:
    """As lists of floats of so many digits."""
    if numbers.ndim > 1:
        return [_rounded(row, digits) for row in numbers]
    return [float(f"{value:.{digits}g}") for value in numbers.tolist()]
