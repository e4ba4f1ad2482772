"""Lift, sum and lower of many rows compiled by numba, where it is installed: two passes in each direction.

All factors of a product go in the same pass: a row (v_1, …, v_F) is lifted to (n_1, …, n_F, h_1, …, h_F). The
mathematics, and the same in torch, are in :mod:`kappagcn.nn.rows`; :mod:`kappagcn.nn.midpoints` chooses between them.
"""

from kappagcn.nn.kernels.blocks import Factors
from kappagcn.nn.kernels.lifting import lift, lift_backward
from kappagcn.nn.kernels.lowering import Sums, lower_backward, sum_and_lower
from kappagcn.nn.kernels.planes import distances, distances_backward

__all__ = [
    "Factors",
    "Sums",
    "distances",
    "distances_backward",
    "lift",
    "lift_backward",
    "lower_backward",
    "sum_and_lower",
]
