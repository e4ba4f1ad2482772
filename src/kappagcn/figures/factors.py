"""A run's nodes in each factor of its space: disk, plane or globe, coloured by class or by depth."""

from __future__ import annotations

import math
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from torch import Tensor

from kappagcn.figures.classes import short_names
from kappagcn.figures.plane import best_plane, central_node, depths
from kappagcn.figures.space import arcs, axes_for, draw_arcs, ground, minus, radius
from kappagcn.figures.sphere import (
    default_view,
    draw_globe,
    draw_great_arcs,
    great_arcs,
    scatter_globe,
    seen,
)
from kappagcn.figures.style import Theme
from kappagcn.geometry import expmap0, lift, project
from kappagcn.run_folder import Array, Embedded

__all__ = ["embedding", "factor_name"]

MOST_FACTORS = 6
RASTER_EDGES = 800  # more would make an SVG of many megabytes
MOST_EDGES = 20_000
NAMED_CLASSES = 18  # more would not fit beside the picture
CLOSE = 0.55  # of the disk or globe: points that stay within are drawn larger


def factor_name(k: float, dim: int) -> str:
    """H, E or S with its dimension.

    >>> factor_name(-0.5, 2)
    'H2'
    """
    return f"{'H' if k < 0 else 'S' if k > 0 else 'E'}{dim}"


