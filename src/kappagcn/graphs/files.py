"""A user's own graph, from a file in any of the forms people have, or from a NetworkX or SciPy object."""

from __future__ import annotations

import pickle
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.archive import naming, read_npz
from kappagcn.graphs.edge_list import EdgeList, read_edge_list
from kappagcn.graphs.node_table import NodeTable, place_features, place_labels, read_features, read_labels
from kappagcn.graphs.undirected import as_features, as_labels, assemble, counted

__all__ = ["from_networkx", "from_scipy", "read_graph", "save_data"]

SAFE = [Data, GlobalStorage, DataEdgeAttr, DataTensorAttr]
Tables = dict[str, tuple[str, NodeTable]]
TEXT = {".csv", ".tsv", ".txt", ".edges", ".edgelist", ".tab"}
# What a damaged or foreign file makes NetworkX and torch raise; MemoryError for sizes that lie.
DAMAGE = (
    nx.NetworkXError, ElementTree.ParseError, pickle.UnpicklingError, ValueError, KeyError, IndexError, TypeError,
    AttributeError, EOFError, RuntimeError, RecursionError, MemoryError, OverflowError, UnicodeDecodeError, SyntaxError,
    AssertionError,
)  # fmt: skip


def read_graph(
    path: str | Path,
    *,
    features: str | Path | Sequence[str] | None = None,
    labels: str | Path | None = None,
    header: bool | None = None,
    sparse: bool = False,
    progress: bool = False,
) -> Data:
    """A graph from a file; ``data.report`` says in one line what it is and what was done to it.

    | ending | read as |
    |---|---|
    | .csv .tsv .txt .tab .edges .edgelist | edge list, see `edge_list` |
    | .npz | arrays, see `archive` |
    | .graphml .gml | NetworkX's formats |
    | .pt | a PyG ``Data`` or its dict, loaded without running code |

    Args:
        path: The file.
        features: File with features, see `node_table`; for GraphML and GML names of numeric node attributes. None looks
            for ``<stem>.features.csv`` or ``.npz`` beside an edge list.
        labels: File with labels; for GraphML and GML the name of a node attribute. None looks for
            ``<stem>.labels.csv`` or ``.npz`` beside an edge list.
        header: Whether an edge list has a heading; None to find out.
        sparse: Whether features stay sparse.
        progress: Show a bar on a terminal.
    """
    path = Path(path)
    if not path.is_file():
        raise GraphFileError(f"expected a file, found {'a folder' if path.is_dir() else 'nothing'} at {str(path)!r}.")
    kind = path.suffix.lower()
    if kind in (".graphml", ".gml"):
        return _from_markup(path, kind, features, labels)
    if kind in TEXT:
        features, labels = features or _beside(path, "features"), labels or _beside(path, "labels")
        return _from_edges(path, read_edge_list(path, header=header, progress=progress), features, labels, sparse)
    if kind not in (".npz", ".pt"):
        known = ", ".join(sorted(TEXT | {".npz", ".graphml", ".gml", ".pt"}))
        raise GraphFileError(f"{path}: expected a file ending in {known}, found {kind or 'no ending'!r}. Rename it.")
    data = read_npz(path, sparse=sparse) if kind == ".npz" else _from_torch(path)
    return _with_tables(data, path, features, labels, sparse) if features or labels else data


def _beside(path: Path, what: str) -> Path | None:
    return next(
        (p for end in (".csv", ".npz", ".tsv") if (p := path.with_name(f"{path.stem}.{what}{end}")).is_file()), None
    )


def _from_edges(path: Path, edges: EdgeList, features: Any, labels: Any, sparse: bool) -> Data:
    """Nodes are those of the edges and of the tables beside them; tables without names number the nodes themselves."""
    tables = _tables(features, labels)
    rows, cols = edges.rows, edges.cols
    names: Any = edges.names
    numbered = isinstance(names, np.ndarray)
    for where, table in tables.values():
        if table.names is None:
            count = table.values.shape[0]
            if not numbered or (len(names) and not 0 <= int(names[0]) <= int(names[-1]) < count):
                raise GraphFileError(
                    f"{where}: expected node_names, as its {count} rows do not number the nodes of {path.name} "
                    f"({_some(names)})."
                )
            rows, cols, names = names[rows], names[cols], np.arange(max(count, len(names)))
    places = {str(name): i for i, name in enumerate(names)}
    known = len(places)
    for _, table in tables.values():
        for name in table.names or ():
            places.setdefault(name, len(places))
    notes = list(edges.notes)
    if len(places) > known:
        files = " and ".join(Path(where).name for where, _ in tables.values())
        notes.append(f"{counted(len(places) - known, 'node')} only in {files}")
    trivial = numbered and len(places) == known and len(names) and names[0] == 0 and names[-1] == len(names) - 1
    with naming(str(path)):
        data = assemble(
            rows,
            cols,
            len(places),
            weights=edges.weights,
            notes=notes,
            node_names=None if trivial or not places else list(places),
            name=path.stem,
        )
    return _filled(data, places, tables, sparse)


