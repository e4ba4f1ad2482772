"""Colourings of nodes: by class, prediction, mistake, role, and by numbers of each node such as its distortion."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from kappagcn.geometry.ambient import tangent_cdist
from kappagcn.run_folder import PARTS, Array, Embedded
from kappagcn.view.centre import adjacency, degrees, depths, node_numbers
from kappagcn.view.palette import short_names
from kappagcn.view.report.encoded import encoded

ROLES = {"other": "no role", "train": "training", "stopping": "early stopping"}
MOST_COLUMNS = 32


def colourings(embedded: Embedded, shown: Array, centre: int) -> list[dict[str, Any]]:
    """All colourings of the shown nodes; the page starts with the first.

    A colouring by groups has a title, names, counts over the whole graph and an index for each node, −1 for none; a
    colouring by numbers has a title, words for its ends, and a number for each node.
    """
    return [*_groups(embedded, shown), *_numbers(embedded, shown, centre)]


def _groups(embedded: Embedded, shown: Array) -> Iterator[dict[str, Any]]:
    labels, guesses = embedded.labels, predictions(embedded)
    labelled = labels is not None and bool((labels >= 0).any())
    names = class_names(embedded)
    if labels is not None and labelled:
        yield _group("class", "Class", names, labels, shown, none="no class")
    if guesses is not None:
        yield _group("prediction", "Predicted class", names, guesses, shown)
    if guesses is not None and labels is not None and labelled:
        right = np.where(labels < 0, -1, guesses != labels)
        yield _group("mistake", "Mistakes", ["right", "wrong"], right, shown, none="no class")
    if embedded.parts is not None:
        roles = [ROLES.get(part, part) for part in PARTS]
        yield _group("split", "Split", roles[1:], embedded.parts.astype(int) - 1, shown, none=roles[0])


def _group(
    key: str, title: str, names: Sequence[str], values: Array, shown: Array, none: str = "none"
) -> dict[str, Any]:
    counts = np.bincount(values[values >= 0].astype(int), minlength=len(names))
    short = short_names(names, 40) if key in ("class", "prediction") else list(names)
    return {
        "key": key,
        "title": title,
        "names": list(names),
        "short": short,
        "none": none,
        "counts": [*counts.tolist(), int((values < 0).sum())],
        "values": encoded(values[shown], "i4"),
    }


def _numbers(embedded: Embedded, shown: Array, centre: int) -> Iterator[dict[str, Any]]:
    nodes = len(embedded.tangent)
    middle = f"0: node {embedded.name(centre)[:24]}"
    depth = depths(embedded.edges, nodes, centre)
    by_steps = _number("depth", "Steps from the most central node", depth, shown, low=middle)
    by_degree = _number("degree", "Degree", degrees(embedded.edges, nodes), shown, scale="log")
    first, _ = node_numbers(embedded.edges, nodes, centre)
    yield from (by_steps, by_degree) if first == "depth" else (by_degree, by_steps)
    if len(embedded.edges):
        about = "Distortion of the node: mean of |d/d_G − 1|"
        yield _number("distortion", about, node_distortion(embedded), shown)
    if embedded.columns is not None and embedded.column_names is not None:
        for place, name in enumerate(embedded.column_names[:MOST_COLUMNS]):
            yield _number(f"column-{place}", str(name), embedded.columns[:, place].astype(float), shown)


def _number(
    key: str, title: str, values: Array, shown: Array, *, low: str = "", scale: str = "linear"
) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    ends = [float(known.min()), float(known.max())] if len(known) else [0.0, 0.0]
    return {
        "key": key,
        "title": title,
        "ends": ends,
        "low": low,
        "scale": scale,
        "values": encoded(np.where(np.isfinite(values), values, np.nan)[shown], "f4"),
    }


def predictions(embedded: Embedded) -> Array | None:
    """The most probable class of each node, (N,); None for a run without probabilities."""
    if embedded.probabilities is None or not embedded.probabilities.shape[1]:
        return None
    return np.asarray(embedded.probabilities.argmax(1))


def class_names(embedded: Embedded) -> list[str]:
    """Names of the classes, or their numbers."""
    if embedded.class_names is not None:
        return [str(name) for name in embedded.class_names]
    labels = embedded.labels
    return [str(number) for number in range(0 if labels is None else max(int(labels.max()) + 1, 0))]


MOST_OTHERS = 256  # nodes to which distances are compared
SEED = 20200713  # the same nodes every time


def node_distortion(embedded: Embedded) -> Array:
    """Mean of |d/d_G − 1| from each node to the others, or to 256 of them, (N,); NaN for a node without a path."""
    nodes = len(embedded.tangent)
    others = np.arange(nodes)
    if nodes > MOST_OTHERS:
        others = np.sort(np.random.default_rng(SEED).choice(nodes, MOST_OTHERS, replace=False))
    graph = adjacency(embedded.edges, nodes, embedded.lengths)
    total, count = np.zeros(nodes), np.zeros(nodes)
    for block in np.array_split(others, max(1, len(others) // 32)):
        paths = dijkstra(graph, directed=True, indices=block, unweighted=embedded.lengths is None)
        valid = np.isfinite(paths) & (paths > 0)
        ratios = _distances(embedded, block).numpy() / np.where(valid, paths, 1)
        total += np.where(valid, np.abs(ratios - 1), 0).sum(0)
        count += valid.sum(0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@torch.no_grad()
def _distances(embedded: Embedded, block: Array) -> Tensor:
    """Distances in the space of some nodes from all, (S, N)."""
    v = torch.as_tensor(embedded.tangent).double()
    total = torch.zeros(len(block), len(v), dtype=torch.float64)
    for k, part in embedded.factors:
        total += tangent_cdist(v[torch.as_tensor(block)][:, part], v[:, part], k=k) ** 2
    return total.sqrt()
