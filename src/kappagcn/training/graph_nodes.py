"""GraphNodes: the nodes of one graph as the samples that scikit-learn divides into training and test samples."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import node_index
from kappagcn.graphs.node_rows import has_rows
from kappagcn.training.labelled import label_array, node_labels, note_of_unlabelled, read_labelled, unlabelled

Array = NDArray[Any]
MASKS = ("train_mask", "val_mask", "test_mask")


class GraphNodes:
    """Nodes of a graph as samples: scikit-learn takes some of them, and the graph stays whole.

    This is how a graph is cross-validated. A classifier that is fitted to some nodes sees the edges and features of
    the whole graph, as is usual for nodes of one graph, but labels of these nodes only: those in the `y` that comes
    with them. Labels and masks of the graph itself are ignored. Features are prepared without labels.

    Args:
        graph: Any graph that the estimators take.
        x: Features, where the graph does not have them.
        nodes: Indices or a mask of some of its nodes; all by default.

    Attributes:
        data: The whole graph.
        indices: Indices of the chosen nodes, (S,).
        labels: Labels of the chosen nodes, if the graph has labels.

    >>> from kappagcn.graphs import disease
    >>> nodes, y = GraphNodes.labelled(disease())
    >>> nodes[:300]
    GraphNodes(300 of 1000 nodes)
    """

    def __init__(self, graph: Any, x: Any = None, *, nodes: Any = None) -> None:
        data, self._labels = read_labelled(graph, x, None)
        self.data: Data = data
        self.indices: Array = np.arange(data.num_nodes) if nodes is None else as_indices(nodes, data.num_nodes)

    @classmethod
    def labelled(cls, graph: Any, x: Any = None, y: Any = None) -> tuple[GraphNodes, Array]:
        """The nodes of a graph that have a label, and their labels.

        Args:
            graph: Any graph that the estimators take.
            x: Features, where the graph does not have them.
            y: Labels, where the graph does not have them; −1, None, NaN and "" mean that there is none. A Series, a
                data frame or a dict names its nodes.
        """
        nodes = cls(graph, x)
        labels = nodes._labels if y is None else nodes.labels_of(y)
        if labels is None:
            raise GraphError("expected labels, data.y or y, found none.")
        known = np.flatnonzero(~unlabelled(labels))
        return nodes[known], np.array(labels[known].tolist())

    @property
    def labels(self) -> Array | None:
        """Labels of these nodes, where the graph has some."""
        return None if self._labels is None else self._labels[self.indices]

    def labels_of(self, y: Any) -> Array:
        """Labels of these nodes: their own, or `y` in their order or by their names."""
        if has_rows(y):
            names = list(node_index(self.data))
            return node_labels(y, {names[i]: place for place, i in enumerate(self.indices)})
        labels = self.labels if y is None else label_array(y, len(self))
        if labels is None:
            raise GraphError("expected labels of the nodes as y, found none.")
        return labels

    def training_data(self, y: Any) -> tuple[Data, Array]:
        """The graph without masks, and labels of all its nodes: `y` for these nodes, None for all others."""
        labels = self.labels_of(y)
        data = copy(self.data)
        for name in (*MASKS, "y"):
            if name in data:
                del data[name]
        of_all = np.full(data.num_nodes, None, object)
        of_all[self.indices] = labels
        return data, of_all

    def is_of(self, data: Data) -> bool:
        """Whether these are nodes of a graph with the same edges."""
        weights = [each.get("edge_weight") for each in (self.data, data)]
        return (
            self.data.num_nodes == data.num_nodes
            and torch.equal(self.data.edge_index, data.edge_index)
            and (weights[0] is weights[1] or (None not in weights and torch.equal(*weights)))
        )

    @property
    def shape(self) -> tuple[int]:
        """The number of nodes, as of an array."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, key: Any) -> Any:
        """Some of the nodes; for a single number its index in the graph."""
        key = key[0] if isinstance(key, tuple) else key
        indices = self.indices[key]
        if indices.ndim == 0:
            return int(indices)
        some = copy(self)
        some.indices = indices
        return some

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Indices of the nodes."""
        return np.array(self.indices, dtype=dtype)

    def __repr__(self) -> str:
        return f"GraphNodes({len(self)} of {self.data.num_nodes} nodes)"


def training_graph(graph: Any, x: Any, y: Any) -> tuple[Data, Array, str]:
    """The graph that a classifier is fitted to, labels of all its nodes, and what there is to say of them."""
    if isinstance(graph, GraphNodes):
        data, labels = graph.training_data(y)
        return data, labels, ""
    data, given = read_labelled(graph, x, y)
    if given is None:
        raise GraphError("expected labels, data.y or y, found none.")
    notes = [data.report if has_rows(x) or has_rows(y) else None, note_of_unlabelled(given)]
    return data, given, "\n".join(note for note in notes if note)


def chosen_rows(rows: Any, graph: Any) -> Any:
    """Rows of all nodes, or of the chosen ones where the graph is a `GraphNodes`."""
    return rows[graph.indices] if isinstance(graph, GraphNodes) else rows


def as_indices(nodes: Any, count: int) -> Array:
    """Nodes as indices, from indices or a mask."""
    indices = np.asarray(nodes)
    if indices.dtype == bool and indices.shape == (count,):
        return np.flatnonzero(indices)
    whole = indices.ndim == 1 and indices.dtype.kind in "iu"
    if not whole or (indices.size and not 0 <= indices.min() <= indices.max() < count):
        raise GraphError(f"nodes: expected numbers from 0 to {count - 1}, or a mask of {count}, found others.")
    return indices
