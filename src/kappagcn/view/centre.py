"""The most central node of a graph, and the nodes near it."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from kappagcn.run_folder import Array

CLOSE = 0.6  # share of the disk or globe below which its points are drawn enlarged


def central_node(edges: Array, nodes: int) -> int:
    """The middle of a longest path of the largest component, by three searches; exact in trees.

    >>> central_node(np.array([[0, 1], [1, 2], [2, 3], [3, 4]]), 5)
    2
    """
    graph = adjacency(edges, nodes)
    parts = connected_components(graph, directed=False)[1]
    start = int(np.flatnonzero(parts == np.bincount(parts).argmax())[0])
    from_one = depths(edges, nodes, _farthest(depths(edges, nodes, start)))
    from_other = depths(edges, nodes, _farthest(from_one))
    longest, both = np.maximum(from_one, from_other), from_one + from_other
    return int(np.lexsort((np.arange(nodes), -np.diff(graph.indptr), both, longest))[0])


def depths(edges: Array, nodes: int, start: int) -> Array:
    """Steps from a node to all, (N,); infinite where there is no path."""
    return np.asarray(dijkstra(adjacency(edges, nodes), directed=True, indices=start, unweighted=True))


def node_numbers(edges: Array, nodes: int, start: int) -> tuple[str, Array]:
    """Numbers by which nodes without classes are coloured: steps from the most central node, ("depth", (N,)).

    If that node is the neighbour of all others, degrees are used instead, ("degree", (N,)).

    >>> node_numbers(np.array([[0, 1], [1, 2], [2, 3]]), 4, 1)[0], node_numbers(np.array([[0, 1], [0, 2]]), 3, 0)[0]
    ('depth', 'degree')
    """
    steps = depths(edges, nodes, start)
    if steps[np.isfinite(steps)].max() > 1:
        return "depth", steps
    return "degree", degrees(edges, nodes)


def degrees(edges: Array, nodes: int) -> Array:
    """The number of neighbours of each node, (N,)."""
    return np.bincount(edges.ravel().astype(np.int64), minlength=nodes).astype(float)


def nodes_near(edges: Array, nodes: int, start: int, most: int) -> Array:
    """All nodes, or the `most` nodes with the fewest steps from a node, sorted; unreachable nodes come last.

    >>> nodes_near(np.array([[0, 1], [1, 2], [2, 3]]), 5, 1, 3).tolist()
    [0, 1, 2]
    """
    if nodes <= most:
        return np.arange(nodes)
    return np.sort(np.lexsort((np.arange(nodes), depths(edges, nodes, start)))[:most])


def adjacency(edges: Array, nodes: int, lengths: Array | None = None) -> Any:
    """Both directions of all edges as a sparse matrix, of ones or of their lengths."""
    both = np.concatenate([edges, edges[:, ::-1]]).astype(np.int32)  # searches of SciPy 1.14 need 32-bit indices
    values = np.ones(len(both), np.int8) if lengths is None else np.concatenate([lengths, lengths])
    return csr_array((values, (both[:, 0], both[:, 1])), shape=(nodes, nodes))


def _farthest(steps: Array) -> int:
    return int(np.where(np.isfinite(steps), steps, -1).argmax())
