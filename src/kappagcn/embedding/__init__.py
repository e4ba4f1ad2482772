"""Embeddings of graphs whose distances follow those of the graph."""

from kappagcn.embedding.distortion import Distortion, GraphDistances, distances_from, distortion, measure
from kappagcn.embedding.points import FreePoints, NetworkPoints, hidden_space
from kappagcn.embedding.task import Embedding

__all__ = [
    "Distortion",
    "Embedding",
    "FreePoints",
    "GraphDistances",
    "NetworkPoints",
    "distances_from",
    "distortion",
    "hidden_space",
    "measure",
]
