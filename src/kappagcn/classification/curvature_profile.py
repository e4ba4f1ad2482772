"""How well the curvatures of a classifier are determined: cross-entropy on validation nodes as each one is moved.

Weights stay fixed, so the range is that of this network, and narrower than a range from networks retrained at each
curvature would be.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from kappagcn.models import NodeClassifier
from kappagcn.training.curvature_interval import CurvatureInterval, interval_of, upper_limit

__all__ = ["classifier_intervals"]

REFINEMENTS = 6


@torch.no_grad()
def classifier_intervals(
    model: NodeClassifier, x: Any, adjacency: Any, y: Tensor, nodes: Tensor
) -> list[CurvatureInterval | None]:
    """The range of each curvature in which the cross-entropy on nodes is within 1 %; None where κ was not trained.

    Without nodes there are no ranges.

    Args:
        model: A trained network.
        x: Features as the network takes them, (N, D).
        adjacency: Adjacency matrix as the network takes it.
        y: Class of each node, (N,).
        nodes: Validation nodes, (V,).
    """
    if not len(nodes):
        return [None for _ in model.curvatures()]
    model.eval()
    rows = model.tangent(x, adjacency).double().square().sum(1)
    radius = 2 * math.sqrt(float(rows.mean())) or 1.0

    def loss() -> float:
        return float(cross_entropy(model(x, adjacency)[nodes], y[nodes]))

    least = loss()
    intervals: list[CurvatureInterval | None] = []
    for curvature in model.curvatures():
        raw, unit = curvature.raw, curvature.unit
        if not raw.requires_grad or curvature.upper < math.inf:  # HGCN's parameter is not κ itself
            intervals.append(None)
            continue
        restore = partial(raw.copy_, raw.clone())
        interval = interval_of(raw, radius * math.sqrt(unit), loss, restore, least, upper_limit(least), REFINEMENTS)
        intervals.append(interval.in_units(unit**-0.5))
    return intervals
