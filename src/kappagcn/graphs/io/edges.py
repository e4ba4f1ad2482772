"""Edges, and pairs of nodes, as columns of a table: text files, Parquet, data frames, arrays and lists.

- The columns are those that are named by the caller, by well-known names (``source``, ``src``, ``from``, … and
  ``target``, ``dst``, ``to``, … and ``weight``, ``w``, …), or the first two. Without a heading there are two columns,
  or three with weights.
- Nodes that are all integers are numbered in the order of these integers, all others in order of appearance.
- A frame with as many rows as columns may be a matrix (see `matrix`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.headings import SOURCES, TARGETS
from kappagcn.graphs.io.matrix import Matrix, graph_of_matrix, matrix_of_table
from kappagcn.graphs.io.tables import (
    Table,
    as_integers,
    is_frame,
    node_ids,
    read_numbers,
    read_table,
    read_times,
    usual_ids,
)
from kappagcn.graphs.io.undirected import Array, assemble, node_id
from kappagcn.graphs.negatives import checked_pairs

__all__ = [
    "GAPS",
    "EdgeColumns",
    "EdgeList",
    "as_pairs",
    "edge_positions",
    "from_edges",
    "graph_of_edges",
    "read_edges",
    "read_pairs",
]

ROLES = ("source", "target", "weight", "time")
WEIGHTS = {"weight", "weights", "w", "value", "length"}
GAPS = 8  # most possible integers per edge for numbering by position; above it, names are looked up in a table


class EdgeColumns(NamedTuple):
    """Which columns of a table are edges, where the usual names do not say so.

    Attributes:
        source: Name of the column of sources.
        target: Name of the column of targets.
        weight: Name of the column of weights; None for the usual names, False for none.
        time: Name of the column of times; None for none.
        header: Whether a text file has a heading; None to detect it.
        matrix: Whether numbers are a matrix; None to detect it.
    """

    source: str | None = None
    target: str | None = None
    weight: str | bool | None = None
    time: str | None = None
    header: bool | None = None
    matrix: bool | None = None

    def names(self) -> list[str]:
        """The names that are given."""
        return [name for name in (self.source, self.target, self.weight, self.time) if isinstance(name, str)]


USUAL = EdgeColumns()


class Positions(NamedTuple):
    """Positions of the columns of edges in a table."""

    source: int
    target: int
    weight: int | None
    time: int | None


class EdgeList(NamedTuple):
    """E edges between N nodes; the names are an array of integers or a list of text, the notes are for the report."""

    rows: Array
    cols: Array
    weights: Array | None
    names: Array | list[str]
    notes: tuple[str, ...] = ()
    times: Array | None = None


def read_edges(source: Any, columns: EdgeColumns = USUAL) -> EdgeList | Matrix:
    """The edges, or the matrix, in a file, a data frame, or a list; see `tables.read_table`."""
    table = read_table(source, nodes=2, header=columns.header, names=columns.names(), expected="edges")
    may_be_matrix = isinstance(source, str | Path) or is_frame(source)
    matrix = matrix_of_table(table, columns.matrix) if may_be_matrix and not columns.names() else None
    return _edges_of_table(table, columns) if matrix is None else matrix


def _edges_of_table(table: Table, columns: EdgeColumns) -> EdgeList:
    """The edges in the columns of a table."""
    used = edge_positions(table, columns)
    sources, targets = (node_ids(table, i, "two nodes") for i in (used.source, used.target))
    if sources.type != targets.type:
        sources, targets = (column.cast(pa.utf8()) for column in (sources, targets))
    weights = None if used.weight is None else read_numbers(table, used.weight, "a number as weight")
    times = None if used.time is None else read_times(table, used.time)
    if len(sources) == 0:
        return EdgeList(np.empty(0, np.int64), np.empty(0, np.int64), weights, np.empty(0, np.int64), times=times)
    names, rows, cols = _number_nodes(sources, targets)
    pa.default_memory_pool().release_unused()  # as much as the graph takes later
    edges = EdgeList(rows, cols, weights, names, times=times)
    return edges._replace(notes=_notes(table, edges, used, columns))


def edge_positions(table: Table, columns: EdgeColumns = USUAL) -> Positions:
    """Which columns are sources, targets, weights and times: those that are named, those with usual names, the first.

    A column without a name under a heading is skipped.
    """
    if table.width < 2:
        raise GraphError(f"expected a column of sources and one of targets, found {table.width} columns.")
    if table.heading is None and table.width > 3 and not columns.names():
        raise GraphFileError(
            f"{table.place(0)}: expected two columns, or three with weights, found {table.width}. "
            "Add a heading with source, target and weight."
        )
    named = {role: table.position(name) for role, name in zip(ROLES, columns[:4], strict=True) if isinstance(name, str)}
    if named.get("source", -1) == named.get("target"):
        raise GraphError(f"expected different columns for sources and targets, found {columns.source!r} for both.")
    words = [cell.strip().lower() for cell in table.heading or ()]
    for role, usual in (("source", SOURCES), ("target", TARGETS)):
        match = next((i for i, word in enumerate(words) if word in usual and i not in named.values()), None)
        if match is not None:
            named.setdefault(role, match)
    rest = [i for i in range(table.width) if i not in named.values() and (not words or words[i])]
    rest += [i for i in range(table.width) if i not in named.values() and i not in rest]
    missing = [role for role in ("source", "target") if role not in named]
    weight = next((i for i in rest if words and words[i] in WEIGHTS), None)
    if weight is not None and len(rest) > len(missing):
        named.setdefault("weight", weight)
        rest.remove(weight)
    if len(rest) < len(missing):
        raise GraphError(f"expected a column of {' and one of '.join(missing)} beside {', '.join(columns.names())}.")
    for role in missing:
        named[role] = rest.pop(0)
    if table.heading is None and table.width == 3 and rest:
        named.setdefault("weight", rest[0])
    weight = None if columns.weight is False else named.get("weight")
    return Positions(named["source"], named["target"], weight, named.get("time"))


def _notes(table: Table, edges: EdgeList, used: Positions, columns: EdgeColumns) -> tuple[str, ...]:
    """What the report says of the columns."""
    if table.heading is None:
        third = edges.weights is not None and bool((edges.weights != 1).any())
        return ("no heading",) * isinstance(edges.names, list) + ("weights from the third column",) * third
    unused = [name for i, name in enumerate(table.heading) if name and i not in used]
    remedy = " (weights would be in a column weight, or named with --weight)"
    note = f"columns not used: {', '.join(unused)}" + remedy * (used.weight is None and columns.weight is None)
    return (f"heading: {', '.join(table.heading)}",) * table.of_text + (note,) * bool(unused)


def _number_nodes(sources: Any, targets: Any) -> tuple[Array | list[str], Array, Array]:
    """Names of the nodes, and the position in them of each source and target, from columns of text or integers."""
    if pa.types.is_integer(sources.type):
        numbered = _number_integers(sources.to_numpy(), targets.to_numpy())
        if numbered is not None:
            return numbered
    encoded = pa.chunked_array([*sources.chunks, *targets.chunks]).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    names = usual_ids(encoded.chunk(0).dictionary)
    del encoded
    if (integers := as_integers(names)) is not None:
        distinct, positions = np.unique(integers.to_numpy(), return_inverse=True)
        rows, cols = np.split(positions.astype(np.int32)[codes], 2)
        return distinct, rows, cols
    merged = names.dictionary_encode()  # two forms of one integer are one name
    names, codes = merged.dictionary, merged.indices.to_numpy()[codes]
    in_order = codes.reshape(2, -1).T.ravel()  # source and target of the first edge, of the second, …
    appearance = np.empty(len(names), np.int64)
    appearance[in_order[::-1]] = np.arange(len(in_order))[::-1]  # the last assignment remains: the first appearance
    order = np.argsort(appearance)
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    rows, cols = np.split(position[codes], 2)
    return names.take(pa.array(order)).to_pylist(), rows, cols


def _number_integers(sources: Array, targets: Array) -> tuple[Array, Array, Array] | None:
    """Integer nodes numbered in their order; None if most integers in their range do not occur."""
    low, high = (int(f([f(sources), f(targets)])) for f in (np.min, np.max))
    if not 0 <= high - low < max(GAPS * len(sources), 2**16):
        return None
    occurs = np.zeros(high - low + 1, bool)
    occurs[sources - low] = occurs[targets - low] = True
    names = np.flatnonzero(occurs) + low
    if len(names) == len(occurs):
        return names, (sources - low).astype(np.int32), (targets - low).astype(np.int32)
    position = np.cumsum(occurs, dtype=np.int32) - 1
    return names, position[sources - low], position[targets - low]


def from_edges(
    edges: Any,
    *,
    num_nodes: int | None = None,
    nodes: Sequence[str] = (),
    columns: EdgeColumns = USUAL,
    name: str = "graph",
) -> Data:
    """A graph from edges in memory.

    Args:
        edges: Pairs (u, v) or triples (u, v, weight) of integers or text in a list; an integer array (E, 2); an integer
            tensor (2, E), as PyG has it; or a data frame with a column each for source, target and perhaps weight.
        num_nodes: Number of nodes, numbered from 0, where some may have no edge; None: the nodes are those with edges.
        nodes: Names of further nodes, which have no edge.
        columns: Names of the columns of a frame, where the usual names do not say so.
        name: Name of the graph.

    >>> from_edges([("ann", "bob"), ("bob", "cem")]).node_names
    ['ann', 'bob', 'cem']
    """
    if isinstance(edges, torch.Tensor):
        edges = edges.detach().cpu().numpy()
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise GraphError(f"expected edges as a tensor (2, E), found shape {edges.shape}.")
        edges = edges.T
    if isinstance(edges, np.ndarray) and (edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iuUS"):
        raise GraphError(f"expected edges as integers (E, 2), found {edges.dtype} of shape {edges.shape}.")
    content = read_edges(edges, columns)
    if isinstance(content, EdgeList):
        return graph_of_edges(content, num_nodes, name, nodes)
    return graph_of_matrix(*content, name)


def graph_of_edges(edges: EdgeList, num_nodes: int | None, name: str, nodes: Sequence[str] = ()) -> Data:
    """The graph of numbered edges and further nodes; with `num_nodes`, names of nodes must be their numbers."""
    rows, cols = edges.rows, edges.cols
    names: Any = edges.names
    further = as_integers(pa.array(nodes, pa.utf8())) if nodes and isinstance(names, np.ndarray) else None
    if further is not None:
        every = np.union1d(names, further.to_numpy())
        positions = np.searchsorted(every, names)
        rows, cols, names = positions[rows], positions[cols], every
    elif nodes:
        names = [*map(str, names), *nodes]
    integers = isinstance(names, np.ndarray)
    count = len(names)
    if num_nodes is not None and integers and (not count or 0 <= names[0] <= names[-1] < num_nodes):
        rows, cols, names, count = names[rows], names[cols], np.arange(num_nodes), num_nodes
    numbered = integers and (count == 0 or (names[0] == 0 and names[-1] == count - 1))
    node_names = None if numbered else [str(node) for node in names]
    data = assemble(rows, cols, count, weights=edges.weights, notes=edges.notes, node_names=node_names, name=name)
    if edges.times is not None:
        data.edge_time = torch.from_numpy(_first_times(data, rows, cols, edges.times))
    return data


def _first_times(data: Data, rows: Array, cols: Array, times: Array) -> Array:
    """The earliest of the times at which each edge of a graph occurs among raw edges, in both directions, (E,)."""
    sources, targets = data.edge_index.numpy()
    keys = sources * data.num_nodes + targets  # sorted, as `assemble` sorts edges
    first = np.full(len(keys), np.inf)
    loops = rows == cols
    for u, v in ((rows[~loops], cols[~loops]), (cols[~loops], rows[~loops])):
        np.minimum.at(first, np.searchsorted(keys, u.astype(np.int64) * data.num_nodes + v), times[~loops])
    return first


class PairList(NamedTuple):
    """Pairs as numbers of nodes, (2, P), their table, and the position of a third column, where there is one."""

    pairs: Tensor
    table: Table
    third: int | None


def read_pairs(path: str | Path, index: dict[str, int], *, header: bool | None = None) -> PairList:
    """Read pairs of nodes.

    Args:
        path: File, with two or three columns.
        index: Number of each node by name, as `kappagcn.graphs.io.undirected.node_index` gives it.
        header: Whether the first line is a heading; None to detect it.

    Raises:
        GraphFileError: A line names a node that the graph does not have, or the first line may be a heading or not.
    """
    table = read_table(path, nodes=2, header=header, known=index, expected="pairs of nodes")
    if table.width not in (2, 3):
        raise GraphFileError(
            f"{table.place(0)}: expected two nodes per line, and perhaps a third column, found {table.width}."
        )
    source, target, *_ = edge_positions(table)
    ends = [usual_ids(node_ids(table, i, "two nodes")).to_pylist() for i in (source, target)]
    wrong = next(((row, n) for row, pair in enumerate(zip(*ends, strict=True)) for n in pair if n not in index), None)
    if wrong is not None:
        raise GraphFileError(
            f"{table.place(wrong[0])}: expected nodes of the graph, such as {next(iter(index))!r}, found {wrong[1]!r}."
        )
    numbers = torch.tensor([[index[name] for name in names] for names in ends])
    return PairList(numbers, table, 3 - source - target if table.width == 3 else None)


def as_pairs(pairs: object, index: dict[str, int], num_nodes: int) -> Tensor:
    """Pairs of nodes of any kind as numbers, (2, P): an array (P, 2) or (2, P) of numbers, or a list of pairs of names.

    An array of two pairs counts as (P, 2), one pair per row. A node paired with itself is refused.

    >>> as_pairs([("b", "a")], {"a": 0, "b": 1}, 2).tolist()
    [[1], [0]]
    """
    if isinstance(pairs, Sequence) and any(isinstance(end, str) for pair in pairs if _is_pair(pair) for end in pair):
        try:
            pairs = [[index[node_id(end)] for end in pair] for pair in pairs]
        except KeyError as unknown:
            raise GraphFileError(f"pairs: expected nodes of the graph, found {unknown}.") from None
    array = torch.as_tensor(pairs)
    return checked_pairs(array.t() if array.dim() == 2 and array.shape[1] == 2 else array, num_nodes)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, Sequence) and not isinstance(pair, str)
