"""How often neighbours are of the same class, compared with chance."""

from __future__ import annotations

import math

from torch import Tensor
from torch_geometric.data import Data

LOW = 0.1  # adjusted homophily below which the classes of neighbours say almost nothing about a node's class


def homophily(data: Data, nodes: Tensor | None = None) -> tuple[float, float, int]:
    """Share of edges that join nodes of one class; that share adjusted for chance; number of edges counted.

    The adjusted measure (Platonov et al. 2023) is 1 where all edges join nodes of one class, and 0 where they do so as
    often as edges drawn at random between the same degrees. Both are NaN without edges between labelled nodes.

    Args:
        data: A graph with classes.
        nodes: Nodes whose classes may be used, (M,); all by default.

    >>> import torch
    >>> square = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]]))
    >>> square.y = torch.tensor([0, 1, 0, 1])
    >>> homophily(square)  # every edge joins two classes, where chance would give a half
    (0.0, -1.0, 4)
    """
    labels = data.y
    if nodes is not None:
        labels = labels.new_full(labels.shape, -1)
        labels[nodes] = data.y[nodes]
    ends = labels[data.edge_index]
    ends = ends[:, (ends >= 0).all(dim=0)]
    if not ends.shape[1]:
        return float("nan"), float("nan"), 0
    same = float((ends[0] == ends[1]).double().mean())
    shares = ends[0].bincount().double() / ends.shape[1]
    chance = float(shares.square().sum())
    return same, (same - chance) / (1 - chance) if chance < 1 else 1.0, ends.shape[1] // 2


def is_heterophilous(data: Data, nodes: Tensor) -> bool:
    """Whether neighbours share a class hardly more often than by chance, judged from the classes of some nodes.

    The upper end of the 95 % interval of the share (Agresti and Coull) is compared, so that a few edges are not enough
    for a yes.

    >>> import torch
    >>> square = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]]))
    >>> square.y = torch.tensor([0, 1, 0, 1])
    >>> is_heterophilous(square, torch.arange(4))  # four edges are too few to tell
    False
    """
    same, adjusted, edges = homophily(data, nodes)
    if not edges or adjusted >= LOW:
        return False
    chance = (same - adjusted) / (1 - adjusted)
    share = (same * edges + 2) / (edges + 4)
    return share + 1.96 * math.sqrt(share * (1 - share) / (edges + 4)) < chance + LOW * (1 - chance)
