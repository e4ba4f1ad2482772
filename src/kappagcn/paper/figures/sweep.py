"""Distortion against curvature: one curve through hyperbolic, flat and spherical spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from kappagcn.errors import CheckpointError
from kappagcn.paper.figures.records import json_lines
from kappagcn.view.figures.style import Theme

__all__ = ["COMMAND", "RECORD", "sweep", "swept"]

RECORD = "sweep.jsonl"
COMMAND = "kappagcn reproduce sweep"
CLOSE = 0.0200001  # curvatures up to here are drawn larger
BEND = 0.008  # κ from which the rows that the second layer averages lie near the equator (benchmarks/bend.py)
Curve = tuple[Sequence[float], Sequence[float]]


def sweep(theme: Theme, records: Path) -> Figure:
    """The figure from the records of the sweep."""
    curve, flat, close = swept(records)
    return _figure(curve, flat, close, theme)


def swept(records: Path) -> tuple[Curve, float, Curve]:
    """The curve over all κ, the Euclidean network's distortion, and the curve close to 0."""
    path = records / RECORD
    values = {each["embedding"]["space"]: each["distortion"] for each in json_lines(path, COMMAND)}
    every = sorted(
        (float(m[1]), value) for space, value in values.items() if (m := re.fullmatch(r"U10\((.+)\)", space))
    )
    close = [point for point in every if abs(point[0]) <= CLOSE]
    wide = [point for point in every if point not in close or abs(point[0]) == min(abs(k) for k, _ in every)]
    if "E10" not in values or len(wide) < 2 or len(close) < 2:
        raise CheckpointError(
            f"{path}: expected E10 and curvatures U10(κ) far from 0 and close to it, found {len(values)} records. "
            f"`{COMMAND}` makes the others."
        )
    return _split(wide), values["E10"], _split(close)


def _split(points: list[tuple[float, float]]) -> Curve:
    return [k for k, _ in points], [value for _, value in points]


def _figure(curve: Curve, flat: float, close: Curve | None, theme: Theme) -> Figure:
    figure = Figure(figsize=(6.4, 3.8))
    axis = figure.subplots()
    axis.grid(axis="y")
    _curve(axis, curve, flat, theme, marker=2.4, words=(f"Euclidean GCN: {flat:.4f}", "κ-GCN, κ fixed"))
    axis.set(xlabel="κ", ylabel="average distortion", xlim=(1.03 * min(curve[0]), 1.03 * max(curve[0])))
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper left")
    if close is not None:
        inset = axis.inset_axes((0.62, 0.16, 0.36, 0.42))
        _curve(inset, close, flat, theme, marker=2)
        inset.set_title("close to 0", fontsize=9)
        inset.tick_params(labelsize=8)
        if min(close[0]) < BEND < max(close[0]):
            inset.axvline(BEND, color=theme.muted, linewidth=0.8, linestyle=":")
            place: Any = {"xytext": (4, 4), "textcoords": "offset points", "size": 7, "color": theme.muted}
            inset.annotate("points at\nthe equator", (BEND, inset.get_ylim()[0]), **place)
    return figure


def _curve(
    axis: Any, curve: Curve, flat: float, theme: Theme, *, marker: float, words: Sequence[str | None] = (None, None)
) -> None:
    axis.axvline(0, color=theme.muted, linewidth=0.8)
    axis.axhline(flat, color=theme.palette[1], linewidth=1.2, linestyle="--", label=words[0])
    axis.plot(*curve, color=theme.palette[0], linewidth=1.2, marker="o", markersize=marker, label=words[1])
