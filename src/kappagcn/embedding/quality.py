"""How well an embedding follows its graph: distortions, the histogram of d/d_G, coincident nodes, mean precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import checked_points
from kappagcn.errors import EmbeddingFailedError, GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.graphs import adjacency
from kappagcn.nn.point_distances import distances_from

Array = NDArray[Any]
MEASURED = 2**22  # pairs whose distances are computed at a time
COINCIDENT = 1e-3  # d/d_G below which two nodes coincide
RATIO_EDGES = np.linspace(0, 2, 51)  # borders of the bins of the histogram of d/d_G, the last of which is open


class Distortion(NamedTuple):
    """How well distances in the space follow those in the graph.

    Attributes:
        distortion: The paper's average distortion, the mean of ((d/d_G)² − 1)², or its estimate from sampled pairs.
        d_avg: Mean of abs(d/d_G − 1), or its estimate from sampled pairs.
        worst_distortion: Largest d/d_G over the smallest, of all pairs that were measured.
        unreachable_pairs: Ordered pairs without a path, which do not count.
        distortion_std_error: Standard error of `distortion` over sampled sources; 0 over all pairs.
        coincident_nodes: Numbers of the nodes that coincide with another one, among those measured from, (C,).
        ratio_counts: Number of pairs in each bin of d/d_G with the borders `RATIO_EDGES`, (B,).

    >>> Distortion(distortion=0.02, d_avg=0.05, worst_distortion=1.5, unreachable_pairs=0).distortion_std_error
    0.0
    """

    distortion: float
    d_avg: float
    worst_distortion: float
    unreachable_pairs: int
    distortion_std_error: float = 0.0
    coincident_nodes: Array = np.zeros(0, np.int64)
    ratio_counts: Array = np.zeros(len(RATIO_EDGES) - 1, np.int64)


@torch.no_grad()
def measure(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Distortion:
    """All measures in one pass over all pairs, or those with some sources.

    >>> from kappagcn.geometry import ProductManifold
    >>> from kappagcn.graphs import cycle
    >>> space, distances = ProductManifold.from_signature("E2"), GraphDistances.of(cycle(4))
    >>> square = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(measure(square / 2, space, distances).worst_distortion, 3)  # sides are √2 too long
    1.414
    """
    checked_points(v, manifold, distances)
    if distances.near is not None:
        raise GraphError("expected distances of all pairs or of sources to measure, found near pairs beside them.")
    rows, coincident = [torch.zeros(0, dtype=torch.float64)], [torch.zeros(0, dtype=torch.long)]
    relative, least, most, counts = 0.0, float("inf"), 0.0, np.zeros(len(RATIO_EDGES) - 1, np.int64)
    for sources, ratio, counted in _ratios(v, manifold, distances):
        rows.append(torch.where(counted, ratio.square() - 1, 0).square().mean(1))
        coincident.append(sources[(counted & (ratio < COINCIDENT)).any(1)])
        known = ratio[counted]
        counts += np.histogram(known.clamp(max=RATIO_EDGES[-1]).numpy(), RATIO_EDGES)[0]
        if len(known):
            relative += float((known - 1).abs().sum())
            least, most = min(least, float(known.min())), max(most, float(known.max()))
    averages, known_pairs = torch.cat(rows), max(1, distances.pairs)
    error = 0.0 if distances.sources is None else float("nan")
    if distances.sources is not None and len(averages) > 1:
        error = float(averages.std() / len(averages) ** 0.5)
    return Distortion(
        float(averages.mean()) if len(averages) or distances.sources is not None else 0.0,
        relative / known_pairs,
        most / least if 0 < least <= most else float("inf" if distances.pairs else "nan"),
        distances.unreachable_pairs,
        error,
        torch.cat(coincident).numpy(),
        counts,
    )


@torch.no_grad()
def best_scale(v: Tensor, manifold: Manifold, distances: GraphDistances) -> float:
    """The factor c that minimises the mean of (c d/d_G − 1)²; for points whose objective has no unit of length."""
    once, twice = 0.0, 0.0
    for _, ratio, counted in _ratios(v, manifold, distances):
        once, twice = once + float(ratio[counted].sum()), twice + float(ratio[counted].square().sum())
    return once / twice if twice > 0 else 1.0


def _ratios(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some sources at a time, their d/d_G to all nodes, and which of these pairs count."""
    sources = torch.arange(len(distances)) if distances.sources is None else distances.sources
    for places in torch.arange(len(sources)).split(max(1, MEASURED // max(1, len(distances)))):
        weights = distances.weights[places].double()
        yield sources[places], distances_from(v, manifold, sources[places]).cpu() * weights.sqrt(), weights > 0


def check_result(embedder: Any, run: Any) -> None:
    """Refuse an embedding that is no better than all points at one place."""
    trivial = run.distances.pairs / max(1, run.distances.weights.numel())
    if embedder.objective == "distortion" and trivial > 0 and not embedder.distortion_ < trivial:
        raise EmbeddingFailedError("average distortion", embedder.distortion_, trivial, embedder.space)
    if embedder.objective in ("relative", "stress") and not embedder.d_avg_ < 1:
        raise EmbeddingFailedError("D_avg", embedder.d_avg_, 1.0, embedder.space)


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
    for some in chosen.split(max(1, MEASURED // max(1, len(v)))):
        for a, row in zip(some.tolist(), distances_from(v, manifold, some).cpu().numpy(), strict=True):
            near = np.sort(row[links.indices[links.indptr[a] : links.indptr[a + 1]]])
            ranks = np.searchsorted(np.sort(np.delete(row, a)), near, side="right")
            precisions.append((np.searchsorted(near, near, side="right") / ranks).mean())
    return float(np.mean(precisions)) if precisions else float("nan")