def _with_tables(data: Data, path: Path, features: Any, labels: Any, sparse: bool) -> Data:
    tables = _tables(features, labels)
    places = {name: i for i, name in enumerate(data.get("node_names") or map(str, range(data.num_nodes)))}
    for where, table in tables.values():
        count = table.values.shape[0]
        unknown = [name for name in table.names or () if name not in places]
        if unknown or (table.names is None and count != data.num_nodes):
            found = f"unknown ones such as {unknown[:3]}" if unknown else f"{count} rows"
            raise GraphFileError(f"{where}: expected the {data.num_nodes} nodes of {path.name}, found {found}.")
    return _filled(data, places, tables, sparse)


def _filled(data: Data, places: dict[str, int], tables: Tables, sparse: bool) -> Data:
    for role, (where, table) in tables.items():
        with naming(where):
            if role == "features":
                data.x = as_features(place_features(table, places, data.num_nodes, where), sparse=sparse)
                if table.columns:
                    data.attr_names = table.columns
            else:
                numbers, classes = place_labels(table, places, data.num_nodes)
                data.y = as_labels(numbers)
                if classes:
                    data.class_names = classes
                unknown = int((data.y < 0).sum())
                data.report += f"; {counted(unknown, 'node')} without label" if unknown else ""
    return data


def _tables(features: Any, labels: Any) -> Tables:
    """What is said of the nodes, by role: the file and its table."""
    tables = {"features": (str(features), read_features(features))} if features else {}
    return tables | ({"labels": (str(labels), read_labels(labels))} if labels else {})


def _some(names: Any) -> str:
    return f"{names[0]} … {names[-1]}" if len(names) > 1 else str(list(names))


def _from_markup(path: Path, kind: str, features: Any, labels: Any) -> Data:
    try:
        if kind == ".graphml":
            text = path.read_bytes()
            if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
                raise GraphFileError(f"{path}: expected GraphML without document types or entities. Remove them.")
            graph = nx.parse_graphml(text.decode("utf-8-sig"))
        else:
            graph = nx.read_gml(path, label=_gml_label(path))
    except GraphFileError:
        raise
    except OSError as error:
        raise GraphFileError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except DAMAGE as error:
        raise GraphFileError(f"{path}: expected {kind[1:].upper()}, found something else ({error}).") from None
    with naming(str(path)):
        columns = [features] if isinstance(features, str) else list(features or ())
        return from_networkx(graph, features=columns, label=None if labels is None else str(labels), name=path.stem)


def _gml_label(path: Path) -> str:
    return "label" if b"label" in path.read_bytes() else "id"


def from_networkx(
    graph: Any, *, features: Iterable[str] = (), label: str | None = None, weight: str = "weight", name: str = "graph"
) -> Data:
    """A graph from a NetworkX object, nodes in its order.

    Args:
        graph: Any NetworkX graph; directed and multiple edges are handled as everywhere.
        features: Node attributes to take as features, numbers or lists of them.
        label: Node attribute to take as label, of any kind.
        weight: Edge attribute to take as weight, where edges have it.
        name: Of the graph.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph(), label="club").class_names
    ['Mr. Hi', 'Officer']
    """
    places = {node: i for i, node in enumerate(graph)}
    rows = np.array([places[u] for u, _ in graph.edges()], np.int64)
    cols = np.array([places[v] for _, v in graph.edges()], np.int64)
    given = [found for *_, found in graph.edges(data=weight)]
    weights = None
    if any(found is not None for found in given):
        try:
            weights = np.array([1.0 if found is None else float(found) for found in given])
        except (TypeError, ValueError):
            raise GraphError(f"expected numbers as {weight}, found something else.") from None
    attributes: dict[str, Any] = {}
    if columns := list(features):
        attributes["x"] = as_features(_attributes(graph, columns))
        attributes["attr_names"] = columns if attributes["x"].shape[1] == len(columns) else None
    if label is not None:
        found = [graph.nodes[node].get(label) for node in graph]
        if all(value is None for value in found):
            raise GraphError(f"expected nodes with an attribute {label!r}, found {_attribute_names(graph)}.")
        table = NodeTable(None, np.array(["" if value is None else str(value) for value in found], dtype=np.str_))
        numbers, attributes["class_names"] = place_labels(table, {}, len(places))
        attributes["y"] = as_labels(numbers)
    names = None if list(places) == list(range(len(places))) else [str(node) for node in places]
    return assemble(
        rows,
        cols,
        len(places),
        weights=weights,
        directed=graph.is_directed(),
        node_names=names,
        name=name,
        **attributes,
    )


