"""Sparse matrices: products with dense rows, the normalised adjacency, and the neighbour sampler."""

from kappagcn.sparse.compressed import CSR, multiply
from kappagcn.sparse.loader import EdgeSampler, KappaNeighborLoader
from kappagcn.sparse.mapped import MappedAdjacency
from kappagcn.sparse.matrix import Matrix, SparseMatrix
from kappagcn.sparse.normalization import NORMALIZATIONS, bipartite_adjacency, normalized_adjacency
from kappagcn.sparse.sampler import NeighbourSampler, Sample, SparseRows

__all__ = [
    "CSR",
    "NORMALIZATIONS",
    "EdgeSampler",
    "KappaNeighborLoader",
    "MappedAdjacency",
    "Matrix",
    "NeighbourSampler",
    "Sample",
    "SparseMatrix",
    "SparseRows",
    "bipartite_adjacency",
    "multiply",
    "normalized_adjacency",
]
