"""Connected components, and the subgraph on some of the nodes."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.graphs.io.node_data import as_features, from_tensor
from kappagcn.graphs.io.undirected import Array, adjacency, assemble, connected_components

NOT_PER_NODE = ("name", "attr_names", "class_names")  # even where their length equals the number of nodes


def components(data: Data) -> Array:
    """The component of each node, (N,), numbered by size from the largest; ties by their first node.

    >>> from kappagcn.graphs import assemble
    >>> two = assemble(np.array([0, 2, 3]), np.array([1, 3, 4]), num_nodes=5)
    >>> components(two)
    array([1, 1, 0, 0, 0])
    """
    count, labels = connected_components(adjacency(data, weighted=False))
    first_node = np.empty(count, np.int64)
    first_node[labels[::-1]] = np.arange(len(labels))[::-1]
    rank = np.empty(count, np.int64)
    rank[np.lexsort((first_node, -np.bincount(labels)))] = np.arange(count)
    ranked: Array = rank[labels]
    return ranked


def largest_component(data: Data) -> Data:
    """The nodes of the largest component, in their old order, with everything that belongs to them.

    >>> from kappagcn.graphs import assemble
    >>> two = assemble(np.array([0, 2, 3]), np.array([1, 3, 4]), num_nodes=5)
    >>> largest_component(two).num_nodes
    3
    """
    inside = components(data) == 0
    return data if inside.all() else induced_subgraph(data, np.flatnonzero(inside))


def induced_subgraph(data: Data, nodes: Array) -> Data:
    """The subgraph on some nodes, in the order given.

    Attributes with one entry per node are restricted to these nodes; other attributes stay.

    >>> from kappagcn.graphs import cycle
    >>> induced_subgraph(cycle(5), np.array([1, 2, 4])).edge_index.tolist()
    [[0, 1], [1, 0]]
    """
    n = data.num_nodes
    position = np.full(n, -1)
    position[nodes] = np.arange(len(nodes))
    rows, cols = position[data.edge_index.numpy()]
    inner = (rows >= 0) & (cols >= 0)
    rebuilt = ("edge_index", "edge_weight", "num_nodes", "report")
    attributes = {key: value for key, value in data.to_dict().items() if key not in rebuilt}
    weights = data.get("edge_weight")
    return assemble(
        rows[inner],
        cols[inner],
        len(nodes),
        weights=None if weights is None else weights.numpy()[inner],
        notes=[f"cut from a graph of {data.get('report') or f'{n:,} nodes'}"],
        **{key: value if key in NOT_PER_NODE else _restricted(value, nodes, n) for key, value in attributes.items()},
    )


def _restricted(value: Any, nodes: Array, n: int) -> Any:
    """The entries of some nodes, if the value has one entry for each of n nodes; otherwise the value."""
    if isinstance(value, Tensor) and value.layout == torch.sparse_csr and value.shape[0] == n:
        return as_features(from_tensor(value)[nodes], sparse=True)
    if isinstance(value, Tensor) and value.dim() and value.shape[0] == n:
        return value[torch.from_numpy(nodes)]
    if isinstance(value, list) and len(value) == n:
        return [value[i] for i in nodes]
    return value
