"""Ranks as threads of one process, for tests of what ranks exchange."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

TIMEOUT = 30


class ThreadCommunicator:
    """One rank of several threads that exchange rows through shared memory."""

    def __init__(self, rank, world_size, shared, barrier):
        self.rank, self.world_size, self._shared, self._barrier = rank, world_size, shared, barrier

    def all_to_all(self, received, sent, receives=None, sends=None):
        even = [len(sent) // self.world_size] * self.world_size
        self._shared[self.rank] = sent.split(even if sends is None else sends)
        self._barrier.wait(TIMEOUT)
        received.copy_(torch.cat([self._shared[other][self.rank] for other in range(self.world_size)]))
        self._barrier.wait(TIMEOUT)

    def any_rank(self, condition):
        received = torch.empty(self.world_size, dtype=torch.bool)
        self.all_to_all(received, torch.full((self.world_size,), condition))
        return bool(received.any())


def run_ranks(function, world_size=2):
    """The results of ``function(communicator)`` on each rank."""
    shared, barrier = {}, threading.Barrier(world_size)
    ranks = [ThreadCommunicator(rank, world_size, shared, barrier) for rank in range(world_size)]
    with ThreadPoolExecutor(world_size) as pool:
        return [future.result(TIMEOUT) for future in [pool.submit(function, rank) for rank in ranks]]
