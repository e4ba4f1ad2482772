"""Rows of data frames, Series and dicts, and the nodes that they belong to.

Nodes are named by the keys of a dict, a pandas index, or a column of a data frame. Rows without names, such as those of
a Series of polars or with pandas' default index, are accepted only where nodes have no names but numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kappagcn.errors import GraphError
from kappagcn.graphs.io.headings import NODES
from kappagcn.graphs.io.tables import arrow_table
from kappagcn.graphs.io.undirected import node_id

__all__ = ["NodeRows", "has_rows", "may_name_nodes", "names_by_row", "node_rows", "refuse_repeated", "row_of_each_node"]

Array = NDArray[Any]
SHOWN = 3  # nodes that a message names on each side
TIP = "Name the rows by the index, as in frame.set_index('id'), by a first column of nodes, or by the keys of a dict."


class NodeRows(NamedTuple):
    """Values of nodes.

    Attributes:
        names: The node of each row.
        table: The values, without a column that names the nodes.
        may_add: Whether rows may name nodes that have no edge. False where the names may be numbers of rows instead.
        column: Heading of the column that names the nodes, where one does.
    """

    names: list[str]
    table: pa.Table
    may_add: bool = True
    column: str | None = None


def has_rows(values: Any) -> bool:
    """Whether values are of a kind whose rows can name nodes: a dict, or a data frame or Series of any library.

    >>> has_rows({"ann": 1}), has_rows(pa.table({"node": ["ann"]})), has_rows([1]), has_rows(np.ones(3))
    (True, True, False, False)
    """
    protocols = ("iloc", "__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
    return isinstance(values, Mapping) or any(hasattr(values, name) for name in protocols)


def node_rows(
    values: Any, index: Mapping[str, int], role: str, *, rows_named: Mapping[Any, str] | None = None
) -> NodeRows:
    """The rows of values that `has_rows` accepts.

    Args:
        values: A dict, a data frame, or a Series.
        index: Number of each node of the graph by name; it tells which column names the nodes.
        role: Name of the argument, for messages.
        rows_named: `names_by_row` of a frame whose rows these are too, such as one that this column is from.

    >>> node_rows({"ann": "x", 7: None}, {"ann": 0, "7": 1}, "y").names
    ['ann', '7']
    """
    if isinstance(values, Mapping):
        rows = NodeRows([_name(key, role) for key in values], _table_of_dict(list(values.values()), role))
    elif _counts_rows(values):
        rows = _rows_of_table(_as_table(values), index, _row_labels(values), rows_named or {}, role)
    else:
        rows = NodeRows([_name(label, role) for label in _row_labels(values)], _as_table(values))
    refuse_repeated(rows.names, role)
    common = sum(name in index for name in rows.names)
    if not common or 2 * common < min(len(rows.names), len(index)):
        raise GraphError(
            f"{role}: expected rows named by nodes of the graph, such as {_first(index)}, found {_first(rows.names)} "
            f"({common:,} of {len(rows.names):,} are nodes). {TIP}"
        )
    return rows


def names_by_row(values: Any, rows: NodeRows) -> dict[Any, str]:
    """The node of each row of a frame by the row's label, if one of its columns names the nodes and no index does."""
    counting = not isinstance(values, Mapping) and _counts_rows(values)
    return dict(zip(_row_labels(values), rows.names, strict=True)) if counting else {}


def row_of_each_node(names: Sequence[str], index: Mapping[str, int], role: str, *, complete: bool) -> Array:
    """Number of the row of each node, −1 for a node without one, (N,).

    Args:
        names: The node of each row; each must be one of the graph.
        index: Number of each node by name.
        role: Name of the argument, for messages.
        complete: Whether every node must have a row.
    """
    unknown = [name for name in names if name not in index]
    if unknown:
        raise GraphError(
            f"{role}: expected nodes of the graph, such as {_first(index)}, found {len(unknown):,} other "
            f"{'node' if len(unknown) == 1 else 'nodes'}: {_first(unknown)}. Leave these rows out."
        )
    order = np.full(len(index), -1)
    order[[index[name] for name in names]] = np.arange(len(names))
    if complete and len(names) < len(index):
        named = set(names)
        missing = [name for name in index if name not in named]
        raise GraphError(
            f"{role}: expected a row for each of the {len(index):,} nodes, found none for {len(missing):,}: "
            f"{_first(missing)}. Add rows, whose values may be missing, or leave the edges of these nodes out."
        )
    return order


