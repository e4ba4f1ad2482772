"""What the run folders of all tasks hold of a graph: its edges, the names of its nodes, few columns of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.graphs.io.node_data import from_tensor

__all__ = ["as_text", "graph_arrays", "node_columns"]

Array = NDArray[Any]
MOST_COLUMNS = 32


def graph_arrays(data: Data) -> dict[str, Any]:
    """Edges, each once, and names of nodes."""
    first, second = data.edge_index.numpy()
    return {"edges": np.stack([first, second], 1)[first < second], "names": as_text(data.get("node_names"))}


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


def as_text(names: Any) -> Array | None:
    """Names as an array of text; None for none."""
    return None if names is None else np.array([str(name) for name in names])
