"""Edge lists in delimited text files: one edge per line, two nodes and perhaps a weight.

- The first line is a heading if it names a source and a target column (``source``, ``src``, ``from``, … and ``target``,
  ``dst``, ``to``, …), or if it is text above numbers; the report says so.
- Without a heading there are two columns, or three with weights. With a heading, the columns it names are read, or the
  first two.
- Nodes named by integers are numbered in the order of these integers, all others in order of appearance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.delimited import DelimitedFile, Kind, is_number

__all__ = ["EdgeList", "read_edge_list"]

Array = NDArray[Any]
SOURCES = {"source", "src", "from", "start", "node1", "id1", "tail"}
TARGETS = {"target", "dst", "to", "end", "node2", "id2", "head", "dest", "destination"}
WEIGHTS = {"weight", "weights", "w", "value", "length"}
INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})(\.0*)?", re.ASCII)
EXPECTED: dict[Kind, str] = {"name": "two nodes", "number": "a number as weight"}


@dataclass(frozen=True)
class EdgeList:
    """Edges between numbered nodes.

    Attributes:
        rows: Source of each edge, (E,).
        cols: Target of each edge, (E,).
        weights: Weight of each edge, (E,), or None.
        names: Name of each node, (N,): an array of integers, or a list of text.
        notes: Remarks for the report.
    """

    rows: Array
    cols: Array
    weights: Array | None
    names: Array | list[str]
    notes: tuple[str, ...] = ()


def read_edge_list(path: str | Path, *, header: bool | None = None) -> EdgeList:
    """Read the edges in a text file.

    Args:
        path: Path of the file.
        header: Whether the first line is a heading; None to detect it.
    """
    import pyarrow

    file = DelimitedFile(path)
    if not file.head:
        raise GraphFileError(f"{path}: expected edges, one per line, found none.")
    number, cells = file.head[0]
    if header is None:
        header = _is_heading(cells, file.head[-1][1])
    if header and len(file.head) < 2:
        raise GraphFileError(f"{path}: expected edges below the heading, found none.")
    if len(cells) < 2:
        raise GraphFileError(
            f"{path}, line {number}: expected two nodes per line, separated by comma, tab, semicolon or blanks, "
            f"found {cells[0].strip()[:60]!r}."
        )
    if not header and len(cells) > 3:
        raise GraphFileError(
            f"{path}, line {number}: expected two columns, or three with weights, found {len(cells)}. "
            "Add a heading with source, target and weight."
        )
    source, target, weight = _named_columns(cells) if header else (0, 1, 2 if len(cells) == 3 else None)
    kinds: dict[int, Kind] = {source: "name", target: "name"}
    if weight is not None:
        kinds[weight] = "number"
    sources, targets, *more = file.columns(kinds, heading=header, words=EXPECTED)
    names, rows, cols = _number_nodes(sources, targets)
    del file, sources, targets
    pyarrow.default_memory_pool().release_unused()  # as much as the graph takes later
    notes = [f"heading: {', '.join(cell.strip() for cell in cells)}"] if header else []
    if not header and isinstance(names, list):
        notes.append("no heading")
    if unused := [cell.strip() for i, cell in enumerate(cells) if i not in kinds]:
        notes.append(f"columns not used: {', '.join(unused)}")
    return EdgeList(rows, cols, more[0] if more else None, names, tuple(notes))


def _is_heading(first: list[str], second: list[str]) -> bool:
    names = {cell.strip().lower() for cell in first}
    return bool(names & SOURCES and names & TARGETS) or (
        len(first) == len(second) > 1
        and not any(map(is_number, first))
        and (all(map(is_number, second[:2])) or any(map(is_number, second[2:])))
    )


def _named_columns(heading: list[str]) -> tuple[int, int, int | None]:
    """Positions of the source, target and weight columns under a heading."""
    names = [cell.strip().lower() for cell in heading]
    source = next((i for i, name in enumerate(names) if name in SOURCES), 0)
    target = next((i for i, name in enumerate(names) if name in TARGETS and i != source), 1 if source != 1 else 0)
    weight = next((i for i, name in enumerate(names) if name in WEIGHTS and i not in (source, target)), None)
    return source, target, weight


def _number_nodes(sources: Any, targets: Any) -> tuple[Array | list[str], Array, Array]:
    """Names of the nodes, and the position in them of each edge's source and target.

    Args:
        sources: Names of the sources, a pyarrow ``ChunkedArray`` of text, (E,).
        targets: Names of the targets, likewise.
    """
    import pyarrow as pa

    encoded = _as_integers(pa.chunked_array([*sources.chunks, *targets.chunks])).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    distinct = encoded.chunk(0).dictionary
    integers = distinct.to_numpy() if pa.types.is_integer(distinct.type) else _parse_integers(distinct.to_pylist())
    if integers is not None:
        names, positions = np.unique(integers, return_inverse=True)
        rows, cols = np.split(positions.astype(np.int32)[codes], 2)
        return names, rows, cols
    by_row = pa.array(codes.reshape(2, -1).T.reshape(-1)).dictionary_encode()  # numbered in order of appearance
    rows, cols = by_row.indices.to_numpy().reshape(-1, 2).T
    return distinct.take(by_row.dictionary).to_pylist(), rows, cols


def _as_integers(ends: Any) -> Any:
    """The names as int64 if all are integers in their usual form, otherwise the names."""
    import pyarrow as pa

    try:
        integers = ends.cast(pa.int64())
    except pa.ArrowInvalid:
        return ends
    return integers if integers.cast(pa.utf8()).equals(ends) else ends  # 007 is not the node 7


def _parse_integers(names: list[str]) -> Array | None:
    """The names as integers if all are integers or such as ``2.0`` and ``+2``, otherwise None."""
    if not all(map(INTEGER.fullmatch, names)):
        return None
    return np.array([int(name.partition(".")[0]) for name in names])