def refuse_repeated(names: Sequence[str], role: str) -> None:
    """Refuse two rows of one node."""
    if len(set(names)) < len(names):
        repeated, count = Counter(names).most_common(1)[0]
        raise GraphError(f"{role}: expected every node once, found {repeated!r} {count} times.")


def _counts_rows(values: Any) -> bool:
    """Whether rows have numbers instead of names: no index, or an index of integers without a heading."""
    index = values.index if hasattr(values, "iloc") else None
    return index is None or (index.name is None and getattr(index.dtype, "kind", "O") in "iu")


def _row_labels(values: Any) -> list[Any]:
    """The index of a pandas object, otherwise the numbers of the rows."""
    return list(values.index.tolist() if hasattr(values, "iloc") else range(_as_table(values).num_rows))


def _first(names: Iterable[str]) -> str:
    first = [repr(name) for name, _ in zip(names, range(SHOWN + 1), strict=False)]
    return ", ".join([*first[:SHOWN], *["…"] * (len(first) > SHOWN)]) or "none"


def _name(value: Any, role: str) -> str:
    """A node as it is named in a graph: 7.0 in a column of floats is the node 7."""
    if value is None or value != value:
        raise GraphError(f"{role}: expected a node for every row, found an empty name.")
    if isinstance(value, tuple):
        raise GraphError(f"{role}: expected one node for each row, found {value!r}. Reset other levels of the index.")
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return node_id(int(value) if whole else value)


def _as_table(values: Any) -> pa.Table:
    if hasattr(values, "iloc"):
        return arrow_table(values.to_frame(_heading(values)) if values.ndim == 1 else values)
    if not hasattr(values, "columns") and not hasattr(values, "__dataframe__"):
        return pa.table(
            {_heading(values): pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else values}
        )
    if hasattr(values, "__arrow_c_stream__"):
        return arrow_table(values)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(values)


def _heading(series: Any) -> str:
    return str(getattr(series, "name", None) or "")


def _table_of_dict(values: list[Any], role: str) -> pa.Table:
    """One column, or as many as the rows are long."""
    rows = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    rows = [None if isinstance(value, float) and math.isnan(value) else value for value in rows]
    try:
        if rows and isinstance(rows[0], list | tuple):
            return pa.table({f"x{k + 1}": pa.array(column) for k, column in enumerate(zip(*rows, strict=True))})
        return pa.table({"": pa.array(rows)})
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
        raise GraphError(f"{role}: expected values of one kind and length, found others ({error}).") from None


def _rows_of_table(
    table: pa.Table, index: Mapping[str, int], labels: list[Any], rows_named: Mapping[Any, str], role: str
) -> NodeRows:
    """The rows by the column that names nodes; without one by their labels, where nodes have no names but numbers."""
    for position in may_name_nodes(table.column_names):
        names = _column_names(table.column(position), index, role)
        if names is not None and table.num_columns > 1:
            return NodeRows(names, table.remove_column(position), column=table.column_names[position])
    default = labels == list(range(len(labels)))
    same_rows = len(labels) == len(rows_named) or not default  # of fewer rows a default index does not say which
    if rows_named and same_rows and all(label in rows_named for label in labels):
        return NodeRows([rows_named[label] for label in labels], table)
    if not default:
        return NodeRows(list(map(node_id, labels)), table, may_add=False)
    numbers = list(map(node_id, labels))
    if not index.keys() <= set(numbers):
        raise GraphError(
            f"{role}: expected rows named by nodes of the graph, such as {_first(index)}, found rows without names. "
            f"{TIP}"
        )
    return NodeRows(numbers, table)


def may_name_nodes(headings: Sequence[str]) -> list[int]:
    """Positions of columns that may name nodes: those with a usual heading, and the first."""
    lower = [name.strip().lower() for name in headings]
    usual = [i for i, name in enumerate(lower) if name in NODES - {""} or name.endswith(("_id", " id"))]
    return list(dict.fromkeys([*usual, *range(min(1, len(headings)))]))


def _column_names(column: pa.ChunkedArray, index: Mapping[str, int], role: str) -> list[str] | None:
    """A column as names of nodes; None if it does not hold different nodes, at least half of them of this graph."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    values = column.to_pylist() if text or pa.types.is_integer(kind) else []
    if None in values or len(set(values)) < max(len(values), 1):
        return None
    names = [_name(value, role) for value in values]
    common = sum(name in index for name in names)
    return names if common and 2 * common >= min(len(names), len(index)) else None
