r"""Mean average precision: whether a node's neighbours in the graph are its nearest points in the space."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.graphs import adjacency
from kappagcn.nn.point_distances import distances_from

__all__ = ["mean_average_precision"]

BLOCK = 2**23  # distances computed at once


@torch.no_grad()
def mean_average_precision(v: Tensor, manifold: Manifold, graph: Data, nodes: Tensor | None = None) -> float:
    r"""Mean average precision of the neighbours of nodes among their nearest points.

        (1/n) Σ_a (1/|N_a|) Σ_{b ∈ N_a} |N_a ∩ R_ab| / |R_ab|,    R_ab = {c ≠ a : d(a, c) ≤ d(a, b)}

    Args:
        v: Tangent vectors at the origin, (N, D).
        manifold: A space, or a product of spaces whose dimensions sum to D.
        graph: The graph.
        nodes: Nodes a to average over; all by default.

    Returns:
        1 where neighbours are always nearest; NaN where no node has neighbours.

    >>> from kappagcn import ProductManifold
    >>> from kappagcn.graphs import path
    >>> line, plane = torch.arange(4.0)[:, None], ProductManifold.from_signature("E1")
    >>> mean_average_precision(line, plane, path(4))
    1.0
    >>> round(mean_average_precision(line[[1, 0, 2, 3]], plane, path(4)), 3)
    0.771
    """
    links = adjacency(graph)
    if len(v) != links.shape[0]:
        raise GraphError(f"expected {links.shape[0]} points, one for each node, found {len(v)}.")
    linked = torch.from_numpy(np.flatnonzero(np.diff(links.indptr)))
    chosen = linked if nodes is None else nodes[torch.isin(nodes, linked)]
    precisions = []
    for some in chosen.split(max(1, BLOCK // max(1, len(v)))):
        for a, row in zip(some.tolist(), distances_from(v, manifold, some).cpu().numpy(), strict=True):
            near = np.sort(row[links.indices[links.indptr[a] : links.indptr[a + 1]]])
            ranks = np.searchsorted(np.sort(np.delete(row, a)), near, side="right")
            precisions.append((np.searchsorted(near, near, side="right") / ranks).mean())
    return float(np.mean(precisions)) if precisions else float("nan")
