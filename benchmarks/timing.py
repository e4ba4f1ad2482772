"""Times of several things that take turns in one process, so that all see the same machine."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Run = Callable[[], Any]


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(runs: Mapping[str, Run], repeats: int, *, warm_up: int = 3) -> dict[str, float]:
    """Median seconds over turns, each in another order: what ran before decides what is in the cache."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = random.Random(0)
    for turn in range(warm_up + repeats):
        for name, run in order.sample(list(runs.items()), len(runs)):
            spent = seconds(run)
            if turn >= warm_up:
                times[name].append(spent)
    return {name: statistics.median(each) for name, each in times.items()}
