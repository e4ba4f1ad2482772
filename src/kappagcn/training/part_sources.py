"""Where a partition's edges and columns come from: streamed where the files allow it, otherwise read whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from torch_geometric.data import Data

from kappagcn.errors import GraphFileError
from kappagcn.graphs import load_graph, read_split
from kappagcn.graphs.io.array_file import ArrayFile
from kappagcn.graphs.io.compressed import stem_of
from kappagcn.graphs.io.edge_stream import EdgeStream, open_edges
from kappagcn.graphs.io.folder import is_graph_folder
from kappagcn.graphs.io.undirected import Array
from kappagcn.training.node_columns import NodeColumns, part_stream

__all__ = ["PartSource", "open_part_source"]


class PartSource(NamedTuple):
    """Edges and columns of a graph, and the identity of the files, None for a graph in memory."""

    edges: EdgeStream
    columns: NodeColumns
    identity: dict[str, Any] | None


def open_part_source(
    graph: str | Path,
    *,
    features: str | None = None,
    labels: str | None = None,
    split: str | Path | None = None,
    header: bool | None = None,
    root: str | Path | None = None,
    **options: Any,
) -> PartSource:
    """Open a graph for `write_parts`.

    Edge lists whose nodes are integers, arrays and folders of arrays are streamed, with features and labels in .npy
    files whose row i is node i (by default ``<stem>.features.npy`` and ``<stem>.labels.npy`` beside an edge list). Any
    other graph is read whole first.

    Args:
        graph: A path or a built-in name.
        features: File with features.
        labels: File with labels.
        split: File with a split; of a stream a .npy file, (N,), of sums of 1 train, 2 stopping, 4 validation, 8 test.
        header: Whether an edge list has a heading; None to detect it.
        root: Folder in which datasets are looked for first.
        **options: Further arguments of `kappagcn.graphs.load_graph`, for a graph that is read whole.
    """
    path = Path(graph)
    given = {"features": features, "labels": labels, "split": None if split is None else str(split)}
    files = {role: Path(file) for role, file in given.items() if file is not None}
    whole = any(value is not None for value in options.values())
    if path.exists() and not whole and all(file.suffix == ".npy" for file in files.values()):
        stream = None if _has_tables(path) else open_edges(path, header=header)
        if stream is not None:
            for role in ("features", "labels"):
                beside = path.with_name(f"{stem_of(path)}.{role}.npy")
                if path.is_file() and beside.is_file():
                    files.setdefault(role, beside)
            return PartSource(stream, _columns(path, files), _identity(path, *files.values()))
    data: Data = load_graph(
        str(graph), root=root, sparse=True, progress=True, features=features, labels=labels, header=header, **options
    )
    own = None if split is None else read_split(Path(split), data)
    return PartSource(part_stream(data), NodeColumns.of_data(data, own), None)


def _has_tables(path: Path) -> bool:
    """Whether features or labels lie beside an edge list as tables, which name the nodes."""
    names = (f"{stem_of(path)}.{role}{end}" for role in ("features", "labels") for end in (".csv", ".tsv", ".npz"))
    return path.is_file() and any(path.with_name(name).is_file() for name in names)


def _columns(path: Path, files: dict[str, Path]) -> NodeColumns:
    roles: Array | None = None
    if "split" in files:
        roles = ArrayFile(files["split"]).all()
        if roles.dtype.kind not in "iu" or roles.ndim != 1 or (len(roles) and not 0 <= roles.min() <= roles.max() < 16):
            raise GraphFileError(
                f"{files['split']}: expected sums of 1 train, 2 stopping, 4 validation, 8 test, (N,), found "
                f"{roles.dtype} {roles.shape}."
            )
        roles = roles.astype("uint8")
    if not is_graph_folder(path):
        return NodeColumns.of_files(files.get("features"), files.get("labels"), roles)
    names = tuple(json.loads((path / "graph.json").read_text(encoding="utf-8")).get("class_names", ()))
    own = NodeColumns.of_folder(path, names)
    other = NodeColumns.of_files(files.get("features"), files.get("labels"))
    return NodeColumns(
        own.features if other.features is None else other.features,
        own.labels if other.labels is None else other.labels,
        own.roles if roles is None else roles,
        names if other.labels is None else (),
    )


def _identity(*paths: Path) -> dict[str, Any]:
    files = [file for path in paths for file in (sorted(path.glob("*.npy")) if path.is_dir() else [path])]
    return {str(file.resolve()): [file.stat().st_size, file.stat().st_mtime_ns] for file in files}
