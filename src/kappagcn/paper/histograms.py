"""Degrees and curvatures of the paper's four datasets, counted once for its two figures of histograms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kappagcn.errors import CheckpointError
from kappagcn.graphs import largest_component, load_graph, parallelogram_curvature
from kappagcn.io_atomic import atomic_write
from kappagcn.paper.cells import DATASETS
from kappagcn.paper.machine import made_by

__all__ = ["graph_histograms", "histograms"]

BINS = 30  # bins per unit of curvature; 0, where many nodes are, is the middle of a bin
EXACT = 20_000  # nodes up to which the curvature is exact, as in `kappagcn.graphs.describe`
ANCHORS = 64
SEED = 0


def histograms(folder: Path, root: str | Path | None = None) -> Path:
    """The record ``folder/histograms.json``, which is made if it does not exist.

    Args:
        folder: Folder with the records.
        root: Folder in which datasets are looked for first.
    """
    path = folder / "histograms.json"
    if path.exists():
        return path
    record = {
        "datasets": {name: graph_histograms(load_graph(name, root=root)) for name in DATASETS},
        "seed": SEED,
        **made_by(),
    }
    try:
        with atomic_write(path) as file:
            file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
    except OSError as problem:
        raise CheckpointError(f"{path}: cannot be written ({problem.strerror}).") from None
    return path


def graph_histograms(data: Any) -> dict[str, Any]:
    """Histograms of degrees and curvatures of the nodes; curvatures are those of the largest component.

    Nodes outside it, and those with fewer than two neighbours, have no curvature and are counted as such.

    >>> from kappagcn.graphs import balanced_tree
    >>> counts = graph_histograms(balanced_tree(2, 3))
    >>> counts["degrees"], counts["curvature"]["none"]
    ({'1': 9, '3': 1, '4': 3}, 9)
    """
    degree = np.bincount(data.edge_index[0].numpy(), minlength=data.num_nodes)
    values, counts = np.unique(degree, return_counts=True)
    main = largest_component(data)
    anchors = None if main.num_nodes <= EXACT else ANCHORS
    curvature = parallelogram_curvature(main, anchors=anchors, seed=SEED)
    per_node = curvature.per_node.numpy()
    known = per_node[~np.isnan(per_node)]
    low, high = (np.rint(BINS * end) for end in (known.min(initial=0), known.max(initial=0)))
    nodes, edges = np.histogram(known, bins=(np.arange(low, high + 2) - 0.5) / BINS)
    return {
        "nodes": data.num_nodes,
        "edges": data.num_edges // 2,
        "degrees": {str(d): int(c) for d, c in zip(values, counts, strict=True)},
        "curvature": {
            "bins": [round(float(edge), 6) for edge in edges],
            "counts": nodes.tolist(),
            "none": data.num_nodes - len(known),
            "mean": round(curvature.mean, 6),
            "how": curvature.how,
        },
    }
