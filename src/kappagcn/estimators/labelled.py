"""Graphs with labels, from any object that holds a graph; labels may be numbers or words."""

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
from kappagcn.graphs import Split, as_graph, from_networkx, from_pyg, random_split
from kappagcn.graphs.io.node_data import as_features
from kappagcn.graphs.io.node_table import MISSING_LABELS

__all__ = ["encode_labels", "label_array", "mask_split", "read_labelled", "read_labels", "unlabelled"]

Array = NDArray[Any]
STOPPING = 0.1  # share of the labelled nodes that decides when to stop, without masks


def read_labelled(graph: Any, x: Any, y: Any) -> tuple[Data, Array | None]:
    """The graph with its features as float32, and its labels as they are; None without features or labels."""
    labels: Array | None = None
    if isinstance(graph, Data):
        attributes = {key: value for key, value in graph.to_dict().items() if key != "y"}
        data = from_pyg(Data.from_dict({**attributes, "num_nodes": graph.num_nodes}))
        data.y = graph.get("y")
        labels = None if data.y is None else read_labels(data)
    elif isinstance(graph, nx.Graph):
        names = [x] if isinstance(x, str) else x
        named = isinstance(names, Sequence) and len(names) > 0 and all(isinstance(name, str) for name in names)
        label = y if isinstance(y, str) else None
        data = from_networkx(graph, features=names if named else [], label=label)
        if label is not None:
            labels, y = np.empty(len(graph), object), None
            labels[:] = [graph.nodes[node].get(label) for node in graph]
        x = None if named else x
    else:
        data = as_graph(graph, num_nodes=next((rows for rows in map(_row_count, (x, y)) if rows is not None), None))
        labels = read_labels(data) if data.get("y") is not None else None
    if x is not None:
        data.x = as_features(x, sparse=sp.issparse(x) or (isinstance(x, Tensor) and x.layout != torch.strided))
    if data.get("x") is not None:
        data.x = data.x.float()
        if data.x.shape[0] != data.num_nodes:
            raise GraphError(f"expected features of {data.num_nodes} nodes, found {data.x.shape[0]} rows.")
    return data, labels if y is None else label_array(y, data.num_nodes)


def _row_count(values: Any) -> int | None:
    """Number of rows of features or labels; None for names of attributes and for anything but arrays and lists."""
    if hasattr(values, "shape"):
        return int(values.shape[0]) if len(values.shape) else None
    return len(values) if isinstance(values, Sequence) and not isinstance(values, str) else None


def read_labels(data: Data) -> Array:
    """Labels of a graph, (N,): their names if the graph has class_names, otherwise numbers."""
    labels, names = label_array(data.y, data.num_nodes), data.get("class_names")
    if names is None:
        return labels
    if labels.dtype.kind not in "iu" or not -1 <= labels.min() <= labels.max() < len(names):
        raise GraphError(f"expected labels from −1 to {len(names) - 1}, one for each of class_names, found others.")
    by_class: Array = np.array([None, *names], object)[labels + 1]
    return by_class


def label_array(y: Any, nodes: int) -> Array:
    """Labels of any kind as an array, (N,)."""
    labels: Array = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if labels.shape == (nodes, 1):
        labels = labels[:, 0]
    if labels.shape != (nodes,):
        raise GraphError(f"expected labels of {nodes} nodes, found shape {labels.shape}.")
    return labels


def unlabelled(labels: Array) -> Array:
    """Mask of nodes without a label: −1, None, NaN, or a word for a missing value."""
    return np.array([v is None or v in MISSING_LABELS or v != v or v == -1 for v in labels.tolist()], bool)


def encode_labels(labels: Array, order: Sequence[str] | None = None) -> tuple[Array, Tensor]:
    """Classes, sorted or in this order, and the index of each node's class, −1 for none, (N,)."""
    unknown = unlabelled(labels)
    if unknown.all():
        raise GraphError("expected labelled nodes, found none.")
    known = labels[~unknown].tolist()
    if len({isinstance(label, str) for label in known}) > 1:
        raise GraphError("expected labels of one kind, numbers or words, found both.")
    classes, indices = np.unique(np.array(known), return_inverse=True)
    if len(classes) < 2:
        raise GraphError(f"expected at least two classes, found {known[0]!r} alone; −1 means that there is no label.")
    if order is not None and set(order) >= set(classes.tolist()):
        ranks = np.argsort([list(order).index(name) for name in classes.tolist()])
        classes, indices = classes[ranks], np.argsort(ranks)[indices]
    y = np.full(len(labels), -1)
    y[~unknown] = indices
    return classes, torch.from_numpy(y)


def mask_split(data: Data, seed: int) -> Split:
    """The split that a graph's masks describe, completed at random; nodes of its test mask are not used."""
    if data.get("train_mask") is not None:
        return Split.from_masks(data)
    labels, masks = data.y.clone(), {key: data.get(f"{key}_mask") for key in ("val", "test")}
    masks = {key: mask[:, 0] if mask is not None and mask.dim() == 2 else mask for key, mask in masks.items()}
    for mask in masks.values():
        if mask is not None:
            labels[mask] = -1
    if masks["val"] is None:
        return random_split(labels, seed, train=1 - STOPPING, stopping=STOPPING, validation=0.0)
    stopping = (masks["val"] & (data.y >= 0)).nonzero().flatten().numpy()
    return Split((labels >= 0).nonzero().flatten().numpy(), stopping, [], [], name="masks")
