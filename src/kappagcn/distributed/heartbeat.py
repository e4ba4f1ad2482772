"""The process group of a run under torchrun, with a heartbeat that shows which process died or hangs."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from kappagcn.distributed.communicator import Communicator
from kappagcn.errors import WorkerLostError

__all__ = ["Heartbeat", "process_group"]

BEAT_SECONDS = 0.5
MISSED_BEATS = 4  # seconds without a heartbeat after which a process counts as lost


class Heartbeat:
    """A thread that writes this process's epoch to the key-value store of the group every half second."""

    def __init__(self, communicator: Communicator, store: Any) -> None:
        self.communicator, self._store = communicator, store
        self._count, self._closed = 0, threading.Event()
        self._beat()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        self._count += 1
        state = f"{self._count} {self.communicator.epoch} {os.getpid()} {socket.gethostname()}"
        self._store.set(f"kappagcn/{self.communicator.rank}", state)

    def _run(self) -> None:
        with suppress(Exception):  # the store ends with the process that started this run
            while not self._closed.wait(BEAT_SECONDS):
                self._beat()

    def close(self) -> None:
        """Stop the thread."""
        self._closed.set()
        self._thread.join()

    def _states(self) -> dict[int, list[str]]:
        """Count, epoch, process and host of each rank that has written them."""
        ranks = [rank for rank in range(self.communicator.world_size) if self._store.check([f"kappagcn/{rank}"])]
        return {rank: self._store.get(f"kappagcn/{rank}").decode().split(" ", 3) for rank in ranks}

    def lost(self) -> WorkerLostError:
        """An error that names the ranks whose heartbeat has stopped, or those that did not notice the failure."""
        ranks = range(self.communicator.world_size)
        try:
            self._store.set(f"kappagcn/noticed/{self.communicator.rank}", "")
            before = self._states()
            time.sleep(MISSED_BEATS * BEAT_SECONDS)
            now = self._states()
            noticed = [rank for rank in ranks if self._store.check([f"kappagcn/noticed/{rank}"])]
        except (RuntimeError, dist.DistError):
            return WorkerLostError("worker 0, or the process that holds the key-value store, is gone", True)
        gone = [rank for rank in ranks if before.get(rank, [""])[0] == now.get(rank, [""])[0]]
        gone = gone or [rank for rank in ranks if rank not in noticed]
        if not gone:
            return WorkerLostError("a worker stopped answering", self.communicator.rank == 0)
        names = [f"worker {rank} ({_describe(now.get(rank))})" for rank in gone]
        message = f"{', '.join(names)} of {len(ranks)} {'is' if len(gone) == 1 else 'are'} gone"
        first_left = min((rank for rank in ranks if rank not in gone), default=0)
        return WorkerLostError(message, self.communicator.rank == first_left)


def _describe(state: list[str] | None) -> str:
    return "never seen" if state is None else f"process {state[2]} on {state[3]}, in epoch {state[1]}"


@contextmanager
def process_group(timeout: float = 60.0, backend: str | None = None) -> Iterator[Communicator]:
    """Join the process group that torchrun started; an error names a process that dies or hangs.

    SIGTERM counts as Ctrl-C. If torch.distributed is already initialised, pass its group instead.

    Args:
        timeout: Seconds to wait for the other processes in any one operation.
        backend: Backend of torch.distributed; by default gloo, and NCCL for tensors on GPUs.

    Raises:
        WorkerLostError: A process of the group died or did not answer in time.
    """
    chosen = backend or ("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    dist.init_process_group(chosen, timeout=timedelta(seconds=timeout))
    communicator = Communicator(dist.group.WORLD)
    heartbeat = Heartbeat(communicator, dist.distributed_c10d._get_default_store())

    before = None
    if threading.current_thread() is threading.main_thread():
        # As Ctrl-C, which waits for the end of the epoch and for the other ranks; torchrun gives half a minute.
        before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield communicator
    except (RuntimeError, dist.DistError) as problem:
        if not _is_network_error(problem):
            raise
        raise heartbeat.lost() from None
    finally:
        heartbeat.close()
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    dist.destroy_process_group()


def _is_network_error(problem: Exception) -> bool:
    if isinstance(problem, dist.DistError):
        return True
    words = str(problem).lower()
    return any(word in words for word in ("connection", "timed out", "gloo", "nccl", "broken pipe", "socket"))
