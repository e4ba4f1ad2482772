"""Nodes and edges that a page shows: few enough to move smoothly, the same ones every time."""

from __future__ import annotations

import numpy as np

from kappagcn.run_folder import Array

MOST_NODES, MOST_EDGES = 2000, 20000
SEED = 20200713


def shown_nodes(nodes: int, most: int = MOST_NODES) -> Array:
    """All nodes, or `most` of them drawn with a fixed seed, in order.

    >>> shown_nodes(3).tolist(), len(shown_nodes(10, most=4))
    ([0, 1, 2], 4)
    """
    if nodes <= most:
        return np.arange(nodes)
    return np.sort(np.random.default_rng(SEED).choice(nodes, most, replace=False))


def edges_among(edges: Array, shown: Array, nodes: int, most: int = MOST_EDGES) -> tuple[Array, int]:
    """At most `most` edges between shown nodes, as positions among them, (E, 2); and the number of all such edges.

    >>> edges_among(np.array([[0, 2], [1, 2]]), np.array([0, 2]), 3)[0].tolist()
    [[0, 1]]
    """
    position = np.full(nodes, -1)
    position[shown] = np.arange(len(shown))
    both = position[edges.reshape(-1, 2).astype(np.int64)]
    both = both[(both >= 0).all(1) & (both[:, 0] != both[:, 1])]
    return both[shown_nodes(len(both), most)], len(both)
