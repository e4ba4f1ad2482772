"""Which nodes and edges a page shows: few enough to move smoothly, the same ones every time."""

from __future__ import annotations

import numpy as np

from kappagcn.run_folder import Array

__all__ = ["MOST_EDGES", "MOST_NODES", "edges_among", "shown_nodes"]

MOST_NODES, MOST_EDGES = 2000, 20000
SEED = 20200713


def shown_nodes(nodes: int, most: int = MOST_NODES) -> Array:
    """All nodes, or so many drawn with a fixed seed, in order.

    >>> shown_nodes(3).tolist(), len(shown_nodes(10, most=4))
    ([0, 1, 2], 4)
    """
    return _some(nodes, most)


def edges_among(edges: Array, shown: Array, nodes: int, most: int = MOST_EDGES) -> tuple[Array, int]:
    """Edges between shown nodes as places among them, (E, 2), at most so many; and how many there are.

    >>> edges_among(np.array([[0, 2], [1, 2]]), np.array([0, 2]), 3)[0].tolist()
    [[0, 1]]
    """
    place = np.full(nodes, -1)
    place[shown] = np.arange(len(shown))
    both = place[edges.reshape(-1, 2).astype(np.int64)]
    both = both[(both >= 0).all(1) & (both[:, 0] != both[:, 1])]
    return both[_some(len(both), most)], len(both)


def _some(count: int, most: int) -> Array:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, most, replace=False))
