"""Pictures of benchmarks, from their records: nested calls of a training step, and what learned curvature changes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

import tables
from kappagcn.view.figures.style import THEMES, Theme, save, styled

LEAST = 0.006  # share of the step below which a call is not drawn
MEANINGS = {
    "compiled": "compiled loops",
    "product": "sparse products",
    "torch": "torch",
    "python": "Python of this package",
}


def nested_calls(theme: Theme) -> Figure:
    """One training step of the κ-GCN: callers above what they call, widths are times."""
    rows = json.loads((tables.RECORDS / "profile_step.json").read_text(encoding="utf-8"))["results"]
    whole = sum(row["seconds"] for row in rows)
    seconds: dict[tuple[Any, ...], float] = defaultdict(float)
    for row in rows:
        stack = tuple(map(tuple, row["calls"]))
        for depth in range(1, len(stack) + 1):
            seconds[stack[:depth]] += row["seconds"]
    figure = Figure(figsize=(9, 3.6))
    axis = figure.subplots()
    colours = dict(zip(MEANINGS, theme.palette, strict=False))
    begins: dict[tuple[Any, ...], float] = {(): 0.0}
    for stack in sorted(seconds, key=lambda key: (len(key), -seconds[key])):
        begin, width = begins[stack[:-1]], seconds[stack]
        begins[stack[:-1]], begins[stack] = begin + width, begin
        if width < LEAST * whole:
            continue
        name, kind = stack[-1]
        axis.barh(-len(stack), 1e3 * width, 0.9, 1e3 * begin, color=colours[kind], edgecolor=theme.background)
        if width > 0.012 * whole * len(name):
            axis.text(1e3 * (begin + width / 2), -len(stack), name, ha="center", va="center", fontsize=7)
    axis.set(xlabel="milliseconds", yticks=[], xlim=(0, 1e3 * whole))
    handles = [Patch(color=colours[kind], label=words) for kind, words in MEANINGS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def curvature_pays(theme: Theme) -> Figure:
    """Differences of accuracy between learned and no curvature, by graph, with their intervals."""
    gains = [tables.paired("curvature_pays", graph, "learned κ", "κ = 0") for graph in tables.GRAPHS]
    figure = Figure(figsize=(6.4, 0.8 + 0.28 * len(gains)))
    axis = figure.subplots()
    for y, gain in enumerate(gains):
        axis.errorbar(gain.mean, -y, xerr=gain.interval, fmt="o", color=theme.palette[0], markersize=4)
    axis.axvline(0, color=theme.muted, linewidth=0.8)
    axis.set_yticks([-y for y in range(len(gains))], tables.GRAPHS)
    axis.set_xlabel("accuracy with learned κ − accuracy with κ = 0")
    return figure


CHARTS = {"profile-step": nested_calls, "curvature-pays": curvature_pays}


def draw(name: str, folder: Path) -> list[Path]:
    """One chart in both themes."""
    paths = []
    for theme in THEMES.values():
        with styled(theme):
            paths.append(save(CHARTS[name](theme), folder / f"{name}-{theme.name}.svg"))
    return paths
