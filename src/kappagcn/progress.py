"""Progress on standard error: a bar on a terminal; elsewhere nothing, or for training a line at intervals."""

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

LINE_SECONDS = 10.0
MOST_CURVATURES = 3


def _progress(*middle: columns.ProgressColumn) -> Progress:
    every = [TextColumn("{task.description}"), columns.BarColumn(), *middle, columns.TimeRemainingColumn()]
    return Progress(*every, console=Console(stderr=True), transient=True)


@contextmanager
def bar(what: str, total: int | None, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; yields a function that advances it.

    Args:
        what: Text before the bar.
        total: Number of steps; None if unknown.
        shown: Whether to show the bar.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda steps: None
        return
    with _progress(columns.TaskProgressColumn()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def reporting(what: str, epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A callback for `fit` that shows epoch, objective or accuracy, curvatures, rate and time left on standard error.

    >>> with reporting("cora_ml", 200) as report:
    ...     report({"epoch": 1, "train_loss": 1.9, "stopping_accuracy": 0.3})
    """
    pace = _Pace(epochs)
    if not sys.stderr.isatty():
        last = time.monotonic()

        def show_line(record: dict[str, Any]) -> None:
            nonlocal last
            speed, left = pace.after(record["epoch"])
            if time.monotonic() - last > LINE_SECONDS:
                last = time.monotonic()
                where = f"epoch {record['epoch']:,} of at most {epochs:,}"
                print(f"{what}: {where}, {measures(record)}, {speed:.0f} epochs/s, {left} left", file=sys.stderr)

        yield show_line
        return
    every = [TextColumn("{task.description}"), columns.BarColumn(bar_width=20), TextColumn("{task.fields[now]}")]
    with Progress(*every, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=epochs, now="")

        def show_bar(record: dict[str, Any]) -> None:
            speed, left = pace.after(record["epoch"])
            now = f"{record['epoch']:,}/{epochs:,}  {measures(record)}  {speed:.0f}/s  {left} left"
            progress.update(task, completed=record["epoch"], now=now)

        yield show_bar


class _Pace:
    """Epochs per second and time left; a resumed run is timed from its last start."""

    def __init__(self, epochs: int) -> None:
        self.epochs, self.start, self.first = epochs, time.monotonic(), 0

    def after(self, epoch: int) -> tuple[float, str]:
        now = time.monotonic()
        if not self.first:  # the first epoch includes compilation, and is not timed
            seconds, self.first, self.start = now - self.start, epoch, now
            return 1 / max(seconds, 1e-9), "unknown time"
        speed = (epoch - self.first) / max(now - self.start, 1e-9)
        return speed, duration((self.epochs - epoch) / speed)


def duration(seconds: float) -> str:
    """A duration in its two largest units.

    >>> duration(7.4), duration(75), duration(3700)
    ('7 s', '1 min 15 s', '1 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min {whole % 60} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


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
