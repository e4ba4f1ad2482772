"""All compiled functions for pairs of points, as one module for `dispatch`."""

from kappagcn.kernels.pair_distances import distances_from
from kappagcn.kernels.pairs import all_pairs, listed_pairs
from kappagcn.kernels.point_blocks import Rows
from kappagcn.kernels.ranks import ranked_rows

__all__ = ["Rows", "all_pairs", "distances_from", "listed_pairs", "ranked_rows"]
