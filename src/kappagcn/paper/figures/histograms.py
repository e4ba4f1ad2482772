"""Degrees and curvatures of the paper's four datasets, from the record that counts them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kappagcn.errors import CheckpointError
from kappagcn.paper.cells import DATASETS
from kappagcn.paper.figures.records import json_file
from kappagcn.view.figures.space import axes_for, minus
from kappagcn.view.figures.style import Theme

__all__ = ["COMMAND", "RECORD", "curvatures", "degrees"]

RECORD = "histograms.json"
COMMAND = "kappagcn reproduce figures"


def _datasets(records: Path) -> list[tuple[str, dict[str, Any]]]:
    path = records / RECORD
    datasets = json_file(path, COMMAND).get("datasets", {})
    missing = [name for name in DATASETS if name not in datasets]
    if missing:
        raise CheckpointError(
            f"{path}: expected {', '.join(DATASETS)}, found no {missing[0]}. Remove it; `{COMMAND}` makes it again."
        )
    return [(title, datasets[name]) for name, title in DATASETS.items()]


def _grid(records: Path) -> tuple[Figure, Iterator[tuple[Any, dict[str, Any]]]]:
    datasets = _datasets(records)
    figure, axes = axes_for(len(datasets), rows=2, width=4.2, height=2.9)
    for axis, (title, numbers) in zip(axes, datasets, strict=True):
        axis.set_title(f"{title}: {numbers['nodes']:,} nodes, {numbers['edges']:,} edges")
        axis.grid(axis="y")
    return figure, zip(axes, (numbers for _, numbers in datasets), strict=True)


def curvatures(theme: Theme, records: Path) -> Figure:
    """Histograms of the nodes' deviation from the parallelogram law; negative where the graph branches like a tree."""
    figure, each = _grid(records)
    for axis, numbers in each:
        histogram = numbers["curvature"]
        bins, counts = np.array(histogram["bins"]), np.array(histogram["counts"])
        colours = np.select([bins[1:] < 0, bins[:-1] > 0], theme.palette[:2], theme.muted)
        axis.bar(bins[:-1], counts, np.diff(bins), align="edge", color=colours, linewidth=0)
        mean = minus(f"mean {histogram['mean']:.3f}")
        axis.axvline(histogram["mean"], color=theme.ink, linewidth=1.4, linestyle=(0, (4, 3)), label=mean)
        axis.legend(loc="upper left")
        axis.set_xlim(min(-1.02, bins[0]), max(1.05, bins[-1]))
        axis.set_xticks([-1, -0.5, 0, 0.5, 1], minus("-1 -0.5 0 0.5 1").split())
    figure.supxlabel(
        "curvature of a node: negative like a tree's, zero like a line's, positive like a cycle's", size=10
    )
    figure.supylabel("nodes", size=10)
    return figure


def degrees(theme: Theme, records: Path) -> Figure:
    """Nodes per degree, on logarithmic axes: few nodes have most of the edges."""
    figure, each = _grid(records)
    for axis, numbers in each:
        counted = np.array([(int(d), c) for d, c in numbers["degrees"].items() if int(d) > 0])
        # Bins of equal width on the axis; the first ones hold a single degree each, so that bars are counts per degree.
        bins = np.unique(np.concatenate([np.arange(1, 8), np.geomspace(8, counted[:, 0].max() + 1, 13)]).round()) - 0.5
        nodes, _ = np.histogram(counted[:, 0], bins, weights=counted[:, 1])
        axis.bar(
            bins[:-1],
            nodes / np.diff(bins),
            np.diff(bins),
            align="edge",
            color=theme.palette[0],
            edgecolor=theme.background,
        )
        mean = 2 * numbers["edges"] / numbers["nodes"]
        axis.axvline(mean, color=theme.ink, linewidth=1.4, linestyle=(0, (4, 3)), label=f"mean {mean:.1f}")
        axis.set(xscale="log", yscale="log")
        axis.legend(loc="upper right")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(lambda value, _: f"{value:,.2g}" if value < 1 else f"{value:,.0f}")
    figure.supxlabel("degree", size=10)
    figure.supylabel("nodes per degree, mean of each bar", size=10)
    return figure
