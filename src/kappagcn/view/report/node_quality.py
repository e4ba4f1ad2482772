"""Distortion of the distances of each node."""

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from kappagcn.geometry.ambient import tangent_cdist
from kappagcn.run_folder import Array, Embedded
from kappagcn.view.centre import adjacency

MOST_OTHERS = 256  # nodes to which distances are compared
SEED = 20200713  # the same nodes every time


def node_distortion(embedded: Embedded) -> Array:
    """Mean of |d/d_G − 1| from each node to the others, or to 256 of them, (N,); NaN for a node without a path."""
    nodes = len(embedded.tangent)
    others = np.arange(nodes)
    if nodes > MOST_OTHERS:
        others = np.sort(np.random.default_rng(SEED).choice(nodes, MOST_OTHERS, replace=False))
    graph = adjacency(embedded.edges, nodes, embedded.lengths)
    total, count = np.zeros(nodes), np.zeros(nodes)
    for block in np.array_split(others, max(1, len(others) // 32)):
        paths = dijkstra(graph, directed=True, indices=block, unweighted=embedded.lengths is None)
        valid = np.isfinite(paths) & (paths > 0)
        ratios = _distances(embedded, block).numpy() / np.where(valid, paths, 1)
        total += np.where(valid, np.abs(ratios - 1), 0).sum(0)
        count += valid.sum(0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@torch.no_grad()
def _distances(embedded: Embedded, block: Array) -> Tensor:
    """Distances in the space of some nodes from all, (S, N)."""
    v = torch.as_tensor(embedded.tangent).double()
    total = torch.zeros(len(block), len(v), dtype=torch.float64)
    for k, part in embedded.factors:
        total += tangent_cdist(v[torch.as_tensor(block)][:, part], v[:, part], k=k) ** 2
    return total.sqrt()
