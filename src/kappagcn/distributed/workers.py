"""The workers of a run: joining them, noticing that one is gone, and naming it."""

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

from kappagcn.errors import WorkerLostError

__all__ = ["Workers", "joined"]

BEAT_SECONDS = 0.5
PATIENCE = 4  # beats without which a worker counts as gone


class Workers:
    """This worker and the others.

    Attributes:
        rank: Of this worker, from 0.
        size: How many there are.
        epoch: At which this worker is.
    """

    def __init__(self, store: Any) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.epoch, self._count = 0, 0
        self._store, self._over = store, threading.Event()
        self._beat()
        self._thread = threading.Thread(target=self._beats, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        self._count += 1
        told = f"{self._count} {self.epoch} {os.getpid()} {socket.gethostname()}"
        self._store.set(f"kappagcn/{self.rank}", told)

    def _beats(self) -> None:
        """A sign of life now and then, from a thread of its own: a worker that computes for long is alive."""
        with suppress(Exception):  # the store is gone, and with it whoever started this run
            while not self._over.wait(BEAT_SECONDS):
                self._beat()

    def at(self, epoch: int) -> None:
        """Say which epoch begins here."""
        self.epoch = epoch

    def close(self) -> None:
        """No more signs of life."""
        self._over.set()
        self._thread.join()

    def _heard(self) -> dict[int, list[str]]:
        keys = {rank: f"kappagcn/{rank}" for rank in range(self.size)}
        return {
            rank: self._store.get(key).decode().split(" ", 3) for rank, key in keys.items() if self._store.check([key])
        }

    def lost(self) -> WorkerLostError:
        """Who is gone: those who give no sign of life; else those who have not noticed that the step failed."""
        try:
            self._store.set(f"kappagcn/noticed/{self.rank}", "")
            before = self._heard()
            time.sleep(PATIENCE * BEAT_SECONDS)
            now = self._heard()
            noticed = [rank for rank in range(self.size) if self._store.check([f"kappagcn/noticed/{rank}"])]
        except (RuntimeError, dist.DistError):
            return WorkerLostError("worker 0, or whoever keeps the list of workers, is gone", True)
        gone = [rank for rank in range(self.size) if before.get(rank, [""])[0] == now.get(rank, [""])[0]]
        gone = gone or [rank for rank in range(self.size) if rank not in noticed]
        if not gone:
            return WorkerLostError("a worker stopped answering", self.rank == 0)
        names = [f"worker {rank} ({_words(now.get(rank))})" for rank in gone]
        left = [rank for rank in range(self.size) if rank not in gone]
        words = f"{', '.join(names)} of {self.size} {'is' if len(gone) == 1 else 'are'} gone"
        return WorkerLostError(words, self.rank == min(left, default=0))


def _words(heard: list[str] | None) -> str:
    return "never seen" if heard is None else f"process {heard[2]} on {heard[3]}, in epoch {heard[1]}"


@contextmanager
def joined(timeout: float = 60.0, backend: str | None = None) -> Iterator[Workers]:
    """Join the workers that torchrun started; within it a worker that dies or hangs ends the run with its name.

    Args:
        timeout: Seconds to wait for the others in any one step.
        backend: Of torch.distributed; where there are GPUs NCCL for what is on them, gloo for the rest.

    Raises:
        WorkerLostError: A worker is gone.
    """
    chosen = backend or ("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    dist.init_process_group(chosen, timeout=timedelta(seconds=timeout))
    workers = Workers(dist.distributed_c10d._get_default_store())

    def stop(number: int, frame: Any) -> None:
        # As Ctrl-C, which waits for the end of the epoch and for the others; torchrun gives half a minute.
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop) if threading.current_thread() is threading.main_thread() else None
    try:
        yield workers
    except (RuntimeError, dist.DistError) as problem:
        if not _is_of_the_network(problem):
            raise
        raise workers.lost() from None
    finally:
        workers.close()
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    dist.destroy_process_group()


def _is_of_the_network(problem: Exception) -> bool:
    if isinstance(problem, dist.DistError):
        return True
    words = str(problem).lower()
    return any(word in words for word in ("connection", "timed out", "gloo", "nccl", "broken pipe", "socket"))
