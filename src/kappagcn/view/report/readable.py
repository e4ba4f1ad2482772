"""Checks of a run's files before anything is computed from them."""

import numpy as np

from kappagcn.errors import CheckpointError
from kappagcn.run_folder import PARTS, Array, SavedRun


def check_readable(run: SavedRun) -> None:
    """Refuse a run whose points, classes or epochs are not in the form that kappagcn writes."""
    embedded, borders, counts = run.embedded, run.embedded.ratio_edges, run.embedded.ratio_counts
    named = embedded.class_names is not None
    histogram = borders is None or counts is None or borders.shape == (counts.size + 1,)
    dims = _integers(embedded.dims) and embedded.dims.min(initial=1) >= 1
    contents = {
        "nodes": len(embedded.tangent) > 0,
        "finite points and curvatures": _finite(embedded.tangent, embedded.curvatures),
        "edges and dimensions as whole numbers": _integers(embedded.edges) and dims,
        "finite probabilities": _finite(embedded.probabilities),
        "labels that have a class name": not named or _within(embedded.labels, -1, len(embedded.class_names)),  # type: ignore[arg-type]
        f"parts from 0 to {len(PARTS) - 1}": _within(embedded.parts, 0, len(PARTS)),
        "one border more than bins of d/d_G": histogram and _finite(borders, counts),
    }
    for expected, present in contents.items():
        if not present:
            raise CheckpointError(f"{run.path / 'embedding.npz'}: expected {expected}, found others or none.")
    if not all(isinstance(line, dict) for line in run.metrics):
        raise CheckpointError(f"{run.path / 'metrics.jsonl'}: expected one record per line, found other values.")


def _finite(*arrays: Array | None) -> bool:
    return all(array is None or (array.dtype.kind in "iuf" and bool(np.isfinite(array).all())) for array in arrays)


def _integers(array: Array) -> bool:
    return array.dtype.kind in "iu" or not array.size


def _within(array: Array | None, low: int, high: int) -> bool:
    """Whether an array has only integers from low to high − 1, or is empty or missing."""
    if array is None or not array.size:
        return True
    return _integers(array) and low <= int(array.min()) and int(array.max()) < high
