"""Edges in memory: lists of pairs, arrays, and data frames of pandas, polars and pyarrow.

Columns of a frame are found by name as those of a text file are (see `edge_list`): a source, a target, perhaps a
weight; or the first two. A frame with as many rows as columns, all numbers, is a matrix (see `matrix`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.edge_list import EdgeList, named_columns, names_ends, note_of_unused, number_nodes
from kappagcn.graphs.io.matrix import LEAST_COLUMNS, graph_of_matrix
from kappagcn.graphs.io.undirected import Array, assemble, name_source_in_errors

__all__ = ["edges_of_table", "from_edges", "is_frame", "read_parquet"]


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame of pandas, polars or pyarrow."""
    return isinstance(value, pa.Table) or (hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__"))


def from_edges(edges: Any, *, num_nodes: int | None = None, name: str = "graph") -> Data:
    """A graph from edges in memory.

    Args:
        edges: Pairs (u, v) or triples (u, v, weight) of integers or text in a list; an integer array (E, 2); an integer
            tensor (2, E), as PyG has it; or a data frame with a column each for source, target and perhaps weight.
        num_nodes: Number of nodes, numbered from 0, where some may have no edge; None: the nodes are those with edges.
        name: Name of the graph.

    >>> from_edges([("ann", "bob"), ("bob", "cem")]).node_names
    ['ann', 'bob', 'cem']
    """
    if is_frame(edges):
        table = _table(edges)
        if _is_matrix(table):
            matrix = np.stack([column.to_numpy() for column in table.columns], axis=1)
            names = None if table.column_names == [str(i) for i in range(len(matrix))] else table.column_names
            return graph_of_matrix(matrix, names, name)
        return graph_of_edges(edges_of_table(table), num_nodes, name)
    if isinstance(edges, torch.Tensor):
        edges = edges.detach().cpu().numpy()
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise GraphError(f"expected edges as a tensor (2, E), found shape {edges.shape}.")
        edges = edges.T
    return graph_of_edges(edges_of_table(_table_of_pairs(edges)), num_nodes, name)


def graph_of_edges(edges: EdgeList, num_nodes: int | None, name: str) -> Data:
    """The graph of numbered edges; with `num_nodes`, names of nodes must be their numbers."""
    rows, cols = edges.rows, edges.cols
    names: Any = edges.names
    integers = isinstance(names, np.ndarray)
    count = len(names)
    if num_nodes is not None and integers and count and 0 <= names[0] <= names[-1] < num_nodes:
        rows, cols, names, count = names[rows], names[cols], np.arange(num_nodes), num_nodes
    numbered = isinstance(names, np.ndarray) and (count == 0 or (names[0] == 0 and names[-1] == count - 1))
    node_names = None if numbered else [str(each) for each in names]
    notes = edges.notes
    return assemble(rows, cols, count, weights=edges.weights, notes=notes, node_names=node_names, name=name)


def edges_of_table(table: Any) -> EdgeList:
    """The edges in the columns of a pyarrow table."""
    headings = [str(column) for column in table.column_names]
    if len(headings) < 2:
        raise GraphError(f"expected a column of sources and one of targets, found {len(headings)} columns.")
    source, target, weight = named_columns(headings)
    sources, targets = (_nodes(table.column(i), headings[i]) for i in (source, target))
    if sources.type != targets.type:
        sources, targets = (column.cast(pa.utf8()) for column in (sources, targets))
    weights = None if weight is None else _weights(table.column(weight), headings[weight])
    if len(sources) == 0:
        return EdgeList(np.empty(0, np.int64), np.empty(0, np.int64), weights, np.empty(0, np.int64))
    names, rows, cols = number_nodes(sources, targets)
    unused = [heading for i, heading in enumerate(headings) if i not in (source, target, weight)]
    return EdgeList(rows, cols, weights, names, tuple(note_of_unused(unused, weight)))


def read_parquet(path: Path) -> EdgeList:
    """The edges in a Parquet file."""
    from pyarrow import parquet

    with name_source_in_errors(path, "a Parquet file"):
        table = parquet.read_table(path)
    with name_source_in_errors(path):
        return edges_of_table(table)


def _table(frame: Any) -> Any:
    try:
        if isinstance(frame, pa.Table):
            return frame
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
        raise GraphError(f"expected columns of integers, numbers or text, found others ({error}).") from None


def _is_matrix(table: Any) -> bool:
    numbers = all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in table.schema.types)
    square = table.num_rows == table.num_columns >= LEAST_COLUMNS
    return square and numbers and not names_ends(table.column_names)


def _table_of_pairs(edges: Any) -> Any:
    """A table with the columns source, target and perhaps weight from pairs or triples."""
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iuUS":
            raise GraphError(f"expected edges as integers (E, 2), found {edges.dtype} of shape {edges.shape}.")
        return pa.table({"source": pa.array(edges[:, 0]), "target": pa.array(edges[:, 1])})
    pairs = list(edges)
    wrong = next((i for i, pair in enumerate(pairs) if not _is_pair(pair) or len(pair) != len(pairs[0])), None)
    if wrong is not None:
        raise GraphError(
            "expected edges as pairs (u, v) or all as triples (u, v, weight), "
            f"found {pairs[wrong]!r:.60} at edge {wrong}."
        )
    columns = list(zip(*pairs, strict=True)) or [(), ()]
    headings = ("source", "target", "weight")[: len(columns)]
    try:
        return pa.table({h: pa.array(_plain(column)) for h, column in zip(headings, columns, strict=True)})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise GraphError(f"expected nodes that are all integers or all text, found others ({error}).") from None


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and 2 <= len(value) <= 3


def _plain(column: Sequence[Any]) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def _nodes(column: Any, heading: str) -> Any:
    if column.null_count:
        raise GraphError(f"expected a node in every row of {heading}, found {column.null_count:,} empty ones.")
    kind = column.type
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise GraphError(f"expected nodes as integers or text in {heading}, found fractions.") from None
    if pa.types.is_null(kind) and len(column) == 0:
        return column.cast(pa.int64())
    try:
        return column.cast(pa.utf8())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise GraphError(f"expected nodes as integers or text in {heading}, found {kind}.") from None


def _weights(column: Any, heading: str) -> Array:
    try:
        weights: Array = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise GraphError(f"expected numbers as weights in {heading}, found {column.type}.") from None
    return weights