def _attributes(graph: Any, columns: list[str]) -> Any:
    try:
        return np.array([np.hstack([graph.nodes[node][key] for key in columns]) for node in graph], np.float64)
    except KeyError as error:
        raise GraphError(f"expected every node with {error}, found nodes with {_attribute_names(graph)}.") from None
    except (TypeError, ValueError):
        raise GraphError(f"expected numbers, as many for every node, as {columns}, found something else.") from None


def _attribute_names(graph: Any) -> str:
    return ", ".join(sorted({str(key) for _, found in graph.nodes(data=True) for key in found})) or "none"


def from_scipy(matrix: Any, *, x: Any = None, y: Any = None, name: str = "graph", sparse: bool = False) -> Data:
    """A graph from an adjacency matrix, (N, N), with features (N, D) and labels (N,) where there are any.

    >>> from_scipy(sp.eye_array(3, k=1)).edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    found = sp.coo_array(matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise GraphError(f"expected a square adjacency matrix, found shape {found.shape}.")
    found.eliminate_zeros()
    return assemble(
        found.row,
        found.col,
        found.shape[0],
        weights=found.data,
        directed=True,
        x=None if x is None else as_features(x, sparse=sparse),
        y=None if y is None else as_labels(y),
        name=name,
    )


def save_data(data: Data, path: str | Path) -> Path:
    """Keep a PyG ``Data`` so that `read_graph`, or anyone, can load it without trusting it: as a dict of tensors."""
    torch.save(data.to_dict(), path)
    return Path(path)


def _from_torch(path: Path) -> Data:
    try:
        with torch.serialization.safe_globals(SAFE), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about damage, which is an error below
            found = torch.load(path, weights_only=True, map_location="cpu")
        found = found if isinstance(found, dict) else found.to_dict()
    except DAMAGE as error:
        reason = "foreign classes" if "Unsupported" in str(error) or "GLOBAL" in str(error) else type(error).__name__
        raise GraphFileError(
            f"{path}: expected a PyG Data that loads without running code, found something else ({reason}). "
            "Save it with kappagcn.graphs.save_data."
        ) from None
    edges = found.get("edge_index")
    if not isinstance(edges, Tensor) or edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise GraphFileError(f"{path}: expected edge_index as integers (2, E), found {type(edges).__name__}.")
    return _from_dict(path, found, edges)


def _from_dict(path: Path, found: dict[str, Any], edges: Tensor) -> Data:
    x, y, weights = found.get("x"), found.get("y"), found.get("edge_weight")
    nodes = found.get("num_nodes") or max(
        int(edges.max()) + 1 if edges.numel() else 0, *(len(v) for v in (x, y) if isinstance(v, Tensor)), 0
    )
    with naming(str(path)):
        return assemble(
            edges[0].numpy(),
            edges[1].numpy(),
            int(nodes),
            weights=None if weights is None else weights.double().numpy(),
            x=_features(x),
            y=None if y is None else as_labels(y.flatten().numpy()),
            name=str(found.get("name") or path.stem),
            **{key: found[key] for key in ("node_names", "class_names", "attr_names", "pos") if key in found},
        )


def _features(x: Any) -> Any:
    if x is None:
        return None
    if x.layout == torch.sparse_csr:
        parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
        return as_features(sp.csr_array(parts, shape=tuple(x.shape)), sparse=True)
    return as_features(x.numpy())
