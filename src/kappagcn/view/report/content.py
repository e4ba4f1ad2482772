"""Data of a run for the page's script: the graph, its positions, and those in some epochs of training."""

from typing import Any

import numpy as np

from kappagcn.run_folder import PARTS, Array, Embedded, SavedRun, factor_name, principal
from kappagcn.view.centre import CLOSE, central_node, nodes_near
from kappagcn.view.curves import curves
from kappagcn.view.film import Film, read_film
from kappagcn.view.palette import COLOURS, SHAPES
from kappagcn.view.report.colouring import class_names, colourings, predictions
from kappagcn.view.report.encoded import encoded, quantised, whole
from kappagcn.view.report.words import number

MOST_NODES, MOST_EDGES = 20000, 60000
EXACT_NUMBERS = 250_000  # numbers of tangent vectors kept in float64; more would make a page of many megabytes
SEED = 20200713  # the same edges every time
ROLES = {"train": "training", "stopping": "early stopping", "other": ""}


def content(run: SavedRun) -> dict[str, Any]:
    """The embedding, the curves and the histogram of d/d_G."""
    embedded = run.embedded
    labels = factor_labels(embedded)
    histogram, counts = None, embedded.ratio_counts
    if counts is not None and embedded.ratio_edges is not None and counts.sum():
        borders = [float(f"{border:.6g}") for border in embedded.ratio_edges.tolist()]
        histogram = {"borders": borders, "counts": counts.tolist()}
    return {
        "palette": {"colours": COLOURS, "shapes": SHAPES},
        "view": graph_view(embedded) | {"runs": [run_view(run, shown_nodes(embedded)[0])]},
        "curves": curves(run, labels),
        "histogram": histogram,
    }


def factor_labels(embedded: Embedded) -> list[str]:
    """Name of each factor, numbered where there are several."""
    labels = [factor_name(float(k), int(dim)) for k, dim in zip(embedded.curvatures, embedded.dims, strict=True)]
    return labels if len(labels) == 1 else [f"{label}, factor {place}" for place, label in enumerate(labels, 1)]


def shown_nodes(embedded: Embedded) -> tuple[Array, int]:
    """The nodes that are drawn, in order, and the most central node."""
    nodes = len(embedded.tangent)
    centre = central_node(embedded.edges, nodes)
    return nodes_near(embedded.edges, nodes, centre, MOST_NODES), centre


def graph_view(embedded: Embedded) -> dict[str, Any]:
    """The graph and the data of its nodes that do not depend on their positions."""
    shown, centre = shown_nodes(embedded)
    nodes = len(embedded.tangent)
    chosen, edges = edges_among(embedded.edges, shown, nodes)
    among = len(edges)
    drawn = _thinned(among)
    lengths = None if embedded.lengths is None else encoded(embedded.lengths[chosen][drawn], "f4")
    return {
        "nodes": nodes,
        "shown": len(shown),
        "edges": whole(edges[drawn].ravel()),
        "lengths": lengths,
        "edgesAmong": among,
        "edgesAll": len(embedded.edges),
        "names": [embedded.name(int(node)) for node in shown],
        "central": embedded.name(centre),
        "closeUp": CLOSE,
        "colourings": colourings(embedded, shown, centre),
        **_predictions(embedded, shown),
    }


def run_view(run: SavedRun, shown: Array) -> dict[str, Any]:
    """Positions of the nodes in one run: its factors, each with the directions that its picture shows."""
    embedded = run.embedded
    exact = len(shown) * embedded.tangent.shape[1] <= EXACT_NUMBERS
    factors = [
        _factor(embedded.tangent[:, columns], k, label, shown, exact=exact)
        for (k, columns), label in zip(embedded.factors, factor_labels(embedded), strict=True)
    ]
    return {"name": run.path.resolve().name, "factors": factors, "film": film_view(run, shown)}


