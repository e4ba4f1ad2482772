"""Nodes in results: their names, a data frame of values for them, and the arrays of a graph that a run folder has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.errors import ConfigError
from kappagcn.graphs.io.node_data import from_tensor
from kappagcn.graphs.io.node_table import WHOLE

Array = NDArray[Any]
MOST_COLUMNS = 32


def node_names(data: Data) -> list[str] | None:
    """Names of a graph's nodes; None where they are numbered from 0.

    >>> node_names(Data(node_names=["ann", "bob"]))
    ['ann', 'bob']
    """
    names = data.get("node_names")
    return None if names is None else [str(name) for name in names]


def node_frame(names: Sequence[str] | None, rows: Array, columns: Sequence[Any], values: Sequence[Array]) -> Any:
    """A pandas data frame with a row for each node, and its index named "node".

    Args:
        names: Names of all nodes; None where they are numbered. Where all are integers the index has integers.
        rows: Numbers of the nodes to list, (S,).
        columns: Names of the columns.
        values: The columns, (S,) each.
    """
    nodes: Any = rows if names is None else [names[row] for row in rows]
    if names is not None and all(WHOLE.fullmatch(name) and str(int(name)) == name for name in names):
        nodes = [int(name) for name in nodes]
    arrays = [pa.array(nodes), *map(pa.array, values)]
    try:
        frame = pa.table(arrays, ["node", *map(str, range(len(values)))]).to_pandas().set_index("node")
    except ModuleNotFoundError:
        raise ConfigError(
            "as_frame: expected pandas, found it not installed. Install it, or use node_names_."
        ) from None
    frame.columns = list(columns)
    return frame


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
