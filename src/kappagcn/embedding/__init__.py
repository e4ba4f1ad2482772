"""Embeddings of graphs whose distances follow those of the graph."""

from kappagcn.embedding.distortion import Distortion, GraphDistances, distances_from, distortion, measure
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.embedding.near import NearPairs
from kappagcn.embedding.points import FreePoints, NetworkPoints, hidden_space
from kappagcn.embedding.precision import mean_average_precision
from kappagcn.embedding.start import fitting_space
from kappagcn.embedding.task import Embedding, SampledEmbedding

__all__ = [
    "Distortion",
    "Embedding",
    "FreePoints",
    "GraphDistances",
    "GraphEmbedder",
    "NearPairs",
    "NetworkPoints",
    "SampledEmbedding",
    "distances_from",
    "distortion",
    "fitting_space",
    "hidden_space",
    "mean_average_precision",
    "measure",
]
