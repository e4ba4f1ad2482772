"""A user's own graph, from a file in any of the forms people have, or from a NetworkX or SciPy object."""

from __future__ import annotations

import pickle
import re
import struct
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterable, Sequence
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
from kappagcn.graphs.io.edge_list import EdgeList, read_edge_list
from kappagcn.graphs.io.node_table import NodeTable, place_features, place_labels, read_features, read_labels
from kappagcn.graphs.io.npz import naming, read_npz
from kappagcn.graphs.io.undirected import as_features, as_labels, assemble, counted, places
from kappagcn.io_atomic import replacing

__all__ = ["from_networkx", "from_pyg", "from_scipy", "read_graph", "save_data"]

SAFE = [Data, GlobalStorage, DataEdgeAttr, DataTensorAttr]
Tables = dict[str, tuple[str, NodeTable]]
TEXT = {".csv", ".tsv", ".txt", ".edges", ".edgelist", ".tab"}
# What a damaged or foreign file makes NetworkX and torch raise; MemoryError for sizes that lie.
DAMAGE = (
    nx.NetworkXError, ElementTree.ParseError, pickle.UnpicklingError, ValueError, KeyError, IndexError, TypeError,
    AttributeError, EOFError, RuntimeError, RecursionError, MemoryError, OverflowError, UnicodeDecodeError, SyntaxError,
    AssertionError, struct.error,
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

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "friends.csv"
    ...     _ = file.write_text("ann,bob")
    ...     read_graph(file).node_names
    ['ann', 'bob']
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
        raise GraphFileError(
            f"{path}: expected a file ending in {known}, found {kind or 'no ending'!r}. Convert it to one of these."
        )
    data = read_npz(path, sparse=sparse) if kind == ".npz" else _from_torch(path)
    return _with_tables(data, path, features, labels, sparse) if features or labels else data


def _beside(path: Path, what: str) -> Path | None:
    return next(
        (p for end in (".csv", ".npz", ".tsv") if (p := path.with_name(f"{path.stem}.{what}{end}")).is_file()), None
    )


def _from_edges(path: Path, edges: EdgeList, features: Any, labels: Any, sparse: bool) -> Data:
    """Nodes are those of the edges and of the tables beside them; tables without names number the nodes themselves."""
    rows, cols = edges.rows, edges.cols
    names: Any = edges.names
    tables = _tables(features, labels, {str(name) for name in names} if features or labels else ())
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
    spots = {str(name): i for i, name in enumerate(names)}
    known = len(spots)
    for where, table in tables.values():
        if table.names and spots and not any(name in spots for name in table.names):
            raise GraphFileError(
                f"{where}: expected the nodes of {path.name}, such as {next(iter(spots))!r}, found none of them, but "
                f"{table.names[0]!r}. The first column must name the nodes."
            )
        for name in table.names or ():
            spots.setdefault(name, len(spots))
    notes = list(edges.notes)
    if len(spots) > known:
        files = " and ".join(Path(where).name for where, _ in tables.values())
        notes.append(f"{counted(len(spots) - known, 'node')} only in {files}")
    trivial = numbered and len(spots) == known and len(names) and names[0] == 0 and names[-1] == len(names) - 1
    with naming(str(path)):
        data = assemble(
            rows,
            cols,
            len(spots),
            weights=edges.weights,
            notes=notes,
            node_names=None if trivial or not spots else list(spots),
            name=path.stem,
        )
    return _filled(data, spots, tables, sparse)


def _with_tables(data: Data, path: Path, features: Any, labels: Any, sparse: bool) -> Data:
    with naming(str(path)):
        known = places(data)
    tables = _tables(features, labels, known)
    for where, table in tables.values():
        count = table.values.shape[0]
        unknown = [name for name in table.names or () if name not in known]
        if unknown or (table.names is None and count != data.num_nodes):
            found = f"unknown ones such as {unknown[:3]}" if unknown else f"{count} rows"
            raise GraphFileError(f"{where}: expected the {data.num_nodes} nodes of {path.name}, found {found}.")
    return _filled(data, known, tables, sparse)


def _filled(data: Data, spots: dict[str, int], tables: Tables, sparse: bool) -> Data:
    for role, (where, table) in tables.items():
        with naming(where):
            if role == "features":
                data.x = as_features(place_features(table, spots, data.num_nodes, where), sparse=sparse)
                if table.columns:
                    data.attr_names = table.columns
            else:
                numbers, classes = place_labels(table, spots, data.num_nodes)
                data.y = as_labels(numbers)
                if classes:
                    data.class_names = classes
                unknown = int((data.y < 0).sum())
                data.report += f"; {counted(unknown, 'node')} without label" if unknown else ""
    return data


def _tables(features: Any, labels: Any, known: Collection[str]) -> Tables:
    """What is said of the nodes, by role: the file and its table."""
    for given in (features, labels):
        if given and not isinstance(given, str | Path):
            raise GraphFileError(f"expected a file with features or labels, found {given!r}. Attributes are GraphML's.")
    tables = {"features": (str(features), read_features(features, known))} if features else {}
    return tables | ({"labels": (str(labels), read_labels(labels, known))} if labels else {})


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
            graph = _gml(path.read_text(encoding="utf-8"))
    except GraphFileError:
        raise
    except OSError as error:
        raise GraphFileError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except DAMAGE as error:
        raise GraphFileError(f"{path}: expected {kind[1:].upper()}, found something else ({error}).") from None
    with naming(str(path)):
        columns = str(features).split(",") if isinstance(features, str | Path) else list(features or ())
        return from_networkx(graph, features=columns, label=None if labels is None else str(labels), name=path.stem)


def _gml(text: str) -> Any:
    """NetworkX wants to be told that edges repeat, and whether nodes have names that differ."""
    text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", re.sub(r"\bmultigraph\s+[01]\b", "", text), count=1)
    try:
        return nx.parse_gml(text, label="label")
    except nx.NetworkXError:
        return nx.parse_gml(text, label="id")


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
    spots = {node: i for i, node in enumerate(graph)}
    rows = np.array([spots[u] for u, _ in graph.edges()], np.int64)
    cols = np.array([spots[v] for _, v in graph.edges()], np.int64)
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
        numbers, attributes["class_names"] = place_labels(table, {}, len(spots))
        attributes["y"] = as_labels(numbers)
    names = None if list(spots) == list(range(len(spots))) else [str(node) for node in spots]
    return assemble(
        rows,
        cols,
        len(spots),
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
    try:
        found = sp.coo_array(matrix)
        if found.dtype.kind not in "biuf":
            raise ValueError(f"entries of type {found.dtype}")
    except (TypeError, ValueError) as error:
        raise GraphError(f"expected an adjacency matrix of numbers, found something else ({error}).") from None
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


def as_graph(graph: Any) -> Data:
    """A graph of any kind that people have: PyG's ``Data``, a SciPy or NumPy adjacency matrix, a NetworkX graph.

    >>> import networkx as nx
    >>> as_graph(nx.path_graph(4)).num_nodes
    4
    """
    if isinstance(graph, Data):
        return from_pyg(graph)
    if isinstance(graph, nx.Graph):
        return from_networkx(graph)
    if sp.issparse(graph) or isinstance(graph, np.ndarray):
        return from_scipy(graph)
    raise GraphError(
        f"expected PyG's Data, a SciPy or NumPy adjacency matrix or a NetworkX graph, found {type(graph).__name__}."
    )


def save_data(data: Data, path: str | Path) -> Path:
    """Keep a PyG ``Data`` so that `read_graph`, or anyone, can load it without trusting it: as a dict of tensors.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import cycle
    >>> with TemporaryDirectory() as folder:
    ...     print(read_graph(save_data(cycle(5), Path(folder) / "ring.pt")).report)
    5 nodes, 5 edges
    """
    with replacing(Path(path)) as file:
        torch.save(data.to_dict(), file)
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
    with naming(str(path)):
        return _from_dict({str(key): value for key, value in found.items()}, path.stem)


def from_pyg(data: Data) -> Data:
    """A clean graph from any PyG ``Data``: undirected, without self-loops or repeated edges.

    Features, labels, weights and whatever has one row per node come along; ``report`` names what does not.

    >>> from_pyg(Data(edge_index=torch.tensor([[0, 1, 1], [1, 2, 1]]), num_nodes=3)).report
    '3 nodes, 2 edges; 1 self-loop removed'
    """
    return _from_dict(data.to_dict(), "graph")


def _from_dict(found: dict[str, Any], name: str) -> Data:
    edges = _tensor(found, "edge_index")
    whole = edges is not None and not edges.is_floating_point() and not edges.is_complex()
    if edges is None or not whole or edges.layout != torch.strided or edges.dim() != 2 or edges.shape[0] != 2:
        raise GraphError("expected edge_index as integers (2, E), found something else or nothing.")
    x, y, weights = _tensor(found, "x"), _tensor(found, "y"), _tensor(found, "edge_weight")
    if y is not None:
        y = y.flatten().double() if y.is_floating_point() else y.flatten()
    nodes = found.get("num_nodes")
    if nodes is None:
        nodes = max(int(edges.max()) + 1 if edges.numel() else 0, *(len(v) for v in (x, y) if v is not None), 0)
    if not isinstance(nodes, int) or nodes < 0:
        raise GraphError(f"expected num_nodes as a number from 0, found {nodes!r:.40}.")
    kept, left = _others(found, nodes)
    return assemble(
        edges[0].numpy(),
        edges[1].numpy(),
        nodes,
        weights=None if weights is None else weights.flatten().double().numpy(),
        x=None if x is None else as_features(x, sparse=x.layout != torch.strided),
        y=None
        if y is None
        else as_labels(y.flatten().float().numpy() if y.is_floating_point() else y.flatten().numpy()),
        name=found["name"] if isinstance(found.get("name"), str) else name,
        notes=[f"left out: {', '.join(left)}"] if left else [],
        **kept,
    )


def _tensor(found: dict[str, Any], key: str) -> Tensor | None:
    value = found.get(key)
    if value is None or (isinstance(value, Tensor) and value.dim() > 0):
        return value if value is None else value.detach().cpu()
    raise GraphError(f"expected {key} as a tensor, found {type(value).__name__}.")


def _others(found: dict[str, Any], nodes: int) -> tuple[dict[str, Any], list[str]]:
    """What else belongs to nodes, and the names of what cannot be kept."""
    kept: dict[str, Any] = {}
    left = []
    for key, value in found.items():
        if key in ("edge_index", "x", "y", "edge_weight", "num_nodes", "name", "report"):
            continue
        text = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if (key in ("class_names", "attr_names") and text) or (
            (text or (isinstance(value, Tensor) and value.layout == torch.strided and value.dim() > 0))
            and len(value) == nodes
            and not key.startswith("edge_")
        ):
            kept[key] = value
        elif value is not None:
            left.append(key)
    return kept, left
