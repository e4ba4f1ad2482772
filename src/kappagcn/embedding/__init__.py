"""Embeddings of graphs whose distances follow those of the graph."""

from kappagcn.embedding.distortion import Distortion, GraphDistances, distortion, measure

__all__ = ["Distortion", "GraphDistances", "distortion", "measure"]
