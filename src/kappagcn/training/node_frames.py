"""Names of nodes, and results for nodes as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.errors import ConfigError
from kappagcn.graphs.io.node_table import WHOLE

__all__ = ["node_frame", "node_names"]

Array = NDArray[Any]


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
