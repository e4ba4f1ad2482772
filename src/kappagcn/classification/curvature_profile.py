"""How well the curvatures of a classifier are determined: cross-entropy on validation nodes as each one is moved.

Weights stay fixed, so the range is that of this network, and narrower than a range from networks retrained at each
curvature would be.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from kappagcn.embedding.curvature_interval import FIRST, LARGEST, TOLERANCE, CurvatureInterval
from kappagcn.models import NodeClassifier
from kappagcn.training.scale_free import ScaleFreeCurvature

__all__ = ["classifier_intervals"]

BISECTIONS = 10


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
        if not curvature.raw.requires_grad or curvature.upper < math.inf:  # HGCN's parameter is not κ itself
            intervals.append(None)
            continue
        kept, unit = curvature.raw.clone(), curvature.unit
        scaled = ScaleFreeCurvature(curvature.raw, radius * math.sqrt(unit))
        (low, below), (high, above) = (_walk(scaled, side, least, loss, kept) for side in (-1, 1))
        profile = sorted((unit * raw, value) for raw, value in [(float(kept), least), *below, *above])
        low, high = (None if end is None else unit * end for end in (low, high))
        intervals.append(CurvatureInterval(unit * float(kept), low, high, profile))
    return intervals


def _walk(
    curvature: ScaleFreeCurvature, side: int, least: float, loss: Any, kept: Tensor
) -> tuple[float | None, list[tuple[float, float]]]:
    """Move in steps of doubling length until the loss has risen by 1 %, then find the end by bisection."""
    start, limit, walked, step = curvature.u, (1 + TOLERANCE) * least, [], FIRST

    def at(distance: float) -> float:
        curvature.u = start + side * distance
        value = loss()
        walked.append((float(curvature.kappa), value if math.isfinite(value) else limit * 10))
        return walked[-1][1]

    inside, end = 0.0, None
    while step <= LARGEST and at(step) <= limit:
        inside, step = step, 2 * step
    if step <= LARGEST:
        outside = step
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if at(middle) <= limit else (inside, middle)
        curvature.u = start + side * inside
        end = float(curvature.kappa)
    curvature.kappa.copy_(kept)
    return end, walked
