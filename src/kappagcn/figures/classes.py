"""Names of classes as short as a legend needs them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

__all__ = ["short_names"]

LONGEST = 24  # letters


def short_names(names: Iterable[object]) -> list[str]:
    """Names without the path that all share, cut after some letters.

    >>> short_names(["AI/ML/Theory", "AI/ML/Rule_Learning"])
    ['Theory', 'Rule Learning']
    """
    every = [str(name) for name in names]
    first, last = min(every, default=""), max(every, default="")  # what these two share all do
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))))
    begin = first.rfind("/", 0, shared) + 1
    plain = [name[begin:].replace("_", " ") or name for name in every]
    return [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in plain]
