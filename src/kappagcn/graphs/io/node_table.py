"""Features and labels in files beside the graph.

CSV: the first column names the node, the others are its features, or the second its label; a heading may be above.
npz: ``x`` (or ``features``, ``attr_dense``, or ``attr_data`` … in CSR) and ``labels`` (or ``y``), row i for node i, or
for the node ``node_names[i]`` where that is there too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.edge_list import SEPARATORS, is_number, read_rows
from kappagcn.graphs.io.npz import read_arrays, read_csr, read_names
from kappagcn.graphs.io.undirected import as_labels

__all__ = ["NodeTable", "read_features", "read_labels"]

Array = NDArray[Any]
WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
MOST_CLASSES = 2**31  # checked against the number of nodes later


@dataclass(frozen=True)
class NodeTable:
    """Values per node: of nodes by name, or, where `names` is None, of nodes in order."""

    names: list[str] | None
    values: Any
    columns: list[str] | None = None


def read_features(path: str | Path, known: Collection[str] = ()) -> NodeTable:
    """Numbers per node, (N, D). A first line that names no `known` node, above one that does, is a heading."""
    path = Path(path)
    if path.suffix == ".npz":
        arrays = read_arrays(path)
        if "attr_data" in arrays:
            matrix = read_csr(arrays, "attr_", str(path))
            return NodeTable(_npz_names(arrays, matrix.shape[0], path), matrix)
        key = _first(arrays, ("x", "features", "attr_dense"), path)
        if arrays[key].ndim != 2 or arrays[key].dtype.kind not in "biuf":
            raise GraphFileError(f"{path}: expected {key} as numbers (nodes, features), found {arrays[key].shape}.")
        return NodeTable(_npz_names(arrays, len(arrays[key]), path), arrays[key])
    names, rows, heading = _table(path, known)
    try:
        values = np.array(rows, dtype=np.float32)
    except ValueError:
        where = next((i, cell) for i, row in enumerate(rows) for cell in row if not is_number(cell))
        raise GraphFileError(
            f"{path}: expected numbers as features, found {where[1][:40]!r} for node {names[where[0]]!r}."
        ) from None
    return NodeTable(names, values.reshape(len(names), -1), heading)


def read_labels(path: str | Path, known: Collection[str] = ()) -> NodeTable:
    """One label per node: integers as they are, anything else as text; an empty label is unknown."""
    path = Path(path)
    if path.suffix == ".npz":
        arrays = read_arrays(path)
        key = _first(arrays, ("labels", "y"), path)
        labels = arrays[key]
        if labels.ndim != 1 or labels.dtype.kind not in "biufUS":
            raise GraphFileError(
                f"{path}: expected {key} as one number or word per node, found {labels.dtype} of shape {labels.shape}."
            )
        if labels.dtype.kind == "S":
            labels = np.array(read_names(arrays, key, str(path)), dtype=np.str_)
        return NodeTable(_npz_names(arrays, len(labels), path), labels)
    names, rows, _ = _table(path, known)
    if any(len(row) != 1 for row in rows):
        raise GraphFileError(f"{path}: expected two columns, node and label, found {len(rows[0]) + 1}.")
    return NodeTable(names, np.array([row[0].strip() for row in rows], dtype=np.str_))


def _table(path: Path, known: Collection[str]) -> tuple[list[str], list[list[str]], list[str] | None]:
    try:
        with path.open("rb") as file:
            found = list(read_rows(file, path, _separator(file)))
    except OSError as error:
        raise GraphFileError(f"{path}: cannot be read ({error.strerror or error}).") from None
    if not found:
        raise GraphFileError(f"{path}: expected a line per node, found none.")
    width = len(found[0][1])
    for number, cells in found:
        if len(cells) != width:
            raise GraphFileError(f"{path}, line {number}: expected {width} columns, as above, found {len(cells)}.")
    if width < 2:
        raise GraphFileError(f"{path}: expected a node and at least one value per line, found one column.")
    heading = None
    if len(found) > 1 and _is_heading(found[0][1], found[1][1], known):
        heading = found.pop(0)[1][1:]
    names = [cells[0].strip() for _, cells in found]
    if "" in names:
        raise GraphFileError(f"{path}, line {found[names.index('')][0]}: expected a node, found an empty name.")
    _differ(names, str(path))
    return names, [cells[1:] for _, cells in found], heading


def _separator(file: BinaryIO) -> str | None:
    for line in file:
        if line.strip() and not line.lstrip().startswith((b"#", b"%")):
            return next((mark for mark in SEPARATORS if mark.encode() in line), None)
    return None


def _differ(names: list[str], what: str) -> None:
    if len(set(names)) != len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise GraphFileError(f"{what}: expected every node once, found {twice!r} twice.")


def _is_heading(first: list[str], second: list[str], known: Collection[str]) -> bool:
    name = first[0].strip()
    if name in known:
        return False
    usual = {"", "id", "node", "name", "node_id", "nodeid", "index"}
    return (
        name.lower() in usual
        or second[0].strip() in known
        or (not any(map(is_number, first)) and any(is_number(cell) for cell in second))
    )


def _first(arrays: dict[str, Array], keys: tuple[str, ...], path: Path) -> str:
    for key in keys:
        if key in arrays:
            return key
    raise GraphFileError(f"{path}: expected {' or '.join(keys)}, found {', '.join(sorted(arrays))}.")


def _npz_names(arrays: dict[str, Array], rows: int, path: Path) -> list[str] | None:
    if "node_names" not in arrays:
        return None
    if arrays["node_names"].dtype.kind in "iu":
        arrays = {"node_names": arrays["node_names"].astype(np.str_)}
    names = read_names(arrays, "node_names", str(path)) or []
    if len(names) != rows:
        raise GraphFileError(f"{path}: expected as many node_names as rows, found {len(names)} and {rows}.")
    _differ(names, str(path))
    return names


def place_features(table: NodeTable, places: dict[str, int], nodes: int, what: str) -> Any:
    """The features in the order of the graph's nodes; every node must have some."""
    order = _order(table, places, nodes, len(table.values) if not sp.issparse(table.values) else table.values.shape[0])
    missing = nodes - len(order)
    if missing:
        lacking = sorted(set(places) - set(table.names or ()))[:3]
        raise GraphFileError(
            f"{what}: expected features for all {nodes} nodes, found none for {missing} of them, such as {lacking}."
        )
    inverse = np.empty(nodes, np.int64)
    inverse[order] = np.arange(nodes)
    return table.values[inverse]


