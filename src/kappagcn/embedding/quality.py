"""How well distances in the space follow those in the graph: average, relative and worst-case distortion."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import checked_points, pair_sums
from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.nn.point_distances import distances_from

__all__ = ["Distortion", "measure"]

MEASURED = 2**22  # pairs whose distances are computed at a time


class Distortion(NamedTuple):
    """How well distances in the space follow those in the graph.

    Attributes:
        distortion: The paper's average distortion, the mean of ((d/d_G)² − 1)², or its estimate from sampled pairs.
        d_avg: Mean of abs(d/d_G − 1), or its estimate from sampled pairs.
        worst_distortion: Largest d/d_G over the smallest, of all pairs that were measured.
        unreachable_pairs: Ordered pairs without a path, which do not count.
        distortion_std_error: Standard error of `distortion` over sampled sources; 0 over all pairs.

    >>> Distortion(distortion=0.02, d_avg=0.05, worst_distortion=1.5, unreachable_pairs=0).distortion_std_error
    0.0
    """

    distortion: float
    d_avg: float
    worst_distortion: float
    unreachable_pairs: int
    distortion_std_error: float = 0.0


@torch.no_grad()
def measure(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Distortion:
    """Average and worst-case distortion, over all pairs or those with some sources.

    >>> from kappagcn.geometry import ProductManifold
    >>> from kappagcn.graphs import cycle
    >>> space, distances = ProductManifold.from_signature("E2"), GraphDistances.of(cycle(4))
    >>> square = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(measure(square / 2, space, distances).worst_distortion, 3)  # sides are √2 too long
    1.414
    """
    k, dims = checked_points(v, manifold, distances)
    if distances.near is not None:
        raise GraphError("expected distances of all pairs or of sources to measure, found near pairs beside them.")
    if distances.sources is None:
        (total, least, most, _), *_ = pair_sums(v, k, dims, distances, "distortion", slopes=False)
        (relative, *_), *_ = pair_sums(v, k, dims, distances, "relative", slopes=False)
        d_avg = 2 * relative / distances.pairs if distances.pairs else 0.0
        worst = _worst(least, most, distances.pairs)
        return Distortion(2 * total / max(len(v), 1) ** 2, d_avg, worst, distances.unreachable_pairs)
    rows, relative, least, most = [], 0.0, float("inf"), 0.0
    for places in torch.arange(len(distances.sources)).split(max(1, MEASURED // max(1, len(v)))):
        weights = distances.weights[places].to(v.device)
        ratio = distances_from(v, manifold, distances.sources[places]).square() * weights
        rows.append(torch.where(weights > 0, ratio - 1, 0).square().mean(1))
        counted = ratio[weights > 0]
        if len(counted):
            least, most = min(least, float(counted.min())), max(most, float(counted.max()))
            relative += float((counted.sqrt() - 1).abs().sum())
    averages = torch.cat(rows) if rows else torch.zeros(0)
    error = float(averages.std() / len(averages) ** 0.5) if len(averages) > 1 else float("nan")
    return Distortion(
        float(averages.mean()),
        relative / max(1, distances.pairs),
        _worst(least, most, distances.pairs),
        distances.unreachable_pairs,
        error,
    )


def _worst(least: float, most: float, pairs: int) -> float:
    """The worst-case distortion from the least and the largest (d/d_G)²."""
    return float((most / least) ** 0.5) if 0 < least <= most else float("inf" if pairs else "nan")
