"""Progress on standard error: a bar on a terminal; elsewhere nothing, or for training a line at intervals."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from kappagcn.objectives import METRICS

LINE_SECONDS = 10.0
MOST_CURVATURES = 3


def _progress() -> Progress:
    """A bar on a terminal; elsewhere it only keeps the time."""
    columns = TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[now]}")
    console = Console(stderr=True)
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not sys.stderr.isatty())


@contextmanager
def bar(what: str, total: int | None, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; yields a function that advances it.

    Args:
        what: Text before the bar.
        total: Number of steps; None if unknown.
        shown: Whether to show the bar.
    """
    if not shown:
        yield lambda steps: None
        return
    with _progress() as progress:
        task = progress.add_task(what, total=total, now="")
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def reporting(what: str, epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A callback for `fit` that shows epoch, objective or accuracy, curvatures, rate and time left on standard error.

    >>> with reporting("cora_ml", 200) as report:
    ...     report({"epoch": 1, "train_loss": 1.9, "stopping_accuracy": 0.3})
    """
    shown = time.monotonic()
    with _progress() as progress:
        number = progress.add_task(what, total=epochs, now="")
        (task,) = progress.tasks

        def report(record: dict[str, Any]) -> None:
            nonlocal shown
            now = f"epoch {record['epoch']:,} of at most {epochs:,}, {measures(record)}, {task.speed or 0:.0f} epochs/s"
            progress.update(number, completed=record["epoch"], now=now)
            if progress.disable and time.monotonic() - shown > LINE_SECONDS:
                shown = time.monotonic()
                line(f"{what}: {now}" + ("" if task.time_remaining is None else f", {task.time_remaining:.0f} s left"))

        yield report


def line(text: str) -> None:
    """Print a line of progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def measures(record: dict[str, Any]) -> str:
    """The objective of an epoch, or loss and accuracy, with the first curvatures.

    >>> measures({"distortion": 0.01, "curvatures": [-0.25]})
    'distortion 0.01000, κ −0.25'
    """
    kappas = [float(kappa) for kappa in record.get("curvatures") or () if kappa]
    shown = ", ".join(f"{kappa:.3g}" for kappa in kappas[:MOST_CURVATURES]).replace("-", "−")
    curvatures = f", κ {shown}{', …' if len(kappas) > MOST_CURVATURES else ''}" if kappas else ""
    for name in METRICS.values():
        if name in record:
            return f"{name.replace('_', ' ')} {record[name]:.5f}{curvatures}"
    score = record.get("stopping_accuracy")
    accuracy = "" if score is None else f", accuracy {score:.3f}"
    return f"loss {record['train_loss']:.4f}{accuracy}{curvatures}"
