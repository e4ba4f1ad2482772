"""Whether the first row of a table is a heading: one rule for edges, nodes and pairs, which refuses a doubt.

In this order:

1. A row that has well-known names (``source`` and ``target``, ``node``, ``label``, …) is a heading.
2. A row with a number, with a node of the graph, or with a name that occurs again as a node, is none; neither is any
   where no row names a node of the graph. But names above four columns or more, all but the first of numbers, are the
   heading of a matrix, also if its rows have the same names.
3. A row of words above numbers, or above names that all have digits where it has none, is a heading.
4. Above edges, a row whose two names never occur again is a heading if no other row is like that. Above nodes, a row
   whose values never occur again is one if all other values of a column do.
5. All else is a doubt, and an error that says how to settle it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kappagcn.graphs.io.text import is_number

__all__ = ["MISSING_LABELS", "NODES", "SOURCES", "TARGETS", "is_heading", "names_ends"]

SOURCES = {"source", "src", "from", "start", "node1", "id1", "tail", "sender", "follower", "parent", "citing"}
SOURCES |= {"user", "quelle", "von", "origen", "origine", "fonte", "bron", "van"}
TARGETS = {"target", "dst", "to", "end", "node2", "id2", "head", "dest", "destination", "receiver", "followee", "child"}
TARGETS |= {"cited", "item", "ziel", "nach", "zu", "destino", "cible", "destinazione", "doel", "naar"}
NODES = {"", "id", "node", "name", "node_id", "nodeid", "index", "person", "user", "user_id", "customer", "customer_id"}
IDS = {"id", "node", "node_id", "nodeid"}  # also where they are not first
LABELS = {"label", "labels", "class", "y", "category", "group", "part", "split"}
# As in pandas, and ?.
MISSING_LABELS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?")
SAMPLE = 1000  # rows that show whether a column holds numbers
LEAST_MATRIX = 4  # fewest columns of a matrix with names
LEAST_EDGES, LEAST_NODES = 3, 10  # fewest rows that can show that a name occurs only in the first


def names_ends(heading: Sequence[str]) -> bool:
    """Whether a heading names a source and a target column."""
    names = {cell.lower() for cell in heading}
    return bool(names & SOURCES and names & TARGETS)


def is_heading(first: Sequence[str], rest: pa.Table, nodes: int, known: Collection[str] = ()) -> bool | None:
    """Whether the first row of a table is a heading; None in doubt.

    Args:
        first: Cells of the first row.
        rest: The rows below, columns of text.
        nodes: Number of columns with nodes, the first ones: 2 for edges and pairs, 1 for tables of nodes.
        known: Names of the nodes, where the graph is known.

    >>> is_heading(["payer", "payee"], pa.table({"0": ["7", "8"], "1": ["8", "9"]}), 2)
    True
    """
    words = [cell.lower() for cell in first]
    ends, values = first[:nodes], range(nodes, len(first))
    if names_ends(words) if nodes == 2 else _names_nodes(words, known):
        return True
    if any(is_number(cell) for cell in first) or any(name in known for name in ends):
        return False
    columns = rest.columns
    ids = columns[:nodes]
    if rest.num_rows == 0 or (known and not any(name in known for name in ids[0].to_pylist())):
        return False  # names of another graph: the reader says so
    if len(first) >= LEAST_MATRIX and all(map(_are_numbers, columns[1:])):
        return True
    if any(_occurs(name, column) for name in ends for column in ids):
        return False
    if any(cell and _are_numbers(column) for cell, column in zip(first, columns, strict=True)) or "" in ends:
        return True
    if any(not _has_digit(cell) and _all_have_digits(column) for cell, column in zip(ends, ids, strict=True)):
        return True
    if any(_occurs(first[i], columns[i]) for i in values):
        return False
    if nodes == 2:
        return True if not known and rest.num_rows >= LEAST_EDGES and not _has_isolated_pair(*ids) else None
    repeated = any(min(pc.value_counts(columns[i]).field("counts").to_pylist()) > 1 for i in values)
    return True if rest.num_rows >= LEAST_NODES and repeated else None


def _names_nodes(words: Sequence[str], known: Collection[str]) -> bool:
    """Whether a heading names a column of nodes or of labels; a word that is a node of the graph says nothing."""
    usual = {word for word in NODES if word not in known}
    return words[0] in usual or words[1] in LABELS or bool(usual & IDS & set(words))


def _occurs(name: str, column: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.equal(column, name)).as_py())


def _are_numbers(column: pa.ChunkedArray) -> bool:
    cells = [cell for cell in column.slice(0, SAMPLE).to_pylist() if cell not in MISSING_LABELS]
    return bool(cells) and all(map(is_number, cells))


def _has_digit(name: str) -> bool:
    return any(mark.isdigit() for mark in name)


def _all_have_digits(column: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.match_substring_regex(column, "[0-9]")).as_py())


def _has_isolated_pair(sources: pa.ChunkedArray, targets: pa.ChunkedArray) -> bool:
    """Whether two nodes occur in one row only, with one another."""
    encoded = pa.chunked_array([*sources.chunks, *targets.chunks]).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    once = np.bincount(codes)[codes] == 1
    return bool((once[: len(sources)] & once[len(sources) :]).any())
