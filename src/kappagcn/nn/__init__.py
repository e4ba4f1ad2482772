"""Layers for PyTorch Geometric in spaces of constant curvature. Tangent vectors at the origin go in and come out."""

from kappagcn.graphs.sparse import SparseMatrix, normalized_adjacency
from kappagcn.nn.conv import KappaGCNConv
from kappagcn.nn.functional import aggregate

__all__ = ["KappaGCNConv", "SparseMatrix", "aggregate", "normalized_adjacency"]
