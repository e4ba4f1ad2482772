"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["bar"]


@contextmanager
def bar(what: str, total: int | None, *, shown: bool = True, in_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar named `what`; yields a function that moves it on by so many steps.

    Args:
        what: Words before the bar.
        total: Steps in all, None where unknown.
        shown: False for a bar nobody sees.
        in_bytes: Whether the steps are bytes.
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda steps: None
        return
    columns = [TextColumn("{task.description}"), BarColumn(), DownloadColumn() if in_bytes else TaskProgressColumn()]
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda steps: progress.advance(task, steps)
