"""A run's nodes in each factor of its space: disk, plane or globe, coloured by class or by depth."""

import math
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.colors import BoundaryNorm, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from torch import Tensor

from kappagcn.geometry import expmap0, lift, lower, project
from kappagcn.run_folder import Array, Embedded, factor_name, principal
from kappagcn.view.centre import CLOSE, central_node, node_numbers
from kappagcn.view.figures.space import arcs, axes_for, draw_arcs, ground, minus, radius
from kappagcn.view.figures.sphere import default_view, draw_globe, draw_great_arcs, great_arcs, scatter_globe, seen
from kappagcn.view.figures.style import Theme
from kappagcn.view.palette import short_names

MOST_FACTORS = 6
RASTER_EDGES = 800  # edges above which they are drawn as pixels; an SVG would have many megabytes
MOST_EDGES = 20_000
NAMED_CLASSES = 18  # classes in a legend; more would not fit
LOCATOR = 0.19  # height of the locator, as a share of the picture


class Nodes:
    """Colours and markers of a run's nodes, in groups that share a marker."""

    def __init__(self, run: Embedded, theme: Theme) -> None:
        self.theme, self.count = theme, len(run.tangent)
        self.size = float(np.clip(1600 / max(self.count, 1), 8, 42))
        self.labels = run.labels if run.labels is not None and (run.labels >= 0).any() else None
        self.names = run.class_names
        self.groups: list[tuple[Array, dict[str, Any]]] = []
        if self.labels is None:
            self._group_by_number(run)
        else:
            for label in np.unique(self.labels):
                colour, marker = theme.mark(int(label)) if label >= 0 else (theme.muted, ".")
                self.groups.append((np.flatnonzero(self.labels == label), {"color": colour, "marker": marker}))

    def _group_by_number(self, run: Embedded) -> None:
        self.by, numbers = node_numbers(run.edges, self.count, central_node(run.edges, self.count))
        known = np.isfinite(numbers)
        self.deepest = int(numbers[known].max())
        colours = self.theme.shades
        few = self.deepest <= 12
        self.norm = BoundaryNorm(np.arange(-0.5, self.deepest + 1), colours.N) if few else Normalize(0, self.deepest)
        if self.by == "degree" and not few:
            self.norm = LogNorm(max(float(numbers.min()), 1), self.deepest)
        reached = np.flatnonzero(known)
        reached = reached[np.argsort(-numbers[reached])]
        self.groups.append((reached, {"marker": "o", "color": colours(self.norm(numbers[reached]))}))
        if not known.all():
            self.groups.append((np.flatnonzero(~known), {"color": self.theme.muted, "marker": "x"}))

    def style_of(self, group: dict[str, Any]) -> dict[str, Any]:
        """Arguments for drawing a group; a thin line in the background's colour keeps markers apart."""
        crossed = group["marker"] in ("x", ".")
        edge = {} if crossed else {"edgecolors": self.theme.background, "linewidths": 0.3 if self.size < 12 else 0.6}
        return {"s": self.size, **edge, **group}

    def explain(self, figure: Figure, axes: Any) -> None:
        """Draw a legend of classes outside the panels, or a bar of depths."""
        if self.labels is None:
            mappable = matplotlib.cm.ScalarMappable(self.norm, self.theme.shades)
            bar = figure.colorbar(mappable, ax=list(axes), shrink=0.7, pad=0.02)
            bar.set_label("steps from the most central node" if self.by == "depth" else "degree")
            if not isinstance(self.norm, LogNorm):
                bar.set_ticks(range(0, self.deepest + 1, max(1, -(-self.deepest // 12))))
            bar.minorticks_off()
            return
        classes = [label for label in np.unique(self.labels) if label >= 0]
        names = None if self.names is None else short_names(self.names)
        handles = []
        for label in classes[:NAMED_CLASSES]:
            colour, marker = self.theme.mark(int(label))
            name = str(label) if names is None else names[label]
            handles.append(axes[0].scatter([], [], s=34, color=colour, marker=marker, linewidths=0, label=name))
        more = len(classes) - len(handles)
        title = "class" if not more else f"class ({more} more)"
        figure.legend(handles=handles, loc="outside right center", title=title)


def embedding(theme: Theme, run: Embedded, title: str) -> Figure:
    """One panel for each of the first factors; its title says how much of the factor the panel shows."""
    shown = run.factors[:MOST_FACTORS]
    figure, axes = axes_for(len(shown), rows=1 if len(shown) <= 3 else 2, width=4.6, height=4.6)
    figure.set_figwidth(figure.get_figwidth() + 1.2)  # for the legend
    nodes = Nodes(run, theme)
    for number, (axis, (k, columns)) in enumerate(zip(axes, shown, strict=True), 1):
        tangent, share = best_plane(torch.from_numpy(run.tangent[:, columns]), k)
        draw_panel(axis, tangent, run.edges, k, nodes)
        dim = columns.stop - columns.start
        words = f"{factor_name(k, dim)}, {minus(f'κ = {k:.3g}')}"
        # Rounded down, so that "100 %" is not written above a picture that leaves something out.
        words += f": shows {math.floor(100 * share)} % of it" if dim > 2 else ""
        axis.set_title(words if len(run.factors) == 1 else f"factor {number}: {words}")
    nodes.explain(figure, axes)
    left_out = "" if len(run.factors) == len(shown) else f" (the first {len(shown)} of {len(run.factors)} factors)"
    hidden = "" if len(run.edges) <= MOST_EDGES else f"; {len(run.edges):,} edges not drawn"
    figure.suptitle(f"{title}{left_out}{hidden}", size=12)
    return figure


def draw_panel(
    axis: Any,
    tangent: Tensor,
    edges: Array,
    k: float,
    nodes: Nodes,
    *,
    close: float = CLOSE,
    view: Array | None = None,
    locator: bool = True,
) -> None:
    """Draw nodes and geodesics of one factor.

    Args:
        axis: Axis to draw on.
        tangent: Tangent vectors at the origin, (N, 2).
        edges: Edges, (E, 2); too many are left out.
        k: Curvature.
        nodes: Colours and markers.
        close: Share of the disk or globe below which the part that has all points is enlarged.
        view: Rotation of the globe; by default the one that shows most of the points.
        locator: Whether to show beside an enlarged part where it is.
    """
    drawn = edges if len(edges) <= MOST_EDGES else edges[:0]
    thin = 1 / math.sqrt(max(len(edges), 1))
    line: dict[str, Any] = {"width": min(0.9, 30 * thin + 0.2), "alpha": min(0.85, 11 * thin + 0.03)}
    line |= {"zorder": 2, "rasterized": len(edges) > RASTER_EDGES}
    if k > 0:
        unit = lift(tangent, k=k).numpy() * [math.sqrt(k), math.sqrt(k), 1]
        view = default_view(unit) if view is None else view
        draw_globe(axis, view, nodes.theme)
        chains = great_arcs(unit[drawn[:, 0]], unit[drawn[:, 1]], steps=13)
        draw_great_arcs(axis, chains, view, nodes.theme.muted, **line)
        for group, style in nodes.groups:
            scatter_globe(axis, unit[group], view, zorder=3.5, **nodes.style_of(style))
        flat, whole = seen(unit, view)[0], 1.0
    else:
        points = project(expmap0(tangent, k=k), k=k)
        ground(axis, k, nodes.theme, reach=1.0 if k == 0 else None)
        ends = torch.from_numpy(drawn)
        lines = arcs(points[ends[:, 0]], points[ends[:, 1]], k=k, steps=17 if k else 2)
        draw_arcs(axis, lines, nodes.theme, **line)
        for step in range(1, 6 if k else 1):  # circles one radius of curvature apart
            ring = {"fill": False, "edgecolor": nodes.theme.grid, "linewidth": 0.7, "zorder": 0.5}
            axis.add_patch(Circle((0, 0), radius(k) * math.tanh(step / 2), **ring))
        gaps = 0.3 + 0.7 * (1 + k * points.square().sum(1)).numpy()  # markers shrink towards the rim, as lengths do
        for group, style in nodes.groups:
            shown = nodes.style_of(style)
            axis.scatter(*points[group].T.numpy(), zorder=4, **shown | {"s": shown["s"] * gaps[group]})
        flat, whole = points.numpy(), radius(k)
    if float(np.linalg.norm(flat, axis=1).max()) < close * whole:
        _zoom(axis, flat, whole, nodes.theme, locator=locator)


def _zoom(axis: Any, flat: Array, whole: float, theme: Theme, *, locator: bool) -> None:
    """Enlarge the part of the disk or globe that has all points, and show below where it is."""
    low, high = flat.min(axis=0), flat.max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2 * 1.1
    if not half:
        return
    left, bottom = middle - half
    axis.set(xlim=(left, left + 2 * half), ylim=(bottom, bottom + 2 * half))
    if not (locator and math.isfinite(whole)):
        return
    axis.set_ylim(bottom - 2 * half * LOCATOR, bottom + 2 * half)  # a strip without points, for the locator
    corner = axis.inset_axes((0, 0, LOCATOR, LOCATOR / (1 + LOCATOR)), zorder=9)
    corner.set(xlim=(-1.1 * whole, 1.1 * whole), ylim=(-1.1 * whole, 1.1 * whole), aspect="equal")
    corner.axis("off")
    corner.add_patch(Circle((0, 0), whole, facecolor=theme.background, edgecolor=theme.ink, linewidth=0.8))
    corner.add_patch(Rectangle((left, bottom), 2 * half, 2 * half, color=theme.palette[1], linewidth=0))
    corner.text(1.25 * whole, 0, "part of the space\nthat is shown", va="center", size=8, color=theme.muted)


def best_plane(tangent: Tensor, k: float, axes: Array | None = None) -> tuple[Tensor, float]:
    """Tangent vectors (N, D) in two dimensions, (N, 2), and the share of their squared lengths that remains.

    The plane is spanned by the two principal directions of the tangent vectors, or by the first two of these `axes`.
    Points go there along geodesics at right angles to it: in ambient coordinates the other directions are dropped and
    the rest is scaled back onto the sphere or hyperboloid. Two dimensions or fewer are left as they are.
    """
    v = tangent.double()
    if v.shape[1] <= 2:
        return torch.nn.functional.pad(v, (0, 2 - v.shape[1])), 1.0
    directions, share = principal(v.numpy())
    axes = directions if axes is None else axes
    lifted = lift(v, k=k)
    return lower(torch.cat([lifted[:, :-1] @ torch.from_numpy(axes[:, :2].copy()), lifted[:, -1:]], dim=1), k=k), share
