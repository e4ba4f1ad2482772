"""Graphs with labels, from any object that holds a graph; labels may be numbers or words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError, described
from kappagcn.graphs import Split, as_graph, from_networkx, from_pyg, random_split
from kappagcn.graphs.columns import ColumnRule, encode_columns
from kappagcn.graphs.datasets.names import is_edges
from kappagcn.graphs.io.node_data import as_features
from kappagcn.graphs.io.node_table import MISSING_LABELS
from kappagcn.graphs.io.undirected import counted, node_index
from kappagcn.graphs.node_rows import NodeRows, has_rows, names_by_row, node_rows, row_of_each_node

Array = NDArray[Any]
MANY_LABELS = 20  # labelled nodes from which most of them cannot have classes of their own
STOPPING = 0.1  # share of the labelled nodes that decides when to stop, without masks


def read_labelled(graph: Any, x: Any, y: Any, rules: Any = None) -> tuple[Data, Array | None]:
    """The graph with its features as float32, and its labels as they are; None without features or labels.

    Args:
        graph: Any graph that the estimators take.
        x: Features; data frames and dicts by the names of nodes, arrays in the order of the nodes.
        y: Labels, in the same way, None and NaN for an unknown one; or the name of a column of x.
        rules: ``column_rules`` of the graph that a network was trained on, for features in a data frame.
    """
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
    data, x_rows, y_rows = _with_rows(data, graph, x, y)
    if x_rows is not None:
        order = row_of_each_node(x_rows.names, node_index(data), "x", complete=True)
        columns = encode_columns(x_rows.table, rules and [ColumnRule(**rule) for rule in rules])
        columns.add_to(data, order)
        if columns.unchanged:  # of a file nothing is said of these
            data.report += f"; {columns.sentence}"
    elif x is not None:
        data.x = as_features(x, sparse=sp.issparse(x) or (isinstance(x, Tensor) and x.layout != torch.strided))
        data.attr_names = data.column_rules = None  # of features that the graph had
    if data.get("x") is not None:
        data.x = data.x.float()
        if data.x.shape[0] != data.num_nodes:
            raise GraphError(f"expected features of {data.num_nodes} nodes, found {data.x.shape[0]} rows.")
    if y_rows is not None:
        labels = _labels_of_rows(y_rows, node_index(data))
        known = len(labels) - int(unlabelled(labels).sum())
        data.report += f"; labels of {known:,} nodes"
    elif y is not None:
        labels = label_array(y, data.num_nodes)
    naming = {rows.column: None for rows in (x_rows, y_rows) if rows is not None and rows.column is not None}
    if naming:
        data.report += f"; rows named by {' and '.join(naming)}"
    return data, labels


def _with_rows(data: Data, graph: Any, x: Any, y: Any) -> tuple[Data, NodeRows | None, NodeRows | None]:
    """Features and labels by the nodes that they name, and the graph with those of them that have no edge."""
    if not has_rows(x) and not has_rows(y):
        return data, None, None
    index = node_index(data)
    x_rows = node_rows(x, index, "x") if has_rows(x) else None
    y_rows = None
    if x_rows is not None and isinstance(y, str) and y in x_rows.table.column_names:
        y_rows = x_rows._replace(table=x_rows.table.select([y]))
        x_rows = x_rows._replace(table=x_rows.table.drop_columns([y]))
    elif has_rows(y):
        y_rows = node_rows(y, index, "y", rows_named=x_rows and names_by_row(x, x_rows))
    labels = next(iter(y_rows.table.column_names), "") if y_rows is not None else ""
    if x_rows is not None and labels and labels in x_rows.table.column_names:
        raise GraphError(f"x: expected features without the label, found the column {labels!r}. Leave it out.")
    for role, values, rows in (("x", x, y_rows), ("y", y, x_rows)):
        other = "x" if role == "y" else "y"
        by_position = values is not None and not has_rows(values) and not isinstance(graph, nx.Graph)
        if by_position and rows is not None and _row_count(values) == len(rows.names) and list(index) != rows.names:
            raise GraphError(
                f"{role}: expected values named by nodes, as in {other}, whose rows are not in the order of the nodes, "
                f"found {described(values)}. Pass a data frame, a Series or a dict."
            )
    further = {name: None for rows in (x_rows, y_rows) if rows and rows.may_add for name in rows.names}
    if is_edges(graph) and not further.keys() <= index.keys():
        added = [name for name in further if name not in index]
        data = as_graph(graph, nodes=added)
        data.report = f"{data.report}; {counted(len(added), 'node')} without an edge, from x or y"
    return data, x_rows, y_rows


def node_labels(y: Any, names: Mapping[str, int]) -> Array:
    """Labels of these nodes in their order, (N,): by name where `y` has names, otherwise by position."""
    return _labels_of_rows(node_rows(y, names, "y"), names) if has_rows(y) else label_array(y, len(names))


def _labels_of_rows(rows: NodeRows, index: Mapping[str, int]) -> Array:
    if rows.table.num_columns != 1:
        columns = ", ".join(rows.table.column_names)
        raise GraphError(f"y: expected one column of labels, found {columns}. Choose one, such as frame['label'].")
    values = rows.table.column(0).to_pylist()
    known = [value for value in values if not _is_missing(value)]
    if any(isinstance(value, float) for value in known) and all(float(value).is_integer() for value in known):
        values = [value if _is_missing(value) else int(value) for value in values]  # as pandas keeps them beside NaN
    order = row_of_each_node(rows.names, index, "y", complete=False)
    labels: Array = np.array([*values, None], object)[order]
    return labels


def _row_count(values: Any) -> int | None:
    """Number of rows of features or labels; None for names of attributes and for anything but arrays and lists."""
    if has_rows(values):
        return None
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


def unlabelled(labels: Array, classes: Sequence[Any] | Array | None = None) -> Array:
    """Mask of nodes without a label: None, NaN, a word for a missing value, or −1.

    −1 is a class if it is one of these classes, or without them if −1 and 1 are all that occurs.

    >>> unlabelled(np.array([0, 1, -1])).tolist(), unlabelled(np.array([1, -1, None])).tolist()
    ([False, False, True], [False, False, True])
    """
    values = labels.tolist()
    missing = [_is_missing(value) for value in values]
    if classes is None:
        classes = [value for value, unknown in zip(values, missing, strict=True) if not unknown]
        is_class = set(classes) == {-1, 1}
    else:
        is_class = -1 in list(classes)
    return np.array([gone or (value == -1 and not is_class) for value, gone in zip(values, missing, strict=True)], bool)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and value in MISSING_LABELS)


def note_of_unlabelled(labels: Array) -> str | None:
    """What −1 means, where it may have been meant as a class: beside 0 and 1 alone."""
    values = set(labels[~unlabelled(labels)].tolist())
    count = sum(value == -1 for value in labels.tolist()) if values <= {0, 1} and -1 not in values else 0
    if not count:
        return None
    return f"labels: −1 means no label, in {counted(count, 'node')}. If it is a class, number the classes from 0."


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
    if len(known) >= MANY_LABELS and 2 * len(classes) > len(known):
        raise GraphError(
            f"expected classes that several nodes share, found {len(classes):,} different labels of {len(known):,} "
            f"nodes, such as {known[0]!r}. Is it a measurement or a name?"
        )
    if order is not None and set(order) >= set(classes.tolist()):
        ranks = np.argsort([list(order).index(name) for name in classes.tolist()])
        classes, indices = classes[ranks], np.argsort(ranks)[indices]
    y = np.full(len(labels), -1)
    y[~unknown] = indices
    return classes, torch.from_numpy(y)


def class_indices(labels: Array, classes: Array) -> Array:
    """Indices of labels in the classes, −1 for others."""
    known = {label: i for i, label in enumerate(classes.tolist())}
    indices = np.array([known.get(label, -1) for label in labels.tolist()])
    if (indices < 0).all():
        one, other = classes.tolist()[0], labels.tolist()[0]
        raise GraphError(f"expected labels such as {one!r}, as in fit, found none of those, but {other!r}.")
    return indices


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
