"""Graphs from PyG's ``Data``, and in the files that torch saves it to."""

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import as_features, as_labels
from kappagcn.graphs.io.undirected import assemble, name_source_in_errors
from kappagcn.io_atomic import atomic_write

SAFE = [Data, GlobalStorage, DataEdgeAttr, DataTensorAttr]
REBUILT = ("edge_index", "x", "y", "edge_weight", "num_nodes", "name", "report")


def from_pyg(data: Data) -> Data:
    """A clean graph from any PyG ``Data``: undirected, without self-loops or repeated edges.

    Features, labels, weights and attributes with one row per node are kept; ``report`` names the others.

    >>> from_pyg(Data(edge_index=torch.tensor([[0, 1, 1], [1, 2, 1]]), num_nodes=3)).report
    '3 nodes, 2 edges; 1 self-loop removed'
    """
    return _from_attributes(data.to_dict(), "graph")


def save_data(data: Data, path: str | Path) -> Path:
    """Save a PyG ``Data`` as a dict of tensors, which `read_graph` loads without running code from the file.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import cycle, read_graph
    >>> with TemporaryDirectory() as folder:
    ...     print(read_graph(save_data(cycle(5), Path(folder) / "ring.pt")).report)
    5 nodes, 5 edges
    """
    with atomic_write(Path(path)) as file:
        torch.save(data.to_dict(), file)
    return Path(path)


def read_torch(path: Path) -> Data:
    """Read a graph from a ``.pt`` file with a PyG ``Data`` or its dict."""
    expected = "a PyG Data that loads without running code, as kappagcn.graphs.save_data writes it"
    with name_source_in_errors(path, expected), torch.serialization.safe_globals(SAFE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # damage is an error
        content = torch.load(path, weights_only=True, map_location="cpu")
        attributes = content if isinstance(content, dict) else content.to_dict()
    with name_source_in_errors(path):
        return _from_attributes({str(key): value for key, value in attributes.items()}, path.stem)


def _from_attributes(attributes: dict[str, Any], name: str) -> Data:
    edges = _tensor(attributes, "edge_index")
    integers = edges is not None and not edges.is_floating_point() and not edges.is_complex()
    if edges is None or not integers or edges.layout != torch.strided or edges.dim() != 2 or edges.shape[0] != 2:
        raise GraphError("expected edge_index as integers (2, E), found something else or nothing.")
    x, y, weights = _tensor(attributes, "x"), _tensor(attributes, "y"), _tensor(attributes, "edge_weight")
    num_nodes = attributes.get("num_nodes")
    if num_nodes is None:
        rows = [len(values) for values in (x, y) if values is not None]
        num_nodes = max(int(edges.max()) + 1 if edges.numel() else 0, *rows, 0)
    if not isinstance(num_nodes, int) or num_nodes < 0:
        raise GraphError(f"expected num_nodes as a number from 0, found {num_nodes!r:.40}.")
    kept, dropped = _further_attributes(attributes, num_nodes)
    return assemble(
        edges[0].numpy(),
        edges[1].numpy(),
        num_nodes,
        weights=None if weights is None else weights.flatten().double().numpy(),
        x=None if x is None else as_features(x, sparse=x.layout != torch.strided),
        y=None if y is None else as_labels((y.float() if y.is_floating_point() else y).flatten().numpy()),
        name=attributes["name"] if isinstance(attributes.get("name"), str) else name,
        notes=[f"left out: {', '.join(dropped)}"] if dropped else [],
        **kept,
    )


def _tensor(attributes: dict[str, Any], key: str) -> Tensor | None:
    value = attributes.get(key)
    if value is None:
        return None
    if isinstance(value, Tensor) and value.dim() > 0:
        return value.detach().cpu()
    raise GraphError(f"expected {key} as a tensor, found {type(value).__name__}.")


def _further_attributes(attributes: dict[str, Any], num_nodes: int) -> tuple[dict[str, Any], list[str]]:
    """Further attributes that belong to nodes or classes, and the names of those that do not."""
    kept: dict[str, Any] = {}
    dropped = []
    for key, value in attributes.items():
        if key in REBUILT or value is None:
            continue
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        rows = isinstance(value, Tensor) and value.layout == torch.strided and value.dim() > 0
        per_node = (texts or rows) and len(value) == num_nodes and not key.startswith("edge_")
        if per_node or key == "column_rules" or (texts and key in ("class_names", "attr_names")):
            kept[key] = value
        else:
            dropped.append(key)
    return kept, dropped
