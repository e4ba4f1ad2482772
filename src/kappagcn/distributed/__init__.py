"""Process groups, parts of a graph, and the exchange of rows between the processes that hold them.

The κ-midpoint needs of a neighbour only its lift [sin_κ·u, cos_κ], so a curved layer sends one column more per factor
than a flat one. Training on parts is `kappagcn.training.Partitioned`.
"""

from kappagcn.distributed.communicator import Communicator
from kappagcn.distributed.halo_exchange import Exchange
from kappagcn.distributed.heartbeat import Heartbeat, process_group
from kappagcn.distributed.matrix import PartMatrix, cut
from kappagcn.distributed.part_folder import Part, is_partition
from kappagcn.distributed.partition import partition

__all__ = [
    "Communicator",
    "Exchange",
    "Heartbeat",
    "Part",
    "PartMatrix",
    "cut",
    "is_partition",
    "partition",
    "process_group",
]
