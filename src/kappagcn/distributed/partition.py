"""Assignment of nodes to ranks: METIS parts with few edges between them, or by the nodes' numbers."""

from __future__ import annotations

import importlib.util

import numpy as np
import torch
from torch import Tensor

from kappagcn.errors import GraphError

__all__ = ["METHODS", "partition"]

METHODS = ("auto", "metis", "hash")
KNUTH = 2654435761  # multiplier of the hash: neighbouring numbers get different parts


def partition(edge_index: Tensor, num_nodes: int, parts: int, *, method: str = "auto") -> Tensor:
    """Part of each node, (N,), from 0 to parts − 1.

    Args:
        edge_index: Edges in both directions, (2, E).
        num_nodes: Number of nodes N.
        parts: Number of parts.
        method: ``"metis"`` cuts few edges (needs pymetis); ``"hash"`` assigns nodes by their numbers; ``"auto"``:
            METIS where it is installed.

    >>> from kappagcn.graphs import balanced_tree
    >>> tree = balanced_tree(4, 2)
    >>> torch.bincount(partition(tree.edge_index, 31, 2, method="hash")).tolist()
    [16, 15]
    """
    if method not in METHODS:
        raise GraphError(f"method: expected {', '.join(METHODS)}, found {method!r}.")
    if not 1 <= parts <= max(num_nodes, 1):
        raise GraphError(f"parts: expected from 1 to {num_nodes}, as many as there are nodes, found {parts}.")
    installed = importlib.util.find_spec("pymetis") is not None
    if method == "metis" and not installed:
        raise GraphError("method: expected pymetis for METIS (pip install pymetis), found it missing.")
    if parts == 1:
        return torch.zeros(num_nodes, dtype=torch.long)
    if method == "hash" or not installed:
        order = (torch.arange(num_nodes) * KNUTH % 2**32).argsort(stable=True)
        return torch.empty(num_nodes, dtype=torch.long).scatter_(0, order, torch.arange(num_nodes) % parts)
    return _metis(edge_index, num_nodes, parts)


def _metis(edge_index: Tensor, num_nodes: int, parts: int) -> Tensor:
    import pymetis

    source, target = edge_index.numpy()
    apart = source != target  # METIS takes no self-loops
    source, target = source[apart], target[apart]
    order = np.argsort(source, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=num_nodes))])
    _, parts_of_nodes = pymetis.part_graph(parts, pymetis.CSRAdjacency(starts, target[order]))
    owner = torch.tensor(parts_of_nodes, dtype=torch.long)
    for part in (torch.bincount(owner, minlength=parts) == 0).nonzero().flatten().tolist():
        # Small graphs leave parts empty: these get a node of the largest part.
        owner[int((owner == owner.bincount().argmax()).nonzero()[0])] = part
    return owner
