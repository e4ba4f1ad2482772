"""Lift, lower and distances to hyperplanes of many rows, compiled: two passes in each direction.

All factors of a product go in the same pass: a row (v_1, …, v_F) is lifted to (n_1, …, n_F, h_1, …, h_F). The
mathematics, and the same in torch, are in :mod:`kappagcn.nn.rows`; :mod:`kappagcn.nn.midpoints` chooses between them.
"""

from kappagcn.kernels.blocks import Factors
from kappagcn.kernels.lifting import lift, lift_backward
from kappagcn.kernels.lowering import Lowered, add_far, lower, lower_backward
from kappagcn.kernels.planes import distances, distances_backward

__all__ = [
    "Factors",
    "Lowered",
    "add_far",
    "distances",
    "distances_backward",
    "lift",
    "lift_backward",
    "lower",
    "lower_backward",
]
