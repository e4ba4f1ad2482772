"""Arrays of an embedding for its run folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.embedding.run import EmbeddingRun
from kappagcn.graphs.io.node_data import from_tensor
from kappagcn.run_folder import Embedded

__all__ = ["arrays_of", "node_columns"]

Array = NDArray[Any]
MOST_COLUMNS = 32


def arrays_of(
    run: EmbeddingRun,
    dims: Sequence[int],
    curvatures: Sequence[float],
    tangent: Array,
    points: Array,
    histogram: tuple[Array, Array],
) -> Embedded:
    """Points, edges with their lengths, names, labels and the histogram of d/d_G."""
    data = run.data
    labels, names, weights = data.get("y"), data.get("class_names"), data.get("edge_weight")
    if labels is not None and names is None:
        names = range(int(labels.max()) + 1)
    first, second = data.edge_index.numpy()
    once = first < second
    lengths = None if weights is None else run.unit * weights.double().numpy()[once]
    if lengths is None and run.unit != 1:
        lengths = np.full(int(once.sum()), run.unit)
    return Embedded(
        tangent=tangent,
        points=points,
        dims=np.array(dims),
        curvatures=np.array(curvatures),
        edges=np.stack([first, second], 1)[once],
        lengths=lengths,
        names=_as_text(data.get("node_names")),
        labels=None if labels is None else labels.numpy(),
        class_names=_as_text(names),
        ratio_counts=histogram[0],
        ratio_edges=histogram[1],
        **node_columns(data),
    )


def node_columns(data: Data) -> dict[str, Array]:
    """Features of nodes by name, by which a report can colour nodes; empty if there are none or too many."""
    x = data.get("x")
    if x is None or not 0 < x.shape[1] <= MOST_COLUMNS:
        return {}
    columns = from_tensor(x)
    names = data.get("attr_names") or [f"feature {place}" for place in range(x.shape[1])]
    return {
        "columns": np.asarray(columns.toarray() if sp.issparse(columns) else columns, np.float32),
        "column_names": np.array([str(name) for name in names]),
    }


def _as_text(names: Any) -> Array | None:
    return None if names is None else np.array([str(name) for name in names])
