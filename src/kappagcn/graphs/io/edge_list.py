"""Edge lists in delimited text files: one edge per line, two nodes and perhaps a weight.

- The first line is a heading if it names a source and a target column (``source``, ``src``, ``from``, … and ``target``,
  ``dst``, ``to``, …), or if it is text above numbers; the report says so.
- Without a heading there are two columns, or three with weights. With a heading, the columns it names are read, or the
  first two.
- Nodes named by integers are numbered in the order of these integers, all others in order of appearance.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.delimited import DelimitedFile, Kind, is_number
from kappagcn.graphs.io.undirected import Array

SOURCES = {"source", "src", "from", "start", "node1", "id1", "tail", "sender", "follower", "parent", "citing"}
SOURCES |= {"user", "quelle", "von", "origen", "origine", "fonte", "bron", "van"}
TARGETS = {"target", "dst", "to", "end", "node2", "id2", "head", "dest", "destination", "receiver", "followee", "child"}
TARGETS |= {"cited", "item", "ziel", "nach", "zu", "destino", "cible", "destinazione", "doel", "naar"}
WEIGHTS = {"weight", "weights", "w", "value", "length"}
INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})(\.0*)?", re.ASCII)
GAPS = 8  # most possible integers per edge for numbering by position; above it, names are looked up in a table
LEAST = 4  # fewest edges for which names that occur in the first line only are mentioned in the report
EXPECTED: dict[Kind, str] = {"name": "two nodes", "number": "a number as weight"}


class EdgeList(NamedTuple):
    """E edges between N nodes; the names are an array of integers or a list of text, the notes are for the report."""

    rows: Array
    cols: Array
    weights: Array | None
    names: Array | list[str]
    notes: tuple[str, ...] = ()


def read_edge_list(path: str | Path | DelimitedFile, *, header: bool | None = None) -> EdgeList:
    """Read the edges in a text file; `header` says whether its first line is a heading, None to detect it."""
    file = path if isinstance(path, DelimitedFile) else DelimitedFile(path)
    path = file.path
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
    source, target, weight = named_columns(cells) if header else (0, 1, 2 if len(cells) == 3 else None)
    kinds: dict[int, Kind] = {source: "name", target: "name"}
    if weight is not None:
        kinds[weight] = "number"
    integers = file.integer_columns(heading=header) if len(cells) == 2 else None
    if integers is None:
        sources, targets, *weights = file.columns(kinds, heading=header, words=EXPECTED)
    else:
        (sources, targets), weights = (integers[source], integers[target]), []
    names, rows, cols = number_nodes(sources, targets)
    del file, sources, targets, integers
    pa.default_memory_pool().release_unused()  # as much as the graph takes later
    notes = [f"heading: {', '.join(cell.strip() for cell in cells)}"] if header else []
    if not header and isinstance(names, list):
        notes.append(_without_heading(cells, rows, cols))
    if not header and weights and (np.asarray(weights[0]) != 1).any():
        notes.append("weights from the third column")
    notes += note_of_unused([cell.strip() for i, cell in enumerate(cells) if i not in kinds], weight)
    return EdgeList(rows, cols, weights[0] if weights else None, names, tuple(notes))


def note_of_unused(columns: list[str], weight: int | None) -> list[str]:
    """Report of columns that are not read; without a weight column also the name that it should have."""
    if not (named := [column for column in columns if column]):
        return []
    return [f"columns not used: {', '.join(named)}" + " (weights would be in a column weight)" * (weight is None)]


def _without_heading(first: list[str], rows: Array, cols: Array) -> str:
    """Report of a first line of names that was read as an edge."""
    again = np.isin(rows[1:], (rows[0], cols[0])).any() or np.isin(cols[1:], (rows[0], cols[0])).any()
    if again or len(rows) < LEAST:
        return "no heading"
    line = ", ".join(cell.strip() for cell in first)
    return f"no heading: the first line ({line}) is read as an edge, though its names occur nowhere else; see --header"


def names_ends(heading: list[str]) -> bool:
    """Whether a heading names a source and a target column."""
    names = {cell.strip().lower() for cell in heading}
    return bool(names & SOURCES and names & TARGETS)


def _is_heading(first: list[str], second: list[str]) -> bool:
    return names_ends(first) or (
        len(first) == len(second) > 1
        and not any(map(is_number, first))
        and (all(map(is_number, second[:2])) or any(map(is_number, second[2:])))
    )


def named_columns(heading: list[str]) -> tuple[int, int, int | None]:
    """Positions of the source, target and weight columns under a heading."""
    names = [cell.strip().lower() for cell in heading]
    source = next((i for i, name in enumerate(names) if name in SOURCES), 0)
    target = next((i for i, name in enumerate(names) if name in TARGETS and i != source), 1 if source != 1 else 0)
    weight = next((i for i, name in enumerate(names) if name in WEIGHTS and i not in (source, target)), None)
    return source, target, weight


def number_nodes(sources: Any, targets: Any) -> tuple[Array | list[str], Array, Array]:
    """Names of the nodes, and the position in them of each source and target, from columns of text or integers."""
    if pa.types.is_integer(sources.type) and pa.types.is_integer(targets.type):
        numbered = _number_integers(sources.to_numpy(), targets.to_numpy())
        if numbered is not None:
            return numbered
    encoded = _as_integers(pa.chunked_array([*sources.chunks, *targets.chunks])).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    distinct = encoded.chunk(0).dictionary
    integers = None
    if pa.types.is_integer(distinct.type):
        integers = distinct.to_numpy()
    elif all(map(INTEGER.fullmatch, distinct.to_pylist())):  # such as 2.0 and +2
        integers = np.array([int(name.partition(".")[0]) for name in distinct.to_pylist()])
    if integers is not None:
        names, positions = np.unique(integers, return_inverse=True)
        rows, cols = np.split(positions.astype(np.int32)[codes], 2)
        return names, rows, cols
    del encoded
    rows, cols = np.split(codes, 2)
    appearance = np.full(len(distinct), 2 * len(rows))
    # In reverse order, because later assignments overwrite earlier ones: the first appearance remains.
    for column, offset in ((cols, 1), (rows, 0)):
        first = np.full(len(distinct), 2 * len(rows))
        first[column[::-1]] = np.arange(2 * len(rows) - 2 + offset, -1, -2)
        np.minimum(appearance, first, out=appearance)
    order = np.argsort(appearance)
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return distinct.take(pa.array(order)).to_pylist(), position[rows], position[cols]


def _number_integers(sources: Array, targets: Array) -> tuple[Array, Array, Array] | None:
    """Integer nodes numbered in their order; None if most integers in their range do not occur."""
    low, high = (int(f([f(sources), f(targets)])) for f in (np.min, np.max)) if len(sources) else (0, -1)
    if not 0 <= high - low < max(GAPS * len(sources), 2**16):
        return None
    occurs = np.zeros(high - low + 1, bool)
    occurs[sources - low] = occurs[targets - low] = True
    names = np.flatnonzero(occurs) + low
    if len(names) == len(occurs):
        return names, (sources - low).astype(np.int32), (targets - low).astype(np.int32)
    position = np.cumsum(occurs, dtype=np.int32) - 1
    return names, position[sources - low], position[targets - low]


def _as_integers(names: Any) -> Any:
    """The names as int64 if all are integers in their usual form, otherwise the names."""
    try:
        integers = names.cast(pa.int64())
    except pa.ArrowInvalid:
        return names
    return integers if integers.cast(pa.utf8()).equals(names) else names  # 007 is not the node 7
