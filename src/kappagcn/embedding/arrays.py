"""Arrays of an embedding for its run folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.embedding.run import EmbeddingRun
from kappagcn.run_folder import Embedded
from kappagcn.training.node_arrays import as_text, graph_arrays, node_columns

__all__ = ["arrays_of"]

Array = NDArray[Any]


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
    graph = graph_arrays(data)
    first, second = data.edge_index
    lengths = None if weights is None else run.unit * weights.double()[first < second].numpy()
    if lengths is None and run.unit != 1:
        lengths = np.full(len(graph["edges"]), run.unit)
    return Embedded(
        tangent=tangent,
        points=points,
        dims=np.array(dims),
        curvatures=np.array(curvatures),
        lengths=lengths,
        labels=None if labels is None else labels.numpy(),
        class_names=as_text(names),
        ratio_counts=histogram[0],
        ratio_edges=histogram[1],
        **graph,
        **node_columns(data),
    )
