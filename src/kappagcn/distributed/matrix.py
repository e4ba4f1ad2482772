"""One rank's rows of a sparse matrix, which multiply with the rows of all ranks."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor

from kappagcn.distributed.communicator import Communicator
from kappagcn.distributed.halo_exchange import Exchange, gather
from kappagcn.errors import GraphError
from kappagcn.sparse import SparseMatrix

__all__ = ["PartMatrix", "cut", "part_matrix"]


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
        return self.exchange.communicator.any_rank(condition)

    def mean_over_ranks(self, values: Tensor) -> Tensor:
        """The mean of one number for each of this rank's nodes, over those of all ranks."""
        total, count = self.exchange.communicator.all_reduce_sum(values.sum(), len(values))
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


def part_matrix(
    rows: Tensor, cols: Tensor, values: Tensor, offsets: list[int], communicator: Communicator
) -> PartMatrix:
    """This rank's rows of a matrix whose nodes are in the order of parts.

    Args:
        rows: Row of each entry, from 0 for the first node of this rank, (E,).
        cols: Column of each entry, among all nodes, (E,).
        values: The entries, (E,).
        offsets: The first node of each part, and the number of nodes.
        communicator: Connects the ranks, one for each part.
    """
    start, stop = offsets[communicator.rank], offsets[communicator.rank + 1]
    foreign = (cols < start) | (cols >= stop)
    halo, bounds = cols[foreign].unique(), torch.tensor(offsets)
    owner = torch.searchsorted(bounds, halo, right=True) - 1
    counts = torch.bincount(owner, minlength=communicator.world_size)
    exchange = Exchange(stop - start, halo - bounds[owner], counts, communicator)
    columns = torch.where(foreign, stop - start + torch.searchsorted(halo, cols), cols - start)
    shape = (stop - start, stop - start + len(halo))
    return PartMatrix(rows.to(values.device), columns.to(values.device), values, shape, exchange)


def cut(matrix: SparseMatrix, owner: Tensor, communicator: Communicator) -> tuple[Tensor, PartMatrix]:
    """The nodes of this rank, in their order, and its rows of a matrix in memory.

    Args:
        matrix: (N, N); only the rows of this rank are read.
        owner: Rank of each node, (N,).
        communicator: Connects the ranks.
    """
    order, position = owner.argsort(stable=True), torch.empty_like(owner)
    position[order] = torch.arange(len(order))
    offsets = [0, *torch.bincount(owner, minlength=communicator.world_size).cumsum(0).tolist()]
    start, stop = offsets[communicator.rank], offsets[communicator.rank + 1]
    rows = position[matrix.rows.cpu()]
    mine = (rows >= start) & (rows < stop)
    values = matrix.values[mine.to(matrix.values.device)]
    part = part_matrix(rows[mine] - start, position[matrix.cols.cpu()[mine]], values, offsets, communicator)
    return order[start:stop], part
