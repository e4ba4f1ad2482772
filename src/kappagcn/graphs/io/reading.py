"""A user's own graph, from a file in any supported format or from an object of another library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.columns import ColumnRule, EncodedColumns
from kappagcn.graphs.io.edges import EdgeColumns, EdgeList, graph_of_edges, read_edges
from kappagcn.graphs.io.folder import is_graph_folder, read_folder
from kappagcn.graphs.io.formats import ENDINGS, MARKUP, TABLES, TEXT
from kappagcn.graphs.io.graphml import read_graphml
from kappagcn.graphs.io.matrix import graph_of_matrix, read_matrix, read_matrix_market
from kappagcn.graphs.io.node_data import as_features, as_labels, compact_features
from kappagcn.graphs.io.node_table import NodeFiles, NodeTable, is_missing, number_classes
from kappagcn.graphs.io.npz import read_npz
from kappagcn.graphs.io.pyg import read_torch
from kappagcn.graphs.io.text import ending_of, is_compressed, stem_of
from kappagcn.graphs.io.undirected import Array, assemble, counted, name_source_in_errors, node_index
from kappagcn.graphs.node_rows import row_of_each_node


def read_graph(
    path: str | Path,
    *,
    features: str | Path | Sequence[str] | None = None,
    labels: str | Path | None = None,
    nodes: str | Path | None = None,
    label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | bool | None = None,
    time: str | None = None,
    header: bool | None = None,
    matrix: bool | None = None,
    sparse: bool = False,
    column_rules: Sequence[Any] | None = None,
) -> Data:
    """Read a graph from a file; ``data.report`` says in one line what it is and what was changed.

    The forms are those of `formats.FORMATS` and folders of mapped arrays, see `folder`. What is in them is described in
    `edges`, `matrix`, `npz`, `npz_forms`, `graphml`, `pyg`.

    Args:
        path: Path of the file.
        features: File with features, see `node_table`; with `nodes` names of its columns, for GraphML and GML names of
            node attributes. None looks for ``<stem>.features.csv``, ``.npz`` or ``.tsv`` beside an edge list.
        labels: File with labels, as `features`; for GraphML and GML the name of a node attribute.
        nodes: File with a row for each node, whose columns are features but for the label. None looks for
            ``<stem>.nodes.csv`` … beside an edge list.
        label: Name of the column that is the label, in the file of labels or nodes; for GraphML a node attribute.
        source: Name of the column of sources in an edge list; None for usual names, or the first column.
        target: Name of the column of targets.
        weight: Name of the column of weights, or of an edge attribute of GraphML; None for usual names, False for a
            graph without weights.
        time: Name of the column of times, numbers or dates: ``data.edge_time`` then has the earliest of each edge.
        header: Whether an edge list has a heading; None to detect it, see `headings`.
        matrix: Whether a table of numbers is a matrix; None to detect it.
        sparse: Whether to keep features that are mostly zero as a sparse tensor.
        column_rules: ``data.column_rules`` of a graph whose features are encoded in the same way; see
            `kappagcn.graphs.columns`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "friends.csv"
    ...     _ = file.write_text("ann,bob")
    ...     read_graph(file).node_names
    ['ann', 'bob']
    """
    rules = None if column_rules is None else [ColumnRule(**rule) for rule in column_rules]
    files = NodeFiles(features, labels, nodes, label, rules)
    data = _read(Path(path), files, EdgeColumns(source, target, weight, time, header, matrix), sparse)
    return without_weights(data) if weight is False else data


def without_weights(data: Data) -> Data:
    """The graph with every edge counted alike."""
    if data.get("edge_weight") is not None:
        del data.edge_weight
        data.report = data.get("report", "").replace("; weighted", "") + "; weights not used"
    return data


def _read(path: Path, files: NodeFiles, columns: EdgeColumns, sparse: bool) -> Data:
    ending, folder = ending_of(path), is_graph_folder(path)
    if not folder and not path.is_file():
        raise GraphFileError(f"expected a file, found {'a folder' if path.is_dir() else 'nothing'} at {str(path)!r}.")
    if is_compressed(path) and ending not in TEXT:
        raise GraphFileError(
            f"{path}: expected a compressed file of text, such as .csv{path.suffix} or .mtx{path.suffix}, found "
            f"{ending or 'no ending'!r}. Unpack it first."
        )
    if ending in MARKUP and not (columns.source or columns.target or columns.time):
        return read_graphml(path, files.features, files.label or files.labels, columns.weight or "weight")
    if ending in TABLES and not folder:
        with name_source_in_errors(path):
            content = read_edges(path, columns)
            if isinstance(content, EdgeList):
                return _from_edges(path, content, files.beside(path), sparse)
            data = graph_of_matrix(*content, stem_of(path))
    elif columns.names():
        raise GraphFileError(
            f"{path}: expected a table of edges for the column {columns.names()[0]!r}, found "
            f"{'a folder' if folder else repr(ending)}."
        )
    elif folder:
        data = read_folder(path)
    elif ending in WHOLE_FORMS:
        data = WHOLE_FORMS[ending](path, sparse)
    else:
        known = ", ".join(ENDINGS)
        raise GraphFileError(
            f"{path}: expected a file ending in {known}, found {ending or 'no ending'!r}. Convert it to one of these."
        )
    files = files.beside(path) if ending == ".mtx" else files
    if not files.any():
        return data
    with name_source_in_errors(path):
        return _with_tables(data, path, files.read(node_index(data)), sparse)


def _matrix_market_graph(path: Path) -> Data:
    matrix = read_matrix_market(path)
    with name_source_in_errors(path):
        return from_scipy(matrix, name=stem_of(path))


WHOLE_FORMS: dict[str, Callable[[Path, bool], Data]] = {
    ".npz": lambda path, sparse: read_npz(path, sparse=sparse),
    ".npy": lambda path, sparse: read_matrix(path),
    ".pt": lambda path, sparse: read_torch(path),
    ".mtx": lambda path, sparse: _matrix_market_graph(path),
}  # readers of files that have the nodes, not only edges


def _from_edges(path: Path, edges: EdgeList, files: NodeFiles, sparse: bool) -> Data:
    """A graph on the nodes of the edges and of the tables; in tables without names, row i is node i."""
    known = {str(name): None for name in edges.names} if files.any() else {}
    tables = files.read(known)
    count = None
    for table in tables.values():
        if table.names is None:
            count = max(count or 0, table.height)
            if not isinstance(edges.names, np.ndarray) or any(not 0 <= name < count for name in edges.names[[0, -1]]):
                raise GraphFileError(
                    f"{table.file}: expected node_names, as its {count} rows do not number the nodes of {path.name} "
                    f"({', '.join(map(str, edges.names[:3]))}, …)."
                )
        elif known and known.keys().isdisjoint(table.names):
            raise GraphFileError(
                f"{table.file}: expected the nodes of {path.name}, such as {next(iter(known))!r}, found none of them, "
                f"but {table.names[0]!r}. The first column must name the nodes."
            )
    named = dict.fromkeys(name for table in tables.values() for name in table.names or ())
    further = [name for name in named if name not in known]
    if further:
        sources = " and ".join(dict.fromkeys(table.file.name for table in tables.values()))
        note = f"{counted(len(further), 'node')} only in {sources}, such as {further[0]!r}"
        edges = edges._replace(notes=(*edges.notes, note))
    data = graph_of_edges(edges, count, stem_of(path), further)
    return _with_tables(data, path, tables, sparse) if tables else data


def _with_tables(data: Data, path: Path, tables: dict[str, NodeTable], sparse: bool) -> Data:
    """The graph with features and labels, whose nodes must be those of the graph."""
    index = node_index(data)
    for role, table in tables.items():
        with name_source_in_errors(table.file):
            if table.names is None and table.height != data.num_nodes:
                raise GraphError(f"expected the {data.num_nodes} nodes of {path.name}, found {table.height} rows.")
            names = list(index) if table.names is None else table.names
            order = row_of_each_node(names, index, role, complete=role == "features")
            if role == "labels":
                numbers, class_names = number_classes(table.values)
                labels = np.append(numbers, -1)[order]
                data.y, data.class_names = as_labels(labels), class_names
                data.report += _unlabelled(labels, table.values)
            elif isinstance(table.values, EncodedColumns):
                table.values.add_to(data, order)
            else:
                data.x = as_features(table.values[order], sparse=sparse and sp.issparse(table.values))
    if "features" in tables and sparse:
        data.x = compact_features(data.x)
    if data.get("class_names", "") is None:
        del data.class_names
    return data


def _unlabelled(labels: Array, values: Array) -> str:
    """Report of nodes without a label, and of the words in the file that mean so."""
    unknown = int((labels < 0).sum())
    words = (
        sorted(set(values[is_missing(values) | (values == "-1")].tolist()) - {""}) if values.dtype.kind == "U" else []
    )
    return f"; {counted(unknown, 'node')} without label" + f" ({', '.join(words)})" * bool(words) if unknown else ""


def from_scipy(matrix: Any, *, x: Any = None, y: Any = None, name: str = "graph", sparse: bool = False) -> Data:
    """A graph from an adjacency matrix.

    Args:
        matrix: Adjacency matrix, sparse or dense, (N, N); its entries are weights.
        x: Features, (N, D).
        y: Labels, (N,).
        name: Name of the graph.
        sparse: Whether to keep features as a sparse tensor.

    >>> from_scipy(sp.eye_array(3, k=1)).edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    try:
        entries = sp.coo_array(matrix)
        if entries.dtype.kind not in "biuf":
            raise ValueError(f"entries of type {entries.dtype}")
    except (TypeError, ValueError) as error:
        raise GraphError(f"expected an adjacency matrix of numbers, found something else ({error}).") from None
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise GraphError(
            f"expected a square adjacency matrix, found shape {entries.shape}. To divide the nodes of a graph, as "
            "scikit-learn's cross-validation does, pass GraphNodes(graph)."
        )
    entries.eliminate_zeros()
    return assemble(
        entries.row,
        entries.col,
        entries.shape[0],
        weights=entries.data,
        directed=True,
        x=None if x is None else as_features(x, sparse=sparse),
        y=None if y is None else as_labels(y),
        name=name,
    )