def _factor(v: Array, k: float, label: str, shown: Array, *, exact: bool) -> dict[str, Any]:
    axes, share = (np.eye(v.shape[1]), 1.0) if v.shape[1] <= 2 else principal(v.astype(np.float64))
    return {
        "name": label,
        "k": k,
        "curvature": number(k) if k else "0",
        "dim": v.shape[1],
        "share": share,
        "axes": axes[:, :2].T.tolist(),
        "tangent": encoded(v[shown].ravel(), "f8" if exact else "f4"),
    }


def _predictions(embedded: Embedded, shown: Array) -> dict[str, Any]:
    """Class, prediction with its probability, and role of each node, for the text beside the mouse pointer."""
    values: dict[str, Any] = {"classes": class_names(embedded)}
    if embedded.labels is not None:
        values["labels"] = encoded(embedded.labels[shown], "i4")
    guesses = predictions(embedded)
    if guesses is not None and embedded.probabilities is not None:
        values["predicted"] = encoded(guesses[shown], "i4")
        values["probabilities"] = encoded(embedded.probabilities[shown].max(1), "f4")
    if embedded.parts is not None:
        values["parts"] = encoded(embedded.parts[shown], "u2")
        values["roles"] = [ROLES.get(part, part) for part in PARTS]
    return values


def _thinned(count: int) -> Array:
    """Sorted indices of all edges, or of as many as a page can hold, drawn with a fixed seed."""
    if count <= MOST_EDGES:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, MOST_EDGES, replace=False))


def edges_among(edges: Array, shown: Array, nodes: int) -> tuple[Array, Array]:
    """Mask of the edges between two shown nodes, (E,), and those edges as positions among the nodes, (E', 2).

    >>> edges_among(np.array([[0, 2], [1, 2]]), np.array([0, 2]), 3)[1].tolist()
    [[0, 1]]
    """
    position = np.full(nodes, -1)
    position[shown] = np.arange(len(shown))
    both = position[edges.reshape(-1, 2).astype(np.int64)]
    chosen = (both >= 0).all(1) & (both[:, 0] != both[:, 1])
    return chosen, both[chosen]


MOST_NUMBERS = 300_000  # most numbers in the frames of a page
OBJECTIVES = {"relative": "D_avg", "stress": "stress", "neighbours": "ranking loss"}


def film_view(run: SavedRun, shown: Array) -> dict[str, Any] | None:
    """Frames of training in the directions that the pictures show; None for a run without frames."""
    film = read_film(run)
    if film is None:
        return None
    numbers = 3 * len(film.epochs) * len(shown) * len(run.embedded.dims)
    film = film.every(-(-numbers // MOST_NUMBERS))
    values = [None if not np.isfinite(value) else float(f"{value:.5g}") for value in film.values.tolist()]
    return {
        "epochs": film.epochs.tolist(),
        "values": values,
        "objective": OBJECTIVES.get(str(run.summary.get("objective")), "distortion"),
        "curvatures": [[float(f"{k:.6g}") for k in row] for row in film.curvatures.tolist()],
        "factors": [_frames(parts[:, shown]) for parts in shown_parts(film, run.embedded)],
    }


def _frames(parts: Array) -> dict[str, object]:
    """Two coordinates and the length of the remaining ones, (T, N, 3), which is left out if it is 0."""
    lengths = np.concatenate([parts[..., :2], np.sqrt(parts[..., 2:])], axis=-1)
    kept = lengths if lengths[..., 2].any() else lengths[..., :2]
    return {"width": kept.shape[-1], **quantised(kept.reshape(len(kept), -1))}


def shown_parts(film: Film, embedded: Embedded) -> list[Array]:
    """Two coordinates of each factor along the result's directions, and the squared length of the rest, (T, N, 3)."""
    factors = []
    for _, columns in embedded.factors:
        final = embedded.tangent[:, columns].astype(np.float64)
        dim = final.shape[1]
        axes = np.eye(dim) if dim <= 2 else principal(final)[0]
        along = film.tangent[:, :, columns].astype(np.float64) @ axes
        parts = np.zeros((*along.shape[:2], 3))
        parts[..., : min(dim, 2)] = along[..., :2]
        parts[..., 2] = (along[..., 2:] ** 2).sum(-1)
        factors.append(parts)
    return factors
