"""Threads of torch while an estimator works on a small graph."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.kernels.dispatch import compiled
from kappagcn.kernels.threads import threads_for

__all__ = ["threads_for_graph", "threads_for_pairs"]

SMALL = 2**22  # numbers in the largest array of a step below which a second thread gains little
COLUMNS = 32  # a usual number of columns of a layer's rows


def threads_for_graph(data: Data) -> AbstractContextManager[None]:
    """A context in which torch has one thread if a network's operations on this graph are small, see `threads_for`."""
    x = data.get("x")
    return threads_for(max(data.num_nodes * COLUMNS, data.num_edges, 0 if x is None else _nonzeros(x)), SMALL)


def threads_for_pairs(data: Data) -> AbstractContextManager[None]:
    """A context with one thread of torch if operations on all pairs of nodes are small or done by compiled loops."""
    is_compiled = compiled("point_pairs") is not None
    return threads_for(data.num_nodes * (COLUMNS if is_compiled else data.num_nodes), SMALL)


def _nonzeros(x: Tensor) -> int:
    return int(x.count_nonzero()) if x.layout == torch.strided else x._nnz()
