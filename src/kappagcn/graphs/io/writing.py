"""Writing a graph in any of the formats that `read_graph` reads."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.folder import save_folder
from kappagcn.graphs.io.formats import DELIMITED, ENDINGS, MARKUP, TEXT
from kappagcn.graphs.io.headings import MISSING_LABELS
from kappagcn.graphs.io.matrix import matrix_market_bytes
from kappagcn.graphs.io.npz import feature_arrays, save_npz
from kappagcn.graphs.io.pyg import save_data
from kappagcn.graphs.io.text import compressed, ending_of, is_compressed, stem_of
from kappagcn.graphs.io.undirected import counted, node_index
from kappagcn.io_atomic import atomic_write, save_arrays

__all__ = ["save_graph"]

DENSE_LIMIT = 20_000  # nodes of a matrix that is written in full
ODD = r"^[\s\x{a0}#%]|[\s\x{a0}]$|[,;|\t]"  # a cell that is quoted, if only for other readers
ATTRIBUTES = {
    "x": "features",
    "y": "labels",
    "node_names": "names of nodes",
    "class_names": "names of classes",
    "attr_names": "names of features",
    **{mask: mask for mask in ("train_mask", "val_mask", "test_mask")},
}  # what a format may not hold, in words
LABEL = "class"  # node attribute of GraphML and GML that holds the label


def save_graph(data: Data, path: str | Path, *, half: bool = False) -> list[str]:
    """Write a graph in the format of the file's ending, see `read_graph`; without an ending, as a folder.

    Edge lists, Parquet and Matrix Market hold edges alone: features go to ``<stem>.features.npz`` beside them and
    labels to ``<stem>.labels.csv``, where `read_graph` looks for them.

    Args:
        data: A graph as this package reads it.
        path: Path of the file, or of a folder that does not exist yet.
        half: For a folder, whether to keep features as float16.

    Returns:
        Notes for the user: what the format cannot hold and was left out, and further files that were written.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import cycle, read_graph
    >>> with TemporaryDirectory() as folder:
    ...     _ = save_graph(cycle(5), Path(folder) / "ring.mtx.gz")
    ...     print(read_graph(Path(folder) / "ring.mtx.gz").report)
    5 nodes, 5 edges
    """
    path = Path(path)
    ending = ending_of(path)
    if not path.suffix:
        save_folder(data, path, half=half)
        return []
    if half:
        raise GraphError(f"{path}: expected a folder for features as float16, found a file.")
    if ending not in ENDINGS or (is_compressed(path) and ending not in TEXT):
        known = ", ".join(ENDINGS)
        raise GraphError(
            f"{path}: expected a file ending in {known}, text also in .gz, .zst or .bz2, found "
            f"{''.join(path.suffixes[-2:]) or 'no ending'!r}."
        )
    if ending == ".npz":
        save_npz(data, path)
        return []
    if ending == ".pt":
        save_data(data, path)
        return []
    content = WRITERS[ending](data, ending)
    with atomic_write(path) as file:
        file.write(compressed(content, path))
    if ending in MARKUP:
        notes = [f"labels are the node attribute {LABEL!r}: --labels {LABEL}"] if data.get("y") is not None else []
        return [*notes, *_left_out(data, ("y", "node_names", "class_names"))]
    if ending == ".npy":
        return _left_out(data, ())
    names = None if ending == ".mtx" else _node_names(data)
    notes = _write_beside(data, path, names or range(data.num_nodes))
    if ending != ".mtx":
        alone = data.num_nodes - len(np.unique(data.edge_index.numpy()))
        if alone and data.get("y") is None and data.get("x") is None:
            notes.append(f"left out: {counted(alone, 'isolated node')}")
    return [*notes, *_left_out(data, ("x", "y", "class_names", *(() if ending == ".mtx" else ("node_names",))))]


def _left_out(data: Data, kept: tuple[str, ...]) -> list[str]:
    """A note on the attributes of a graph that are not written."""
    missing = [words for name, words in ATTRIBUTES.items() if name not in kept and data.get(name) is not None]
    return [f"left out: {', '.join(missing)}"] if missing else []


def _edges(data: Data) -> tuple[Any, Any, Any]:
    """Each edge once: sources, targets and weights, or None."""
    first, second = data.edge_index.numpy()
    once = first < second
    weights = data.get("edge_weight")
    return first[once], second[once], None if weights is None else weights.numpy()[once]


def _node_names(data: Data) -> list[str] | None:
    """Names of the nodes that a file can tell apart; None if they are numbered."""
    if data.get("node_names") is None:
        return None
    node_index(data)  # refuses two nodes of one name, such as 1 and "1"
    names = [str(name) for name in data.node_names]
    wrong = next((name for name in names if not name or "\0" in name), None)
    if wrong is not None:
        raise GraphError(f"expected names of all nodes, without the character 0, found {wrong!r}. Rename it.")
    return names


def _table(data: Data) -> Any:
    first, second, weights = _edges(data)
    names = _node_names(data)
    nodes = pa.array(range(data.num_nodes) if names is None else names)
    table = pa.table({"source": nodes.take(pa.array(first)), "target": nodes.take(pa.array(second))})
    return table if weights is None else table.append_column("weight", pa.array(weights))


def _edge_list(data: Data, ending: str) -> bytes:
    return _delimited(_table(data), "," if ending == ".csv" else "\t")


def _delimited(table: Any, delimiter: str) -> bytes:
    """A table as text; all cells are quoted if one would be read as a comment, or without its blanks."""
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    odd = any(pc.any(pc.match_substring_regex(column, ODD)).as_py() for column in texts)
    content = io.BytesIO()
    style = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="all_valid" if odd else "needed")
    arrow_csv.write_csv(table, content, style)
    return content.getvalue()


def _parquet(data: Data, _: str) -> bytes:
    from pyarrow import parquet

    content = io.BytesIO()
    parquet.write_table(_table(data), content)
    return content.getvalue()


def _matrix_market(data: Data, _: str) -> bytes:
    return matrix_market_bytes(*_edges(data), data.num_nodes)


def _matrix(data: Data, _: str) -> bytes:
    if data.num_nodes > DENSE_LIMIT:
        raise GraphError(f"expected at most {DENSE_LIMIT:,} nodes for a full matrix, found {data.num_nodes:,}.")
    matrix = np.zeros((data.num_nodes, data.num_nodes), np.float32)
    first, second, weights = _edges(data)
    matrix[first, second] = matrix[second, first] = 1 if weights is None else weights
    content = io.BytesIO()
    np.save(content, matrix, allow_pickle=False)
    return content.getvalue()


def _networkx(data: Data, ending: str) -> bytes:
    names = _node_names(data) or [str(i) for i in range(data.num_nodes)]
    graph = nx.Graph()
    labels = _label_words(data) if data.get("y") is not None else [""] * len(names)
    for name, label in zip(names, labels, strict=True):
        graph.add_node(name, **({LABEL: label} if label else {}))
    first, second, weights = _edges(data)
    extra = [{}] * len(first) if weights is None else [{"weight": float(weight)} for weight in weights]
    graph.add_edges_from((names[u], names[v], more) for u, v, more in zip(first, second, extra, strict=True))
    lines = nx.generate_gml(graph) if ending == ".gml" else nx.generate_graphml(graph)
    return ("\n".join(lines) + "\n").encode()


def _label_words(data: Data) -> list[str]:
    """Labels as text, empty where there is none."""
    names, labels = data.get("class_names"), data.y.tolist()
    if wrong := [name for name in names or () if str(name).strip() in MISSING_LABELS]:
        raise GraphError(f"expected names of classes, found {wrong[0]!r}, which would be read as no label. Rename it.")
    return ["" if label < 0 else str(label if names is None else names[label]) for label in labels]


def _write_beside(data: Data, path: Path, nodes: Iterable[Any]) -> list[str]:
    """Features and labels in files beside a file of edges."""
    notes = []
    names = np.array([str(node) for node in nodes], dtype=np.str_)
    if data.get("x") is not None:
        file = path.with_name(f"{stem_of(path)}.features.npz")
        with atomic_write(file) as stream:
            save_arrays(stream, node_names=names, **feature_arrays(data.x))
        notes.append(f"features: {file}")
    if data.get("y") is not None:
        labels = pa.table(
            {"node": pa.array(names.tolist(), pa.utf8()), "label": pa.array(_label_words(data), pa.utf8())}
        )
        file = path.with_name(f"{stem_of(path)}.labels.csv")
        with atomic_write(file) as stream:
            stream.write(_delimited(labels, ","))
        notes.append(f"labels: {file}")
    return notes


WRITERS: dict[str, Callable[[Data, str], bytes]] = {
    **dict.fromkeys(DELIMITED, _edge_list),
    ".parquet": _parquet,
    ".mtx": _matrix_market,
    ".npy": _matrix,
    **dict.fromkeys(MARKUP, _networkx),
}
