"""Graphs with labels as people have them: PyG, SciPy, NetworkX; labels as numbers or words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs import as_graph, from_networkx, from_pyg
from kappagcn.graphs.io.node_data import as_features

__all__ = ["encoded", "label_array", "read_labelled", "read_labels", "unlabelled"]

Array = NDArray[Any]


def read_labelled(graph: Any, x: Any, y: Any) -> tuple[Data, Array | None]:
    """The graph in our form, features as float32 where there are some, and its labels as they were given."""
    if isinstance(graph, Data):
        data, labels = _from_pyg(graph)
    elif isinstance(graph, nx.Graph):
        names = [x] if isinstance(x, str) else list(x) if _are_names(x) else []
        data = from_networkx(graph, features=names, label=y if isinstance(y, str) else None)
        labels = _attribute(graph, y) if isinstance(y, str) else None
        x, y = None if names else x, None if isinstance(y, str) else y
    else:
        data, labels = as_graph(graph), None
    if x is not None:
        data.x = as_features(x, sparse=sp.issparse(x) or (isinstance(x, Tensor) and x.layout != torch.strided))
    if data.get("x") is not None:
        data.x = data.x.float()
        if data.x.shape[0] != data.num_nodes:
            raise GraphError(f"expected features of {data.num_nodes} nodes, found {data.x.shape[0]} rows.")
    return data, labels if y is None else label_array(y, data.num_nodes)


def _from_pyg(graph: Data) -> tuple[Data, Array | None]:
    """The graph, and its labels as numbers, or as names where it has some."""
    attributes = {key: value for key, value in graph.to_dict().items() if key != "y"}
    data = from_pyg(Data.from_dict({**attributes, "num_nodes": graph.num_nodes}))
    data.y = graph.get("y")
    return data, None if data.y is None else read_labels(data)


def read_labels(data: Data) -> Array:
    """The labels of a graph as numbers, or as names where it has some, (N,)."""
    labels, names = label_array(data.y, data.num_nodes), data.get("class_names")
    if names is None:
        return labels
    if labels.dtype.kind not in "iu" or not -1 <= labels.min() <= labels.max() < len(names):
        raise GraphError(f"expected labels from −1 to {len(names) - 1}, one for each of class_names, found others.")
    by_class: Array = np.array([None, *names], object)
    chosen: Array = by_class[labels + 1]
    return chosen


def label_array(y: Any, nodes: int) -> Array:
    """Labels of any kind as an array, (N,)."""
    labels: Array = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if labels.shape == (nodes, 1):
        labels = labels[:, 0]
    if labels.shape != (nodes,):
        raise GraphError(f"expected labels of {nodes} nodes, found shape {labels.shape}.")
    return labels


def _are_names(x: Any) -> bool:
    return isinstance(x, Sequence) and all(isinstance(name, str) for name in x)


def _attribute(graph: Any, name: str) -> Array:
    values = np.empty(len(graph), object)
    values[:] = [graph.nodes[node].get(name) for node in graph]
    return values


def unlabelled(labels: Array) -> Array:
    """Where there is no label: −1, None, NaN or an empty word."""
    return np.array([v is None or v == "" or v != v or v == -1 for v in labels.tolist()], bool)


def encoded(labels: Array, order: Sequence[str] | None = None) -> tuple[Array, Tensor]:
    """Classes, sorted or in the order given, and the place of each node's among them, −1 for none."""
    unknown = unlabelled(labels)
    if unknown.all():
        raise GraphError("expected labelled nodes, found none.")
    known = labels[~unknown].tolist()
    if len({isinstance(label, str) for label in known}) > 1:
        raise GraphError("expected labels of one kind, numbers or words, found both.")
    classes, places = np.unique(np.array(known), return_inverse=True)
    if len(classes) < 2:
        raise GraphError(f"expected at least two classes, found {known[0]!r} alone; −1 means that there is no label.")
    if order is not None and set(order) >= set(classes.tolist()):
        ranks = np.argsort([list(order).index(name) for name in classes.tolist()])
        classes, places = classes[ranks], np.argsort(ranks)[places]
    y = np.full(len(labels), -1)
    y[~unknown] = places
    return classes, torch.from_numpy(y)
