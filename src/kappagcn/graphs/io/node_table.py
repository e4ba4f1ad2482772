"""Features and labels of nodes in files beside the graph.

- Delimited text: the first column names the node; the others are its features, or the second is its label. A heading is
  optional.
- npz: ``x`` (or ``features``, ``attr_dense``, or ``attr_data`` … in CSR) and ``labels`` (or ``y``); row i belongs to
  node i, or to the node ``node_names[i]`` where the file has ``node_names``.
"""

import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.delimited import DelimitedFile, Kind, is_number
from kappagcn.graphs.io.node_data import as_labels
from kappagcn.graphs.io.npz import read_arrays, read_feature_matrix, read_names
from kappagcn.graphs.io.undirected import Array

HEADINGS = {"", "id", "node", "name", "node_id", "nodeid", "index"}  # usual headings of the first column
WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
MISSING_LABELS = (
    "",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "NaN",
    "nan",
    "NULL",
    "null",
    "None",
    "?",
)  # as in pandas, and ?
MAX_CLASSES = 2**31  # the graph's number of nodes is a stricter limit, checked later
EXPECTED: dict[Kind, str] = {"name": "a node", "number": "numbers as features"}
TIP = "Write a column of 0 and 1 for each word, and a number, such as the column's mean, where one is missing."


class NodeTable(NamedTuple):
    """Features or labels of nodes."""

    names: list[str] | None  # name of the node of each row; None where row i belongs to node i
    values: Any  # features (rows, D), dense or SciPy sparse, or labels (rows,)
    columns: list[str] | None = None  # names of the feature columns, where the file has them

    def positions(self, index: dict[str, int]) -> Array:
        """The node that each row belongs to, given the number of each name."""
        if self.names is None:
            return np.arange(self.values.shape[0])
        return np.array([index[name] for name in self.names], np.int64)


def read_features(path: Path, known: Collection[str] = ()) -> NodeTable:
    """Read numbers per node, (rows, D).

    Args:
        path: Path of the file.
        known: Names of the graph's nodes: a first line that names none of them, above one that does, is a heading.
    """
    if path.suffix != ".npz":
        names, columns, heading = _read_table(path, "number", known)
        return NodeTable(names, np.stack(columns, axis=1), heading)
    arrays = read_arrays(path)
    values = read_feature_matrix(arrays, str(path))
    if values is None:
        raise GraphFileError(f"{path}: expected x or features or attr_dense, found {', '.join(sorted(arrays))}.")
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise GraphFileError(f"{path}: expected features as numbers (nodes, features), found {values.shape}.")
    return NodeTable(_npz_names(arrays, values.shape[0], path), values)


def read_labels(path: Path, known: Collection[str] = ()) -> NodeTable:
    """Read one label per node, integers or text, unknown where empty, NA or ?; `known` is as in `read_features`."""
    if path.suffix != ".npz":
        names, columns, _ = _read_table(path, "text", known)
        if len(columns) > 1:
            raise GraphFileError(f"{path}: expected two columns, node and label, found {len(columns) + 1}.")
        return NodeTable(names, np.array(columns[0].to_pylist(), dtype=np.str_))
    arrays = read_arrays(path)
    key = "labels" if "labels" in arrays else "y"
    if key not in arrays:
        raise GraphFileError(f"{path}: expected labels or y, found {', '.join(sorted(arrays))}.")
    labels = arrays[key]
    if labels.ndim != 1 or labels.dtype.kind not in "biufUS":
        raise GraphFileError(
            f"{path}: expected {key} as one number or word per node, found {labels.dtype} of shape {labels.shape}."
        )
    if labels.dtype.kind == "S":
        labels = np.array(read_names(arrays, key, str(path)), dtype=np.str_)
    return NodeTable(_npz_names(arrays, len(labels), path), labels)


def _read_table(path: Path, kind: Kind, known: Collection[str]) -> tuple[list[str], list[Any], list[str] | None]:
    """Names of the nodes, the columns of their values, and the headings of these columns."""
    file = DelimitedFile(path)
    if not file.head:
        raise GraphFileError(f"{path}: expected a line per node, found none.")
    first = file.head[0][1]
    if len(first) < 2:
        raise GraphFileError(f"{path}: expected a node and at least one value per line, found one column.")
    heading = len(file.head) > 1 and _is_heading(first, file.head[1][1], known)
    kinds: dict[int, Kind] = {0: "name", **dict.fromkeys(range(1, len(first)), kind)}
    try:
        nodes, *columns = file.columns(kinds, heading=heading, words=EXPECTED)
    except GraphFileError as error:
        if EXPECTED["number"] not in str(error):
            raise
        raise GraphFileError(f"{error} {TIP}") from None
    return _distinct(nodes.to_pylist(), path), columns, first[1:] if heading else None


def _distinct(names: list[str], path: Path) -> list[str]:
    if len(set(names)) != len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise GraphFileError(f"{path}: expected every node once, found {repeated!r} twice.")
    return names


def _is_heading(first: list[str], second: list[str], known: Collection[str]) -> bool:
    name = first[0].strip()
    if name in known:
        return False
    return (
        name.lower() in HEADINGS
        or second[0].strip() in known
        or (not any(map(is_number, first)) and any(map(is_number, second)))
    )


def _npz_names(arrays: dict[str, Array], rows: int, path: Path) -> list[str] | None:
    if "node_names" not in arrays:
        return None
    if arrays["node_names"].dtype.kind in "iu":
        arrays = {"node_names": arrays["node_names"].astype(np.str_)}
    names = read_names(arrays, "node_names", str(path)) or []
    if len(names) != rows:
        raise GraphFileError(f"{path}: expected as many node_names as rows, found {len(names)} and {rows}.")
    return _distinct(names, path)


def is_missing(values: Array) -> Array:
    """Mask of labels that mean an unknown label, such as NA and ?."""
    return np.isin(np.char.strip(values), MISSING_LABELS)


def number_classes(values: Array) -> tuple[Array, list[str] | None]:
    """Class numbers of labels, −1 for a missing one, and class names where the labels are not numbers from 0."""
    if values.dtype.kind in "biuf":
        return as_labels(values, MAX_CLASSES).numpy(), None
    values = np.char.strip(values)
    known = ~is_missing(values)
    names = np.unique(values[known])
    numbers = np.full(len(values), -1, np.int64)
    if all(map(WHOLE.fullmatch, names)):
        numbers[known] = values[known].astype(np.int64)
        if not len(names) or numbers[known].min() <= 0:
            return numbers, None
        names = names[np.argsort(names.astype(np.int64), kind="stable")]  # numbers that do not start at 0 are names
        numbers[known] = np.searchsorted(names.astype(np.int64), numbers[known])
    else:
        numbers[known] = np.searchsorted(names, values[known])
    return numbers, names.tolist()
