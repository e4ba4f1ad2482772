"""A worker's rows of a sparse matrix: it multiplies with the rows of all workers."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from kappagcn.distributed.exchange import Exchange, spread
from kappagcn.errors import GraphError
from kappagcn.sparse import SparseMatrix

__all__ = ["PartMatrix", "cut"]


class PartMatrix(SparseMatrix):
    """Rows of a square matrix that live here, (own, own + halo): columns are own nodes, then others' that they need.

    A layer takes it in place of the whole matrix, with own rows of features, and gives own rows. Every worker has to
    take part in every product, in the same order.

    Args:
        rows: Row of each entry, (E,).
        cols: Column of each entry, (E,).
        values: Entries, (E,).
        shape: (own, own + halo).
        exchange: Where the rows of others come from.
    """

    def __init__(self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int], exchange: Exchange) -> None:
        super().__init__(rows, cols, values, shape)
        self.exchange = exchange

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "exchange": self.exchange}

    def spread(self, x: Tensor) -> Tensor:
        """Own rows, then those of others."""
        return spread(x, self.exchange)

    def gather(self, x: Tensor) -> Tensor:
        """The same without a gradient."""
        return self.exchange.gather(x)

    def give_back(self, grad: Tensor) -> Tensor:
        """Gradients by the rows of others go to where those live."""
        return self.exchange.give_back(grad)

    def anywhere(self, found: bool) -> bool:
        """Whether any worker found it: all have to go the same way."""
        flag = torch.tensor(float(found))
        dist.all_reduce(flag, dist.ReduceOp.MAX)
        return bool(flag)

    def check(self, x: Tensor) -> None:
        """Refuse what are not the rows that live here."""
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[0] != self.shape[0] or not x.is_floating_point():
            found = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise GraphError(f"expected the ({self.shape[0]}, D) rows of this worker, found {found}.")

    def sampled(self, share: float) -> PartMatrix:
        """With a random share of the others' rows, whose entries grow by 1/share: without bias, and cheaper."""
        kept = torch.rand(self.exchange.halo) < share
        own = self.shape[0]
        places = torch.cat([torch.arange(own), torch.where(kept, own + kept.cumsum(0) - 1, -1)])
        cols = places.to(self.cols.device)[self.cols]
        here = cols >= 0
        values = torch.where(self.cols < own, self.values, self.values / share)[here]
        shape = (own, own + int(kept.sum()))
        return PartMatrix(self.rows[here], cols[here], values, shape, self.exchange.part(kept))


def cut(matrix: SparseMatrix, owner: Tensor, rank: int) -> tuple[Tensor, PartMatrix]:
    """The nodes of a worker, (own,), in their order, and its rows of the whole matrix.

    Args:
        matrix: (N, N); only the rows of this worker are looked at.
        owner: Worker of each node, (N,).
        rank: This worker's number.
    """
    own = (owner == rank).nonzero().flatten()
    device, everywhere = matrix.values.device, matrix.rows.cpu()
    mine = owner[everywhere] == rank
    rows, cols, values = everywhere[mine], matrix.cols.cpu()[mine], matrix.values[mine.to(device)]
    others = cols[owner[cols] != rank].unique()
    halo = others[owner[others].argsort(stable=True)]
    place = torch.empty(len(owner), dtype=torch.long)  # of each node on its own worker
    for worker in range(dist.get_world_size()):
        theirs = (owner == worker).nonzero().flatten()
        place[theirs] = torch.arange(len(theirs))
    exchange = Exchange(len(own), place[halo], torch.bincount(owner[halo], minlength=dist.get_world_size()))
    here = place.clone()
    here[halo] = len(own) + torch.arange(len(halo))
    shape = (len(own), len(own) + len(halo))
    return own, PartMatrix(place[rows].to(device), here[cols].to(device), values, shape, exchange)
