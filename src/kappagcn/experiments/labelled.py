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
from kappagcn.graphs import from_networkx, from_pyg, from_scipy
from kappagcn.graphs.undirected import as_features

__all__ = ["encoded", "read_labelled", "unlabelled"]

Array = NDArray[Any]


def read_labelled(graph: Any, x: Any, y: Any) -> tuple[Data, Array | None]:
    """The graph in our form, features as float32 where there are some, and its labels as they were given."""
    if isinstance(graph, Data):
        data = from_pyg(graph)
        labels = None if data.get("y") is None else data.y.numpy()
        names = data.get("class_names")
        if labels is not None and names is not None:
            labels = np.array([None, *names], object)[labels + 1]
    elif isinstance(graph, nx.Graph):
        names = [x] if isinstance(x, str) else list(x) if _are_names(x) else []
        data = from_networkx(graph, features=names, label=y if isinstance(y, str) else None)
        labels = _attribute(graph, y) if isinstance(y, str) else None
        x, y = None if names else x, None if isinstance(y, str) else y
    elif sp.issparse(graph) or isinstance(graph, np.ndarray):
        data, labels = from_scipy(graph), None
    else:
        raise GraphError(
            f"expected PyG's Data, a SciPy or NumPy adjacency matrix or a NetworkX graph, found {type(graph).__name__}."
        )
    if x is not None:
        data.x = as_features(x.numpy() if isinstance(x, Tensor) else x, sparse=sp.issparse(x))
    if data.get("x") is not None:
        data.x = data.x.float()
        if data.x.shape[0] != data.num_nodes:
            raise GraphError(f"expected features of {data.num_nodes} nodes, found {data.x.shape[0]} rows.")
    if y is not None:
        labels = y.numpy() if isinstance(y, Tensor) else np.asarray(y)
    if labels is not None and labels.shape != (data.num_nodes,):
        raise GraphError(f"expected labels of {data.num_nodes} nodes, found shape {labels.shape}.")
    return data, labels


def _are_names(x: Any) -> bool:
    return isinstance(x, Sequence) and all(isinstance(name, str) for name in x)


def _attribute(graph: Any, name: str) -> Array:
    found = np.empty(len(graph), object)
    found[:] = [graph.nodes[node].get(name) for node in graph]
    return found


def unlabelled(labels: Array) -> Array:
    """Where there is no label: −1, None, NaN or an empty word."""
    return np.array([v is None or v == "" or v != v or v == -1 for v in labels.tolist()], bool)


def encoded(labels: Array, order: Sequence[str] | None = None) -> tuple[Array, Tensor]:
    """Classes, sorted or in the order given, and the place of each node's among them, −1 for none."""
    unknown = unlabelled(labels)
    if unknown.all():
        raise GraphError("expected labelled nodes, found none.")
    try:
        classes, places = np.unique(np.array(labels[~unknown].tolist()), return_inverse=True)
    except TypeError:
        raise GraphError("expected labels of one kind, numbers or words, found both.") from None
    if len(classes) < 2:
        raise GraphError(f"expected at least two classes, found {classes[0]!r} alone.")
    if order is not None and set(order) >= set(classes.tolist()):
        ranks = np.argsort([list(order).index(name) for name in classes.tolist()])
        classes, places = classes[ranks], np.argsort(ranks)[places]
    y = np.full(len(labels), -1)
    y[~unknown] = places
    return classes, torch.from_numpy(y)
