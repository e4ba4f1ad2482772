"""Rows that live on other workers: fetched before a product, their gradients given back after it."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["Exchange", "spread"]


class Exchange:
    """What a worker sends to and receives from each other one, the same at every product.

    Args:
        own: Rows that live here.
        wanted: Places, on their own worker, of the rows of others that are needed here, worker by worker, (H,).
        counts: How many of them from each worker, (W,).

    Attributes:
        sent: Bytes sent to others so far.
    """

    def __init__(self, own: int, wanted: Tensor, counts: Tensor) -> None:
        self.own, self.sent, self.wanted = own, 0, wanted
        asked = torch.empty_like(counts)
        dist.all_to_all_single(asked, counts)
        self.receives, self.sends = counts.tolist(), asked.tolist()
        self.places = wanted.new_empty(sum(self.sends))
        dist.all_to_all_single(self.places, wanted, self.sends, self.receives)

    def part(self, kept: Tensor) -> Exchange:
        """With some of the rows of others alone; kept: (H,)."""
        from_whom = torch.arange(len(self.receives)).repeat_interleave(torch.tensor(self.receives))[kept]
        found = Exchange(self.own, self.wanted[kept], torch.bincount(from_whom, minlength=len(self.receives)))
        return found

    @property
    def halo(self) -> int:
        """Rows of others that are needed here."""
        return sum(self.receives)

    def gather(self, x: Tensor) -> Tensor:
        """Own rows, then those of others: (own, D) → (own + halo, D)."""
        mine = x.detach()[self.places]
        theirs = x.new_empty(self.halo, x.shape[1])
        dist.all_to_all_single(theirs, mine, self.receives, self.sends)
        self.sent += mine.numel() * mine.element_size()
        return torch.cat([x.detach(), theirs])

    def give_back(self, grad: Tensor) -> Tensor:
        """The transpose: (own + halo, D) → (own, D)."""
        theirs = grad[self.own :].contiguous()
        mine = grad.new_empty(len(self.places), grad.shape[1])
        dist.all_to_all_single(mine, theirs, self.sends, self.receives)
        self.sent += theirs.numel() * theirs.element_size()
        return grad[: self.own].index_add(0, self.places.to(grad.device), mine)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: Exchange) -> Tensor:
        ctx.exchange = exchange
        return exchange.gather(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.exchange.give_back(grad), None


def spread(x: Tensor, exchange: Exchange) -> Tensor:
    """`Exchange.gather`, differentiable."""
    found: Tensor = _Spread.apply(x, exchange)
    return found
