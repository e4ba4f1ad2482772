"""Measures of an embedding for figures and reports: ratios of distances, coincident nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import MEASURED
from kappagcn.errors import EmbeddingFailedError
from kappagcn.geometry.manifold import Manifold
from kappagcn.nn.point_distances import distances_from

__all__ = ["best_scale", "check_result", "coincident_nodes", "ratio_histogram"]

Array = NDArray[Any]
LARGEST, BINS = 2.0, 50  # bins of the histogram of d/d_G
COINCIDENT = 1e-3  # d/d_G below which two nodes coincide


@torch.no_grad()
def ratio_histogram(v: Tensor, manifold: Manifold, distances: GraphDistances) -> tuple[Array, Array]:
    """Number of pairs in each bin of d/d_G, (B,), the last of which is open, and the borders of the bins, (B + 1,)."""
    edges = np.linspace(0, LARGEST, BINS + 1)
    counts = np.zeros(BINS, np.int64)
    for sources, weights in _blocks(distances):
        stretch = distances_from(v, manifold, sources).numpy() * np.sqrt(weights)
        counts += np.histogram(np.minimum(stretch[weights > 0], LARGEST), edges)[0]
    return counts, edges


@torch.no_grad()
def best_scale(v: Tensor, manifold: Manifold, distances: GraphDistances) -> float:
    """The factor c that minimises the mean of (c d/d_G − 1)²; for points whose objective has no unit of length."""
    once, twice = 0.0, 0.0
    for sources, weights in _blocks(distances):
        ratio = distances_from(v, manifold, sources).numpy() * np.sqrt(weights)
        once, twice = once + float(ratio.sum()), twice + float((ratio**2).sum())
    return once / twice if twice > 0 else 1.0


@torch.no_grad()
def coincident_nodes(v: Tensor, manifold: Manifold, distances: GraphDistances) -> Array:
    """Numbers of the nodes that coincide with another node, among those whose distances are known, (C,)."""
    places = []
    for sources, weights in _blocks(distances):
        ratio = distances_from(v, manifold, sources).numpy() * np.sqrt(weights)
        coincident = ((ratio < COINCIDENT) & (weights > 0)).any(1)
        places.append(sources.numpy()[coincident])
    return np.concatenate(places) if places else np.empty(0, np.int64)


def _blocks(distances: GraphDistances) -> Any:
    """Sources and their weights 1/d_G², a few at a time."""
    sources = torch.arange(len(distances)) if distances.sources is None else distances.sources
    for some in torch.arange(len(sources)).split(max(1, MEASURED // max(1, len(distances)))):
        yield sources[some], distances.weights[some].double().numpy()


def check_result(embedder: Any, run: Any) -> None:
    """Refuse an embedding that is no better than all points at one place."""
    trivial = run.distances.pairs / max(1, run.distances.weights.numel())
    if embedder.objective == "distortion" and trivial > 0 and not embedder.distortion_ < trivial:
        raise EmbeddingFailedError("average distortion", embedder.distortion_, trivial, embedder.space)
    if embedder.objective in ("relative", "stress") and not embedder.d_avg_ < 1:
        raise EmbeddingFailedError("D_avg", embedder.d_avg_, 1.0, embedder.space)
