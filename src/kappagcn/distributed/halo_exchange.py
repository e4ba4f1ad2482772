"""Halo exchange: rows of other ranks are fetched before a product, their gradients sent back after it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.distributed.communicator import Communicator

__all__ = ["Exchange", "gather"]


class Exchange:
    """The rows that this rank sends to and receives from each other rank, the same at every product.

    Args:
        own: Number of rows of this rank.
        wanted: Rows of other ranks that this rank needs, as indices on their own rank, in the order of ranks, (H,).
        counts: Number of wanted rows of each rank, (W,).
        communicator: Connects the ranks.

    Attributes:
        sent: Bytes sent to other ranks so far.
    """

    def __init__(self, own: int, wanted: Tensor, counts: Tensor, communicator: Communicator) -> None:
        self.own, self.sent, self.wanted, self.communicator = own, 0, wanted, communicator
        requested = torch.empty_like(counts)
        communicator.all_to_all(requested, counts)
        self.receives, self.sends = counts.tolist(), requested.tolist()
        self.sent_rows = wanted.new_empty(sum(self.sends))
        communicator.all_to_all(self.sent_rows, wanted, self.sends, self.receives)

    def part(self, mask: Tensor) -> Exchange:
        """The exchange of some of the rows of other ranks, by a mask (H,)."""
        ranks = torch.arange(len(self.receives)).repeat_interleave(torch.tensor(self.receives))[mask]
        counts = torch.bincount(ranks, minlength=len(self.receives))
        return Exchange(self.own, self.wanted[mask], counts, self.communicator)

    @property
    def halo(self) -> int:
        """Number of rows of other ranks that are needed here."""
        return sum(self.receives)

    def gather_forward(self, x: Tensor) -> Tensor:
        """Own rows, then those of other ranks: (own, D) → (own + halo, D)."""
        mine = x.detach()[self.sent_rows]
        rows = x.new_empty(self.own + self.halo, x.shape[1])
        self.communicator.all_to_all(rows[self.own :], mine, self.receives, self.sends)
        self.sent += mine.numel() * mine.element_size()
        rows[: self.own] = x.detach()
        return rows

    def gather_backward(self, grad: Tensor) -> Tensor:
        """The transpose of `gather_forward`, which sums gradients: (own + halo, D) → (own, D)."""
        theirs = grad[self.own :].contiguous()
        mine = grad.new_empty(len(self.sent_rows), grad.shape[1])
        self.communicator.all_to_all(mine, theirs, self.sends, self.receives)
        self.sent += theirs.numel() * theirs.element_size()
        return grad[: self.own].index_add(0, self.sent_rows.to(grad.device), mine)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: Exchange) -> Tensor:
        ctx.exchange = exchange
        return exchange.gather_forward(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.exchange.gather_backward(grad), None


def gather(x: Tensor, exchange: Exchange) -> Tensor:
    """`Exchange.gather_forward`, differentiable."""
    rows: Tensor = _Gather.apply(x, exchange)
    return rows