class Nodes:
    """Colours and markers of nodes, in groups that share a marker.

    Args:
        told: The run's arrays.
        theme: Colours.
    """

    def __init__(self, told: Embedded, theme: Theme) -> None:
        self.theme, self.count = theme, len(told.tangent)
        self.size = float(np.clip(1600 / max(self.count, 1), 8, 42))
        self.labels = told.labels if told.labels is not None and (told.labels >= 0).any() else None
        self.names = told.class_names
        self.groups: list[tuple[Array, dict[str, Any]]] = []
        if self.labels is None:
            self._by_depth(told)
        else:
            self._by_class(self.labels)

    def _by_class(self, labels: Array) -> None:
        for label in np.unique(labels):
            colour, marker = self.theme.mark(int(label)) if label >= 0 else (self.theme.muted, ".")
            self.groups.append((np.flatnonzero(labels == label), {"color": colour, "marker": marker}))

    def _by_depth(self, told: Embedded) -> None:
        self.centre = central_node(told.edges, self.count)
        steps = depths(told.edges, self.count, self.centre)
        known = np.isfinite(steps)
        self.deepest = int(steps[known].max())
        colours = self.theme.shades
        few = self.deepest <= 12
        self.norm = BoundaryNorm(np.arange(-0.5, self.deepest + 1), colours.N) if few else Normalize(0, self.deepest)
        where = np.flatnonzero(known)
        self.groups.append((where[np.argsort(-steps[where])], {"marker": "o"}))
        self.groups[0][1]["color"] = colours(self.norm(steps[self.groups[0][0]]))
        if not known.all():
            self.groups.append((np.flatnonzero(~known), {"color": self.theme.muted, "marker": "x"}))

    def look(self, more: dict[str, Any]) -> dict[str, Any]:
        """How a group is drawn; a thin line in the background's colour keeps markers apart."""
        crossed = more["marker"] in ("x", ".")
        edge = {} if crossed else {"edgecolors": self.theme.background, "linewidths": 0.3 if self.size < 12 else 0.6}
        return {"s": self.size, **edge, **more}

    def explain(self, figure: Figure, axes: Any) -> None:
        """A legend of classes outside the panels, or a bar of depths."""
        if self.labels is None:
            mappable = matplotlib.cm.ScalarMappable(self.norm, self.theme.shades)
            bar = figure.colorbar(mappable, ax=list(axes), shrink=0.7, pad=0.02)
            bar.set_label("steps from the most central node")
            bar.set_ticks(range(0, self.deepest + 1, max(1, -(-self.deepest // 12))))
            bar.minorticks_off()
            return
        shown = [label for label in np.unique(self.labels) if label >= 0]
        names = None if self.names is None else short_names(self.names)
        handles = []
        for label in shown[:NAMED_CLASSES]:
            colour, marker = self.theme.mark(int(label))
            name = str(label) if names is None else names[label]
            handles.append(axes[0].scatter([], [], s=34, color=colour, marker=marker, linewidths=0, label=name))
        more = len(shown) - len(handles)
        title = "class" if not more else f"class ({more} more)"
        figure.legend(handles=handles, loc="outside right center", title=title)


def embedding(theme: Theme, told: Embedded, title: str) -> Figure:
    """One panel for each of the first factors; what a panel cannot show of a factor its title says."""
    factors = told.factors
    shown = factors[:MOST_FACTORS]
    rows = 1 if len(shown) <= 3 else 2
    figure, axes = axes_for(len(shown), rows=rows, width=4.6, height=4.6)
    figure.set_figwidth(figure.get_figwidth() + 1.2)  # for the legend
    nodes = Nodes(told, theme)
    for number, (axis, (k, columns)) in enumerate(zip(axes, shown, strict=True), 1):
        tangent, share = best_plane(torch.from_numpy(told.tangent[:, columns]), k)
        _panel(axis, tangent, told.edges, k, nodes)
        dim = columns.stop - columns.start
        words = f"{factor_name(k, dim)}, {minus(f'κ = {k:.3g}')}"
        # Rounded down, or "100 %" could stand over a picture that leaves something out.
        words += f": shows {math.floor(100 * share)} % of it" if dim > 2 else ""
        axis.set_title(words if len(factors) == 1 else f"factor {number}: {words}")
    nodes.explain(figure, axes)
    left_out = "" if len(factors) == len(shown) else f" (the first {len(shown)} of {len(factors)} factors)"
    hidden = "" if len(told.edges) <= MOST_EDGES else f"; {len(told.edges):,} edges not drawn"
    figure.suptitle(f"{title}{left_out}{hidden}", size=12)
    return figure


def _panel(axis: Any, tangent: Tensor, edges: Array, k: float, nodes: Nodes) -> None:
    drawn = edges if len(edges) <= MOST_EDGES else edges[:0]
    thin = 1 / math.sqrt(max(len(edges), 1))
    line = {
        "width": min(0.9, 30 * thin + 0.2),
        "alpha": min(0.85, 11 * thin + 0.03),
        "zorder": 2,
        "rasterized": len(edges) > RASTER_EDGES,
    }
    if k > 0:
        _globe(axis, tangent, drawn, k, nodes, line)
    else:
        _flat(axis, tangent, drawn, k, nodes, line)


def _flat(axis: Any, tangent: Tensor, edges: Array, k: float, nodes: Nodes, line: dict[str, Any]) -> None:
    """The plane, or the disk with its rim."""
    points = project(expmap0(tangent, k=k), k=k)
    ground(axis, k, nodes.theme, reach=1.0 if k == 0 else None)
    _look_closer(axis, points.numpy(), radius(k), nodes.theme)
    ends = torch.from_numpy(edges)
    chains = arcs(points[ends[:, 0]], points[ends[:, 1]], k=k, steps=17 if k else 2)
    draw_arcs(axis, chains, nodes.theme, **line)
    for which, more in nodes.groups:
        axis.scatter(*points[which].T.numpy(), zorder=4, **nodes.look(more))


def _globe(axis: Any, tangent: Tensor, edges: Array, k: float, nodes: Nodes, line: dict[str, Any]) -> None:
    """The sphere from outside."""
    lifted = lift(tangent, k=k).numpy()
    unit = lifted * [math.sqrt(k), math.sqrt(k), 1]
    view = default_view(unit)
    draw_globe(axis, view, nodes.theme)
    _look_closer(axis, seen(unit, view)[0], 1.0, nodes.theme)
    draw_great_arcs(axis, great_arcs(unit[edges[:, 0]], unit[edges[:, 1]], steps=13), view, nodes.theme.muted, **line)
    for which, more in nodes.groups:
        scatter_globe(axis, unit[which], view, zorder=3.5, **nodes.look(more))


def _look_closer(axis: Any, flat: Array, whole: float, theme: Theme) -> None:
    """Where all points are in a small part of the disk or globe, show that part, and in a corner where it is."""
    low, high = flat.min(axis=0), flat.max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2 * 1.1
    if not 0 < half < CLOSE * whole:
        return
    left, bottom = middle - half
    axis.set(xlim=(left, left + 2 * half), ylim=(bottom, bottom + 2 * half))
    if not math.isfinite(whole):
        return
    corner = axis.inset_axes((0, 0, 0.17, 0.17), zorder=9)
    corner.set(xlim=(-1.1 * whole, 1.1 * whole), ylim=(-1.1 * whole, 1.1 * whole), aspect="equal")
    corner.axis("off")
    corner.add_patch(Circle((0, 0), whole, facecolor=theme.background, edgecolor=theme.ink, linewidth=0.8))
    corner.add_patch(Rectangle((left, bottom), 2 * half, 2 * half, color=theme.palette[1], linewidth=0))
