"""Graphs from adjacency matrices, SciPy's or NumPy's."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import as_features, as_labels
from kappagcn.graphs.io.undirected import assemble


def from_scipy(matrix: Any, *, x: Any = None, y: Any = None, name: str = "graph", sparse: bool = False) -> Data:
    """A graph from an adjacency matrix.

    Args:
        matrix: Adjacency matrix, sparse or dense, (N, N); its entries are weights.
        x: Features, (N, D).
        y: Labels, (N,).
        name: Name of the graph.
        sparse: Whether to keep features as a sparse tensor.

    >>> from_scipy(sp.eye_array(3, k=1)).edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    try:
        entries = sp.coo_array(matrix)
        if entries.dtype.kind not in "biuf":
            raise ValueError(f"entries of type {entries.dtype}")
    except (TypeError, ValueError) as error:
        raise GraphError(f"expected an adjacency matrix of numbers, found something else ({error}).") from None
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise GraphError(f"expected a square adjacency matrix, found shape {entries.shape}.")
    entries.eliminate_zeros()
    return assemble(
        entries.row,
        entries.col,
        entries.shape[0],
        weights=entries.data,
        directed=True,
        x=None if x is None else as_features(x, sparse=sparse),
        y=None if y is None else as_labels(y),
        name=name,
    )
