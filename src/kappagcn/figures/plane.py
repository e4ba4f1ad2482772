"""Two dimensions of many: points projected onto the totally geodesic surface that shows most of them."""

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from torch import Tensor

from kappagcn.geometry import lift, lower
from kappagcn.run_folder import Array, principal


def best_plane(tangent: Tensor, k: float) -> tuple[Tensor, float]:
    """Tangent vectors (N, D) in two dimensions, (N, 2), and the share of their squared lengths that remains.

    The plane is spanned by the two principal directions of the tangent vectors. Points go there along geodesics at
    right angles to it: in ambient coordinates the other directions are dropped and the rest is scaled back onto the
    sphere or hyperboloid. Two dimensions or fewer are left as they are.
    """
    v = tangent.double()
    if v.shape[1] <= 2:
        return torch.nn.functional.pad(v, (0, 2 - v.shape[1])), 1.0
    axes, share = principal(v.numpy())
    lifted = lift(v, k=k)
    return lower(torch.cat([lifted[:, :-1] @ torch.from_numpy(axes[:, :2].copy()), lifted[:, -1:]], dim=1), k=k), share


def central_node(edges: Array, nodes: int) -> int:
    """The middle of a longest path of the largest component, by three searches; exact in trees.

    >>> central_node(np.array([[0, 1], [1, 2], [2, 3], [3, 4]]), 5)
    2
    """
    graph = _graph(edges, nodes)
    parts = connected_components(graph, directed=False)[1]
    start = int(np.flatnonzero(parts == np.bincount(parts).argmax())[0])
    from_one = depths(edges, nodes, _farthest(depths(edges, nodes, start)))
    from_other = depths(edges, nodes, _farthest(from_one))
    longest, both = np.maximum(from_one, from_other), from_one + from_other
    return int(np.lexsort((np.arange(nodes), -np.diff(graph.indptr), both, longest))[0])


def depths(edges: Array, nodes: int, start: int) -> Array:
    """Steps from a node to all, (N,); infinite where there is no path."""
    return np.asarray(dijkstra(_graph(edges, nodes), directed=True, indices=start, unweighted=True))


def _farthest(steps: Array) -> int:
    return int(np.where(np.isfinite(steps), steps, -1).argmax())


def _graph(edges: Array, nodes: int) -> Any:
    both = np.concatenate([edges, edges[:, ::-1]])
    return csr_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(nodes, nodes))
