"""One rank's rows of a sparse matrix, which multiply with the rows of all ranks."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor

from kappagcn.distributed.communicator import Communicator
from kappagcn.distributed.halo_exchange import Exchange, gather
from kappagcn.errors import GraphError
from kappagcn.sparse import SparseMatrix

__all__ = ["PartMatrix", "cut"]


class PartMatrix(SparseMatrix):
    """This rank's rows of a square matrix, (own, own + halo): columns are its own nodes, then those of other ranks.

    A layer takes it in place of the whole matrix, with own rows of features, and returns own rows. Every rank has to
    take part in every product, in the same order. `exchange` fetches the rows of other ranks.
    """

    def __init__(self, rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int], exchange: Exchange) -> None:
        super().__init__(rows, cols, values, shape)
        self.exchange = exchange

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "exchange": self.exchange}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.exchange = state["exchange"]

    def _derived(self, *entries: Any) -> Self:
        matrix = super()._derived(*entries)
        matrix.exchange = self.exchange
        return matrix

    def transpose(self) -> SparseMatrix:
        """Raise an error: other ranks have parts of the transpose."""
        raise GraphError("expected a matrix whose rows are all in this process, found the rows of one rank.")

    def gather(self, x: Tensor) -> Tensor:
        """Own rows, then those of other ranks, differentiable."""
        return gather(x, self.exchange)

    def is_local(self) -> bool:
        """Whether all rows are in this process."""
        return False

    def any_rank(self, condition: bool) -> bool:
        """Whether a condition holds on any rank."""
        return self.exchange.any_rank(condition)

    def mean_over_ranks(self, values: Tensor) -> Tensor:
        """The mean of one number for each of this rank's nodes, over those of all ranks."""
        total, count = self.exchange.sum_over_ranks(values.sum(), len(values))
        return values.new_tensor(total / count)

    def check(self, x: Tensor) -> None:
        """Refuse anything but the rows of this rank."""
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[0] != self.shape[0] or not x.is_floating_point():
            value = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise GraphError(f"expected the ({self.shape[0]}, D) rows of this rank, found {value}.")

    def sampled(self, share: float) -> PartMatrix:
        """The matrix with a random share of other ranks' rows, weighted by 1/share: unbiased, and faster."""
        mask, own = torch.rand(self.exchange.halo) < share, self.shape[0]
        columns = torch.cat([torch.arange(own), torch.where(mask, own + mask.cumsum(0) - 1, -1)])
        cols = columns.to(self.cols.device)[self.cols]
        kept = cols >= 0
        values = torch.where(self.cols < own, self.values, self.values / share)[kept]
        shape = (own, own + int(mask.sum()))
        return PartMatrix(self.rows[kept], cols[kept], values, shape, self.exchange.part(mask))


def cut(matrix: SparseMatrix, owner: Tensor, communicator: Communicator) -> tuple[Tensor, PartMatrix]:
    """The nodes of this rank, (own,), in their order, and its rows of the whole matrix.

    Args:
        matrix: (N, N); only the rows of this rank are read.
        owner: Rank of each node, (N,).
        communicator: Connects the ranks.
    """
    rank, world_size = communicator.rank, communicator.world_size
    own = (owner == rank).nonzero().flatten()
    device, all_rows = matrix.values.device, matrix.rows.cpu()
    mine = owner[all_rows] == rank
    rows, cols, values = all_rows[mine], matrix.cols.cpu()[mine], matrix.values[mine.to(device)]
    others = cols[owner[cols] != rank].unique()
    halo = others[owner[others].argsort(stable=True)]
    local = torch.empty(len(owner), dtype=torch.long)  # index of each node on its own rank
    for other in range(world_size):
        nodes = (owner == other).nonzero().flatten()
        local[nodes] = torch.arange(len(nodes))
    exchange = Exchange(len(own), local[halo], torch.bincount(owner[halo], minlength=world_size), communicator)
    columns = local.clone()
    columns[halo] = len(own) + torch.arange(len(halo))
    shape = (len(own), len(own) + len(halo))
    return own, PartMatrix(local[rows].to(device), columns[cols].to(device), values, shape, exchange)
