"""Pictures of benchmarks, from their records."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import tables
from kappagcn.view.figures.style import THEMES, Theme, save, styled


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


CHARTS = {"curvature-pays": curvature_pays}


def draw(name: str, folder: Path) -> list[Path]:
    """One chart in both themes."""
    paths = []
    for theme in THEMES.values():
        with styled(theme):
            paths.append(save(CHARTS[name](theme), folder / f"{name}-{theme.name}.svg"))
    return paths
