"""A process that computes in several threads, forks, and computes in the child."""

import os

import torch

from kappagcn.kernels import blocks
from kappagcn.nn.aggregation import midpoints
from kappagcn.sparse import normalized_adjacency


def main(n=70_000):
    adjacency = normalized_adjacency(torch.randint(n, (2, n)), num_nodes=n)
    torch.set_num_threads(2)
    own = torch.ones(n, 3), adjacency, torch.tensor([-1.0]), [3]
    expected = midpoints(*own)
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)  # as torch's DataLoader does: its own threads do not survive a fork
        work = []
        blocks.for_row_blocks(n, lambda start, stop, sums: work.append(start))
        is_same = bool((midpoints(*own).numpy() == expected.numpy()).all())
        os._exit(0 if is_same and len(work) == -(-n // blocks.ROWS) else 1)
    assert os.waitpid(child, 0)[1] == 0
