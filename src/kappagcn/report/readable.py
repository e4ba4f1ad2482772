"""Whether what a run's folder holds can be shown; said before anything is computed from it."""

from __future__ import annotations

import numpy as np

from kappagcn.errors import CheckpointError
from kappagcn.run_folder import PARTS, Array, Embedded, SavedRun

__all__ = ["demand_readable"]


def demand_readable(run: SavedRun) -> None:
    """Raise :class:`CheckpointError` where points, classes or epochs cannot be what kappagcn wrote."""
    told, points, epochs = run.embedded, run.path / "embedding.npz", run.path / "metrics.jsonl"
    if not len(told.tangent):
        raise CheckpointError(f"{points}: expected nodes, found none.")
    if not all(_finite(array) for array in (told.tangent, told.curvatures)):
        raise CheckpointError(f"{points}: expected finite points and curvatures, found others.")
    if not all(_integers(array) for array in (told.edges, told.dims)) or told.dims.min(initial=1) < 1:
        raise CheckpointError(f"{points}: expected edges and dimensions as whole numbers, found others.")
    if told.probabilities is not None and not _finite(told.probabilities):
        raise CheckpointError(f"{points}: expected finite probabilities, found others.")
    if told.class_names is not None and not _within(told.labels, -1, len(told.class_names)):
        raise CheckpointError(f"{points}: expected labels that have a class name, found others.")
    if not _within(told.parts, 0, len(PARTS)):
        raise CheckpointError(f"{points}: expected parts from 0 to {len(PARTS) - 1}, found others.")
    if not _histogram(told):
        raise CheckpointError(f"{points}: expected one border more than bins of d/d_G, found others.")
    if not all(isinstance(line, dict) for line in run.metrics):
        raise CheckpointError(f"{epochs}: expected one record per line, found other values.")


def _finite(array: Array) -> bool:
    return array.dtype.kind in "iuf" and bool(np.isfinite(array).all())


def _integers(array: Array) -> bool:
    return array.dtype.kind in "iu" or not array.size


def _within(array: Array | None, low: int, high: int) -> bool:
    """Whether whole numbers of low … high − 1, or nothing at all."""
    if array is None or not array.size:
        return True
    return _integers(array) and low <= int(array.min()) and int(array.max()) < high


def _histogram(told: Embedded) -> bool:
    borders, counts = told.ratio_edges, told.ratio_counts
    if borders is None or counts is None:
        return True
    return borders.shape == (counts.size + 1,) and _finite(borders) and _finite(counts)
