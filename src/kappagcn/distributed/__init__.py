"""Full-graph training over several workers: each holds its rows of Â and sends what its neighbours' rows need.

The κ-midpoint needs of a neighbour only its lift [sin_κ·u, cos_κ], so a curved layer sends one column more per factor
than a flat one. Loss, gradients and curvatures are those of one process.
"""

from kappagcn.distributed.exchange import Exchange
from kappagcn.distributed.fit import PartTrainer, fit_parts
from kappagcn.distributed.matrix import PartMatrix, cut
from kappagcn.distributed.partition import partition
from kappagcn.distributed.workers import Workers, joined

__all__ = [
    "Exchange",
    "PartMatrix",
    "PartTrainer",
    "Workers",
    "cut",
    "fit_parts",
    "joined",
    "partition",
]
