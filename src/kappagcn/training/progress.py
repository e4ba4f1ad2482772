"""Epochs as they pass: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kappagcn.training.trainer import Record

__all__ = ["reporting"]

LINE_SECONDS = 10.0


@contextmanager
def reporting(what: str, epochs: int) -> Iterator[Callable[[Record], None]]:
    """A callback for `fit` that shows epoch, loss, accuracy or distortion, and rate on standard error.

    >>> with reporting("cora_ml", 200) as report:
    ...     report({"epoch": 1, "train_loss": 1.9, "stopping_accuracy": 0.3})
    """
    if not sys.stderr.isatty():
        yield _Lines(what, epochs)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[now]}")]
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as progress:
        task = progress.add_task(what, total=epochs, now="")
        start, first = time.monotonic(), 0

        def show(record: Record) -> None:
            nonlocal first
            first = first or record["epoch"]  # a run that goes on is timed from where it was
            rate = (record["epoch"] - first + 1) / max(time.monotonic() - start, 1e-9)
            progress.update(task, completed=record["epoch"], now=f"{_numbers(record)}, {rate:.0f} epochs/s")

        yield show


def _numbers(record: Record) -> str:
    if "distortion" in record:
        return f"distortion {record['distortion']:.5f}"
    score = record.get("stopping_accuracy")
    accuracy = "" if score is None else f", accuracy {score:.3f}"
    return f"loss {record['train_loss']:.4f}{accuracy}"


class _Lines:
    def __init__(self, what: str, epochs: int) -> None:
        self.what, self.epochs, self.last = what, epochs, time.monotonic()

    def __call__(self, record: Record) -> None:
        if time.monotonic() - self.last > LINE_SECONDS:
            self.last = time.monotonic()
            print(f"{self.what}: epoch {record['epoch']} of at most {self.epochs}, {_numbers(record)}", file=sys.stderr)
