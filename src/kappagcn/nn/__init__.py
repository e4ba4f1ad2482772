"""Layers for PyTorch Geometric in spaces of constant curvature. Tangent vectors at the origin go in and come out."""

from kappagcn.nn.aggregation import aggregate, capped_rows
from kappagcn.nn.appnp import KappaAPPNP
from kappagcn.nn.conv import KappaGCNConv
from kappagcn.nn.decoders import DotDecoder, FermiDiracDecoder
from kappagcn.nn.features import PointFeatures, TangentFeatures, point_features, tangent_features
from kappagcn.nn.gat import KappaGATConv
from kappagcn.nn.hgcn import HGCNConv
from kappagcn.nn.layers import KappaActivation, KappaDropout, KappaLinear, KappaLogits, KappaPool, linear, logits, pool
from kappagcn.nn.pair_distances import pair_squares
from kappagcn.nn.sage import KappaSAGEConv
from kappagcn.sparse import KappaNeighborLoader, SparseMatrix, bipartite_adjacency, normalized_adjacency

__all__ = [
    "DotDecoder",
    "FermiDiracDecoder",
    "HGCNConv",
    "KappaAPPNP",
    "KappaActivation",
    "KappaDropout",
    "KappaGATConv",
    "KappaGCNConv",
    "KappaLinear",
    "KappaLogits",
    "KappaNeighborLoader",
    "KappaPool",
    "KappaSAGEConv",
    "PointFeatures",
    "SparseMatrix",
    "TangentFeatures",
    "aggregate",
    "bipartite_adjacency",
    "capped_rows",
    "linear",
    "logits",
    "normalized_adjacency",
    "pair_squares",
    "point_features",
    "pool",
    "tangent_features",
]
