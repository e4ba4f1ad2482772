"""Process groups, the rows of one process, and the exchange of rows between the processes that hold them.

The κ-midpoint needs of a neighbour only its lift [sin_κ·u, cos_κ], so a curved layer sends one column more per factor
than a flat one. Training on parts is `kappagcn.training.Partitioned`.
"""

from kappagcn.distributed.communicator import Communicator
from kappagcn.distributed.group import process_group
from kappagcn.distributed.halo_exchange import Exchange
from kappagcn.distributed.matrix import PartMatrix, cut, part_matrix

__all__ = ["Communicator", "Exchange", "PartMatrix", "cut", "part_matrix", "process_group"]
