"""Progress on standard error: a bar on a terminal; elsewhere nothing, or for training a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import progress as columns
from rich.console import Console
from rich.progress import Progress, TextColumn

from kappagcn.objectives import METRICS

__all__ = ["bar", "line", "reporting"]

LINE_SECONDS = 10.0


def _progress(*middle: columns.ProgressColumn) -> Progress:
    every = [TextColumn("{task.description}"), columns.BarColumn(), *middle, columns.TimeRemainingColumn()]
    return Progress(*every, console=Console(stderr=True), transient=True)


@contextmanager
def bar(what: str, total: int | None, *, shown: bool = True, in_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; yields a function that advances it.

    Args:
        what: Words before the bar.
        total: Number of steps, None where unknown.
        shown: Whether to show it.
        in_bytes: Whether the steps are bytes.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda steps: None
        return
    with _progress(columns.DownloadColumn() if in_bytes else columns.TaskProgressColumn()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def reporting(what: str, epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A callback for `fit` that shows epoch, loss, accuracy or distortion, and speed on standard error.

    >>> with reporting("cora_ml", 200) as report:
    ...     report({"epoch": 1, "train_loss": 1.9, "stopping_accuracy": 0.3})
    """
    start = last = time.monotonic()
    first = 0
    if not sys.stderr.isatty():

        def show_line(record: dict[str, Any]) -> None:
            nonlocal last
            if time.monotonic() - last > LINE_SECONDS:
                last = time.monotonic()
                print(f"{what}: epoch {record['epoch']} of at most {epochs}, {_numbers(record)}", file=sys.stderr)

        yield show_line
        return
    with _progress(TextColumn("{task.fields[now]}"), columns.TimeElapsedColumn()) as progress:
        task = progress.add_task(what, total=epochs, now="")

        def show_bar(record: dict[str, Any]) -> None:
            nonlocal first
            first = first or record["epoch"]  # a resumed run is timed from where it was
            speed = (record["epoch"] - first + 1) / max(time.monotonic() - start, 1e-9)
            progress.update(task, completed=record["epoch"], now=f"{_numbers(record)}, {speed:.0f} epochs/s")

        yield show_bar


def line(text: str) -> None:
    """Print a line of progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def _numbers(record: dict[str, Any]) -> str:
    for name in METRICS.values():
        if name in record:
            return f"{name.replace('_', ' ')} {record[name]:.5f}"
    names = {"stopping_accuracy": "accuracy", "validation_auc": "AUC"}
    scores = "".join(f", {word} {record[name]:.3f}" for name, word in names.items() if name in record)
    return f"loss {record['train_loss']:.4f}{scores}"