def _order(table: NodeTable, places: dict[str, int], nodes: int, rows: int) -> Array:
    if table.names is None:
        return np.arange(rows)
    return np.array([places[name] for name in table.names], np.int64)


def place_labels(table: NodeTable, places: dict[str, int], nodes: int) -> tuple[Array, list[str] | None]:
    """Class numbers in the order of the graph's nodes, −1 where there is none, and the classes' names."""
    numbers, names = _classes(table.values)
    found = np.full(nodes, -1, np.int64)
    found[_order(table, places, nodes, len(numbers))] = numbers
    return found, names


def _classes(values: Array) -> tuple[Array, list[str] | None]:
    if values.dtype.kind in "biuf":
        return as_labels(values, MOST_CLASSES).numpy(), None
    known = values != ""
    names = np.unique(values[known])
    if all(WHOLE.fullmatch(name) for name in names):
        numbers = np.full(len(values), -1, np.int64)
        numbers[known] = values[known].astype(np.int64)
        if not len(names) or numbers[known].min() <= 0:
            return numbers, None
        names = names[np.argsort(names.astype(np.int64), kind="stable")]  # numbered from elsewhere: names like others
        return np.where(known, np.searchsorted(names.astype(np.int64), numbers), -1), [str(name) for name in names]
    numbers = np.full(len(values), -1, np.int64)
    numbers[known] = np.searchsorted(names, values[known])
    return numbers, [str(name) for name in names]
