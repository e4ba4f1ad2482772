"""Embedding as something to train."""

from __future__ import annotations

import torch
from torch import Tensor

from kappagcn.embedding.distortion import GraphDistances, distortion
from kappagcn.embedding.points import FreePoints, NetworkPoints

__all__ = ["Embedding"]


class Embedding:
    """The average distortion of all pairs: the loss, what is watched, and whose least value's weights are kept.

    Nothing is random in it, so the loss that is watched after one step is the one whose gradient the next step takes.

    Args:
        points: What is trained.
        distances: Of the graph.
    """

    def __init__(self, points: FreePoints | NetworkPoints, distances: GraphDistances) -> None:
        self.points, self.distances = points, distances
        self._next: Tensor | None = None

    def loss(self) -> Tensor:
        """The average distortion."""
        found, self._next = self._next, None
        return self._distortion() if found is None else found

    def _distortion(self) -> Tensor:
        return distortion(self.points(), self.points.manifold, self.distances)

    def metrics(self) -> dict[str, float]:
        """The average distortion after the step."""
        with torch.enable_grad():
            self._next = self._distortion()
        return {"distortion": float(self._next.detach())}

    def watched(self, metrics: dict[str, float]) -> tuple[float, float]:
        """Stop by the distortion, keep its least value."""
        return metrics["distortion"], -metrics["distortion"]
