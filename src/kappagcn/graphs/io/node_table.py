"""Features and labels of nodes in files beside the graph: columns of a table, or arrays.

- Tables (see `tables.read_tables`): the first column, or one called ``id``, ``node`` or so, names the node; the others
  are its features, encoded by `kappagcn.graphs.columns`, or its label. Both may be columns of one table, by name.
- npz: ``x`` (or ``features``, ``attr_dense``, or ``attr_data`` … in CSR) and ``labels`` (or ``y``); row i belongs to
  node i, or to the node ``node_names[i]`` where the file has ``node_names``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kappagcn.errors import GraphFileError
from kappagcn.graphs.columns import ColumnRule, EncodedColumns, encode_columns
from kappagcn.graphs.io.headings import MISSING_LABELS
from kappagcn.graphs.io.node_data import as_labels
from kappagcn.graphs.io.npz import read_arrays, read_feature_matrix, read_names
from kappagcn.graphs.io.tables import Table, node_ids, read_table, usual_ids
from kappagcn.graphs.io.text import is_number, stem_of
from kappagcn.graphs.io.undirected import Array, name_source_in_errors, node_id
from kappagcn.graphs.node_rows import may_name_nodes, refuse_repeated

__all__ = ["MISSING_LABELS", "NodeFiles", "NodeTable", "is_missing", "number_classes", "read_features", "read_labels"]

WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
MAX_CLASSES = 2**31  # the graph's number of nodes is a stricter limit, checked later
TIP = "Correct it, or leave it empty where the number is missing."


class NodeTable(NamedTuple):
    """Features or labels of nodes.

    Attributes:
        file: The file that they are from.
        names: Name of the node of each row; None where row i belongs to node i.
        values: Features as encoded columns, or (rows, D), dense or SciPy sparse; or labels (rows,).
    """

    file: Path
    names: list[str] | None
    values: Any

    @property
    def height(self) -> int:
        """Number of rows."""
        values = self.values.values if isinstance(self.values, EncodedColumns) else self.values
        return int(values.shape[0])


class NodeFiles(NamedTuple):
    """Where features and labels come from: files, and names of their columns or of node attributes."""

    features: Any = None
    labels: Any = None
    nodes: str | Path | None = None
    label: str | None = None
    rules: Sequence[ColumnRule] | None = None

    def any(self) -> bool:
        """Whether anything is named."""
        return bool(self.features or self.labels or self.nodes or self.label)

    def beside(self, path: Path) -> NodeFiles:
        """With the files that lie beside a file of edges, where none are named."""
        nodes = self.nodes or (None if self.features or self.labels else _file_beside(path, "nodes"))
        if nodes:
            return self._replace(nodes=nodes)
        features, labels = self.features or _file_beside(path, "features"), self.labels or _file_beside(path, "labels")
        return self._replace(features=features, labels=labels)

    def read(self, known: Collection[str]) -> dict[str, NodeTable]:
        """The tables by role, features and labels; `known` are the names of the graph's nodes."""
        columns = self.features if self.nodes else None
        columns = columns.split(",") if isinstance(columns, str) else columns
        features = self.nodes or self.features
        labels = self.nodes or self.labels or self.features if self.label else self.labels
        if self.label and not labels:
            raise GraphFileError(f"expected a file with the column {self.label!r}, found none. Name it with --nodes.")
        for role, file in (("features", features), ("labels", labels)):
            if file and not isinstance(file, str | Path):
                raise GraphFileError(
                    f"expected a file with {role}, found {file!r}. Only GraphML and GML have attributes."
                )
        tables = {}
        if features:
            same = self.label if str(labels) == str(features) else None
            table = read_features(Path(features), known, columns=columns, label=same, rules=self.rules)
            if not isinstance(table.values, EncodedColumns) or table.values.names:
                tables["features"] = table
        if labels:
            tables["labels"] = read_labels(Path(labels), known, label=self.label)
        return tables


