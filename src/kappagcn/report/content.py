"""Numbers and words that the page's script draws."""

from typing import Any

import numpy as np

from kappagcn.report.curves import curves
from kappagcn.report.neighbours import central, distances_from, nearest
from kappagcn.report.projection import picture
from kappagcn.report.words import number
from kappagcn.run_folder import PARTS, Array, Embedded, SavedRun, factor_name

VIEWS = {"disk": "Poincaré disk", "sphere": "sphere", "plane": "plane"}
MOST_NODES, MOST_EDGES = 2000, 20000  # few enough to move smoothly
SEED = 20200713  # the same nodes every time
PURPOSES = {"train": "training", "stopping": "early stopping", "other": ""}


def content(run: SavedRun) -> dict[str, Any]:
    """The embedding, the curves and the histogram of d/d_G."""
    embedded = run.embedded
    labels = [factor_name(float(k), int(dim)) for k, dim in zip(embedded.curvatures, embedded.dims, strict=True)]
    if len(labels) > 1:
        labels = [f"{label}, factor {number}" for number, label in enumerate(labels, 1)]
    histogram, counts = None, embedded.ratio_counts
    if counts is not None and embedded.ratio_edges is not None and counts.sum():
        histogram = {"borders": _rounded(embedded.ratio_edges, 6), "counts": counts.tolist()}
    return {"view": _view(embedded, labels), "curves": curves(run, labels), "histogram": histogram}


def _view(embedded: Embedded, labels: list[str]) -> dict[str, Any]:
    shown = shown_nodes(len(embedded.tangent))
    edges, among = edges_among(embedded.edges, shown, len(embedded.tangent))
    near, lengths = nearest(embedded, shown)
    hidden = np.setdiff1d(near, shown)  # neighbours of shown nodes that are named only
    position = np.zeros(len(embedded.tangent), np.int64)
    position[shown], position[hidden] = np.arange(len(shown)), len(shown) + np.arange(len(hidden))
    return {
        "nodes": len(embedded.tangent),
        "shown": len(shown),
        "edges": edges.ravel().tolist(),
        "edgesAmong": among,
        "edgesAll": len(embedded.edges),
        "names": [embedded.name(int(node)) for node in (*shown, *hidden)],
        "near": position[near].tolist(),
        "lengths": _rounded(lengths, 6),
        "factors": [
            _factor(embedded.tangent[:, columns], k, label, shown)
            for (k, columns), label in zip(embedded.factors, labels, strict=True)
        ],
        **_colours(embedded, shown),
        **_predictions(embedded, shown),
    }


def _factor(v: Array, k: float, label: str, shown: Array) -> dict[str, Any]:
    seen = picture(v, k)
    return {
        "label": f"{label} · {VIEWS[seen.kind]}",
        "name": label,
        "kind": seen.kind,
        "curvature": number(k) if k else "0",
        "dim": v.shape[1],
        "share": seen.share,
        "points": _rounded(seen.points[shown].ravel(), 14),
    }


def _colours(embedded: Embedded, shown: Array) -> dict[str, Any]:
    """Classes where there are any, otherwise distances from the most central node."""
    labels, probabilities = embedded.labels, embedded.probabilities
    if labels is None and probabilities is not None and probabilities.shape[1]:
        labels = probabilities.argmax(1)
    if labels is None:
        middle = central(embedded, shown)
        depths = _rounded(distances_from(embedded, middle, shown), 6)
        return {"central": int(np.searchsorted(shown, middle)), "depths": depths}
    names = embedded.class_names if embedded.class_names is not None else np.arange(max(int(labels.max()) + 1, 0))
    return {"classes": [str(name) for name in names], "labels": labels[shown].tolist()}


def _predictions(embedded: Embedded, shown: Array) -> dict[str, Any]:
    predictions: dict[str, Any] = {}
    if embedded.probabilities is not None and embedded.probabilities.shape[1]:
        rows = embedded.probabilities[shown]
        predictions |= {"predicted": rows.argmax(1).tolist(), "probabilities": _rounded(rows.max(1), 4)}
    if embedded.parts is not None:
        predictions["parts"] = embedded.parts[shown].tolist()
        predictions["purposes"] = [PURPOSES.get(part, part) for part in PARTS]
    return predictions


def _rounded(numbers: Array, digits: int) -> Any:
    """Nested lists of floats with this many digits."""
    if numbers.ndim > 1:
        return [_rounded(row, digits) for row in numbers]
    return [float(f"{value:.{digits}g}") for value in numbers.tolist()]


def shown_nodes(nodes: int, most: int = MOST_NODES) -> Array:
    """All nodes, or `most` of them drawn with a fixed seed, in order.

    >>> shown_nodes(3).tolist(), len(shown_nodes(10, most=4))
    ([0, 1, 2], 4)
    """
    if nodes <= most:
        return np.arange(nodes)
    return np.sort(np.random.default_rng(SEED).choice(nodes, most, replace=False))


def edges_among(edges: Array, shown: Array, nodes: int, most: int = MOST_EDGES) -> tuple[Array, int]:
    """At most `most` edges between shown nodes, as positions among them, (E, 2); and the number of all such edges.

    >>> edges_among(np.array([[0, 2], [1, 2]]), np.array([0, 2]), 3)[0].tolist()
    [[0, 1]]
    """
    position = np.full(nodes, -1)
    position[shown] = np.arange(len(shown))
    both = position[edges.reshape(-1, 2).astype(np.int64)]
    both = both[(both >= 0).all(1) & (both[:, 0] != both[:, 1])]
    return both[shown_nodes(len(both), most)], len(both)
