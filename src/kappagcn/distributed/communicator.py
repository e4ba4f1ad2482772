"""Communication among processes that share a computation, or none in a single process.

Torch's default process group is not used: processes share work only if the caller passes a group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from kappagcn.errors import ConfigError, KappaGCNError

__all__ = ["Communicator"]

T = TypeVar("T")


class Communicator:
    """Rank of this process in a process group, and the collective operations of the group.

    Every process of the group has to make the same calls in the same order. With one process there is no communication.

    Args:
        group: Process group of torch.distributed; None for a single process.

    Attributes:
        rank: Rank of this process in the group, from 0.
        world_size: Number of processes in the group.
        epoch: Training epoch that this process is in.
        group: The process group; None for a single process.

    >>> alone = Communicator()
    >>> alone.rank, alone.world_size
    (0, 1)
    """

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self.epoch = 0
        self.rank, self.world_size, self.group = 0, 1, group
        if group is None:
            return
        if not isinstance(group, dist.ProcessGroup) or dist.get_rank(group) < 0:
            raise ConfigError(
                "group: expected a torch.distributed.ProcessGroup that this process is a member of, such as "
                f"torch.distributed.group.WORLD, found {group!r}. Leave it out to work in one process."
            )
        self.rank, self.world_size = dist.get_rank(group), dist.get_world_size(group)

    @classmethod
    def of(cls, group: dist.ProcessGroup | Communicator | None) -> Communicator:
        """The communicator of a group; a communicator is returned as it is.

        >>> alone = Communicator.of(None)
        >>> Communicator.of(alone) is alone
        True
        """
        return group if isinstance(group, Communicator) else cls(group)

    def __deepcopy__(self, memo: dict[int, Any]) -> Communicator:
        return self  # a handle to connections, which cannot be copied

    def set_epoch(self, epoch: int) -> None:
        """Set the training epoch, for random numbers that ranks share and for the heartbeat."""
        self.epoch = epoch

    def broadcast(self, tensor: Tensor) -> None:
        """Overwrite a tensor with that of rank 0."""
        if self.world_size > 1:
            dist.broadcast(tensor, self._global_rank0(), group=self.group)

    def all_reduce(self, tensor: Tensor) -> None:
        """Overwrite a tensor with its sum over all ranks."""
        if self.world_size > 1:
            dist.all_reduce(tensor, group=self.group)

    def all_reduce_sum(self, *values: Tensor | float) -> list[float]:
        """Sums of numbers over all ranks, in float64 and in one message.

        >>> Communicator().all_reduce_sum(1.5, 2)
        [1.5, 2.0]
        """
        numbers = [float(value.detach() if isinstance(value, Tensor) else value) for value in values]
        if self.world_size == 1:
            return numbers
        sums = torch.tensor(numbers, dtype=torch.float64)
        self.all_reduce(sums)
        return [float(value) for value in sums]

    def any_rank(self, condition: bool) -> bool:
        """Whether a condition holds on at least one rank."""
        return condition if self.world_size == 1 else self.all_reduce_sum(float(condition))[0] > 0

    def all_to_all(
        self, received: Tensor, sent: Tensor, receives: list[int] | None = None, sends: list[int] | None = None
    ) -> None:
        """Send each rank its rows of `sent`, and fill `received` with the rows from each, in the order of ranks.

        Args:
            received: Overwritten, (R, ...).
            sent: Rows to send, (S, ...).
            receives: Number of rows from each rank; the same number from all by default.
            sends: Number of rows for each rank; the same number for all by default.
        """
        if self.world_size == 1:
            received.copy_(sent)
        else:
            dist.all_to_all_single(received, sent, receives, sends, group=self.group)

    def run_on_rank0(self, action: Callable[[], T]) -> T:
        """Run a function on rank 0 alone; every rank returns its result, or raises its `KappaGCNError`.

        >>> Communicator().run_on_rank0(lambda: 3)
        3
        """
        if self.world_size == 1:
            return action()
        outcome: list[Any] = [None]
        if self.rank == 0:
            try:
                outcome = [action()]
            except KappaGCNError as problem:
                outcome = [problem]
        dist.broadcast_object_list(outcome, self._global_rank0(), group=self.group)
        if isinstance(outcome[0], KappaGCNError):
            raise outcome[0]
        result: T = outcome[0]
        return result

    def _global_rank0(self) -> int:
        """Number of the group's rank 0 among all processes of torch.distributed."""
        assert self.group is not None
        return dist.get_global_rank(self.group, 0)