def _file_beside(path: Path, role: str) -> Path | None:
    candidates = (path.with_name(f"{stem_of(path)}.{role}{ending}") for ending in (".csv", ".npz", ".tsv"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def read_features(
    path: Path,
    known: Collection[str] = (),
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    rules: Sequence[ColumnRule] | None = None,
) -> NodeTable:
    """Read numbers per node, (rows, D).

    Args:
        path: Path of the file.
        known: Names of the graph's nodes.
        columns: Names of the columns to read; None for all but the label.
        label: Name of a column that is the label.
        rules: How columns become numbers, from the table that a network was trained on; None to make them.
    """
    with name_source_in_errors(path):
        if path.suffix != ".npz":
            names = [*(columns or ()), *([label] if label else []), *(rule.name for rule in rules or ())]
            table, nodes = _read_table(path, known, names)
            left_out = {nodes, *([table.position(label)] if label else [])}
            rest = [i for i in range(table.width) if i not in left_out]
            chosen = [table.position(name) for name in columns] if columns else rest
            for i in chosen:
                _refuse_single_words(table, i)
            selected = pa.table([table.columns.column(i) for i in chosen], [table.name(i) for i in chosen])
            encoded = encode_columns(selected, rules)
            if label is None:
                encoded.check()
            return NodeTable(path, _names(table, nodes), encoded)
        arrays = read_arrays(path)
        values = read_feature_matrix(arrays, str(path))
        if values is None:
            raise GraphFileError(f"{path}: expected x or features or attr_dense, found {', '.join(sorted(arrays))}.")
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise GraphFileError(f"{path}: expected features as numbers (nodes, features), found {values.shape}.")
        return NodeTable(path, _npz_names(arrays, values.shape[0], path), values)


def read_labels(path: Path, known: Collection[str] = (), *, label: str | None = None) -> NodeTable:
    """Read one label per node, integers or text, unknown where empty, NA or ?; arguments as in `read_features`."""
    with name_source_in_errors(path):
        if path.suffix != ".npz":
            table, nodes = _read_table(path, known, [label] if label else [])
            if label is None and table.width != 2:
                raise GraphFileError(
                    f"{path}: expected two columns, node and label, found {table.width}. Name the column with --label "
                    "(label= in Python)."
                )
            column = table.columns.column(1 - nodes if label is None else table.position(label))
            values = ["" if value is None else str(value) for value in column.to_pylist()]
            return NodeTable(path, _names(table, nodes), np.array(values, dtype=np.str_))
        arrays = read_arrays(path)
        key = "labels" if "labels" in arrays else "y"
        labels = arrays.get(key)
        if labels is None:
            raise GraphFileError(f"{path}: expected labels or y, found {', '.join(sorted(arrays))}.")
        if labels.ndim != 1 or labels.dtype.kind not in "biufUS":
            raise GraphFileError(
                f"{path}: expected {key} as one number or word per node, found {labels.dtype} of shape {labels.shape}."
            )
        if labels.dtype.kind == "S":
            labels = np.array(read_names(arrays, key, str(path)), dtype=np.str_)
        return NodeTable(path, _npz_names(arrays, len(labels), path), labels)


def _read_table(path: Path, known: Collection[str], names: list[str]) -> tuple[Table, int]:
    """The table of a file, and the position of the column that names the nodes."""
    table = read_table(path, nodes=1, names=names, known=known, expected="nodes")
    if table.width < 2:
        raise GraphFileError(f"{path}: expected a node and at least one value per line, found one column.")
    for i in may_name_nodes([table.name(i) for i in range(table.width)]):
        if any(node_id(value) in known for value in table.columns.column(i).to_pylist()):
            return table, i
    return table, 0


def _names(table: Table, nodes: int) -> list[str]:
    names: list[str] = usual_ids(node_ids(table, nodes, "a node")).to_pylist()
    refuse_repeated(names, "nodes")
    return names


def _refuse_single_words(table: Table, i: int) -> None:
    """Refuse a column that is nearly all numbers, with a word that is not one for a missing value: a mistake."""
    column = table.columns.column(i)
    if not pa.types.is_string(column.type):
        return
    with suppress(pa.ArrowInvalid):
        column.cast(pa.float64())  # fast, where all are numbers
        return
    cells = [cell for cell in column.to_pylist() if cell is not None and cell.strip() not in MISSING_LABELS]
    words = [cell for cell in cells if not is_number(cell)]
    if words and 2 * len(words) < len(cells):
        place = table.place(column.to_pylist().index(words[0]))
        raise GraphFileError(f"{place}: expected numbers as features, found {words[0][:40]!r}. {TIP}")


def _npz_names(arrays: dict[str, Array], rows: int, path: Path) -> list[str] | None:
    if "node_names" not in arrays:
        return None
    if arrays["node_names"].dtype.kind in "iuf":
        arrays = {"node_names": arrays["node_names"].astype(np.str_)}
    names = [node_id(name) for name in read_names(arrays, "node_names", str(path)) or []]
    if len(names) != rows:
        raise GraphFileError(f"{path}: expected as many node_names as rows, found {len(names)} and {rows}.")
    refuse_repeated(names, "node_names")
    return names


def is_missing(values: Array) -> Array:
    """Mask of labels that mean an unknown label, such as NA and ?."""
    return np.isin(np.char.strip(values), MISSING_LABELS)


def number_classes(values: Array) -> tuple[Array, list[str] | None]:
    """Class numbers of labels, −1 for a missing one, and class names where the labels are not numbers from 0."""
    if values.dtype.kind in "biuf":
        return as_labels(values, MAX_CLASSES).numpy(), None
    known = ~is_missing(values)
    names, places = np.unique(values[known], return_inverse=True)
    numbers = np.full(len(values), -1, np.int64)
    if all(map(WHOLE.fullmatch, names)) and set(names) != {"-1", "1"}:  # −1 and 1 alone are two classes
        integers = names.astype(np.int64)
        if not len(names) or integers.min() <= 0:
            numbers[known] = integers[places]
            return numbers, None
        order = np.argsort(integers, kind="stable")  # numbers that do not start at 0 are names
        names, places = names[order], np.searchsorted(integers[order], integers)[places]
    numbers[known] = places
    return numbers, names.tolist()
