"""The process group of a run under torchrun, which also restarts and ends processes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from kappagcn.distributed.communicator import Communicator
from kappagcn.errors import WorkerLostError

__all__ = ["process_group"]

NETWORK_WORDS = ("connection", "timed out", "gloo", "nccl", "broken pipe", "socket")
ANSWER = timedelta(seconds=5)  # for the ranks to say that they are there


@contextmanager
def process_group(timeout: float = 600.0, backend: str | None = None, restarts: int = 0) -> Iterator[Communicator]:
    """Join the process group that torchrun started; SIGTERM counts as Ctrl-C.

    If torch.distributed is already initialised, pass its group instead.

    Args:
        timeout: Seconds to wait for the other processes in any one operation.
        backend: Backend of torch.distributed; by default gloo, and NCCL for tensors on GPUs.
        restarts: How often torchrun has started the processes again, ``TORCHELASTIC_RESTART_COUNT``.

    Raises:
        WorkerLostError: An operation failed or took longer than the timeout; it says which rank to look at.
    """
    chosen = backend or ("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    store, rank, world_size = next(rendezvous("env://"))
    # torchrun keeps its store over a restart: addresses of the processes before it must not be found there.
    store = dist.PrefixStore(f"restart_{restarts}", store)  # type: ignore[attr-defined]  # documented
    dist.init_process_group(chosen, store=store, rank=rank, world_size=world_size, timeout=timedelta(seconds=timeout))
    communicator = Communicator(dist.group.WORLD)
    before = None
    if threading.current_thread() is threading.main_thread():
        # As Ctrl-C, which waits for the end of the epoch and for the other ranks; torchrun gives half a minute.
        before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield communicator
    except (RuntimeError, dist.DistError) as problem:
        if not isinstance(problem, dist.DistError) and not any(w in str(problem).lower() for w in NETWORK_WORDS):
            raise
        reason = str(problem).strip().partition("\n")[0]
        missing = _missing_rank(store, rank, world_size)
        report_here = rank == (1 if missing == 0 else 0)
        raise WorkerLostError(f"look at rank {missing}: it does not answer ({reason})", report_here) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    dist.destroy_process_group()


def _missing_rank(store: Any, rank: int, world_size: int) -> int:
    """The first rank that does not notice the failure too; 0 if the store, which it often keeps, is gone."""
    try:
        store.set(f"kappagcn/failed/{rank}", "")
        for other in range(world_size):
            try:
                store.wait([f"kappagcn/failed/{other}"], ANSWER)
            except dist.DistStoreError:
                return other
    except dist.DistError:
        pass
    return 0
