"""Figures that are computed: trees, geodesics and midpoints in curved spaces, and distances there as colours."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from kappagcn.geometry import antipode, dist, dist2plane, expmap0, midpoint, to_ambient
from kappagcn.view.figures.space import arcs, axes_for, draw_arcs, ground, line, minus, radius
from kappagcn.view.figures.sphere import draw_globe, draw_great_arcs, great_arcs, scatter_globe, view_from
from kappagcn.view.figures.style import Theme

__all__ = ["distances", "geodesics", "hyperplanes", "midpoints", "trees", "weighted"]

BRANCHING = 2
DEPTHS = (2, 3, 4, 5)
STEP = {0.0: 1.0, -1.0: 0.9}  # length of an edge to the next circle, by κ
LINES = 12
THROUGH = {-1.0: (0.3, 0.25), 1.0: (0.6, 0.5)}
BESIDE = {-1.0: (-0.45, -0.3), 1.0: (-0.35, -0.5)}  # a point of the line that does not go through THROUGH
SHOWN_AS = {-1.0: "Poincaré disk", 1.0: "sphere, projected"}
MEETING = {-1.0: "most of them never meet the other one", 1.0: "each of them meets the other one twice"}
FOUR = {
    1.0: torch.tensor([[0.3, 0.55], [-0.55, -0.3], [-0.15, -0.78], [0.66, -0.2]], dtype=torch.float64),
    -1.0: torch.tensor([[0.32, 0.87], [-0.7, 0.1], [-0.26, -0.59], [0.5, -0.33]], dtype=torch.float64),
}
TWO = {
    -1.0: torch.tensor([[-0.88, -0.3], [0.62, 0.72]], dtype=torch.float64),
    0.0: torch.tensor([[-1.2, -0.7], [1.2, 0.7]], dtype=torch.float64),
    1.0: torch.tensor([[-0.92, -0.1], [0.75, 0.45]], dtype=torch.float64),
}
SPACE = {-1.0: "hyperbolic", 0.0: "Euclidean", 1.0: "spherical"}
LABELLED = (0, 5, 10, 15, 20)  # indices of the labelled weights among 0, 0.05, … 1
MEAN: dict[str, Any] = {"marker": "o", "s": 80, "facecolors": "none", "linewidths": 1.6}
MIDDLE: dict[str, Any] = {"marker": "*", "s": 230, "linewidths": 0.9}
POINT: dict[str, Any] = {"marker": "o", "s": 46, "linewidths": 0.8}
CURVATURES = (-0.254, 0.248)  # as in the paper
SEEN_FROM = torch.tensor([0.7, 0.5], dtype=torch.float64)
ON_PLANE = torch.tensor([0.6, 0.4], dtype=torch.float64)
NORMAL = torch.tensor([0.8, -0.25], dtype=torch.float64)
PIXELS = 400
LETTER: dict[str, Any] = {"size": 12, "style": "italic"}
Values = Callable[[Tensor], Tensor]


def note(axis: Any, text: str, place: Any, offset: Any, **style: Any) -> None:
    """Write beside a point, at an offset in points of type."""
    axis.annotate(text, place, offset, textcoords="offset points", zorder=5, **style)


def below(axis: Any, text: str) -> None:
    """Write below a panel."""
    axis.text(0.5, -0.01, text, transform=axis.transAxes, ha="center", va="top")


def fan(depth: int, k: float) -> tuple[Tensor, Tensor, Tensor]:
    """A tree on concentric circles around its root.

    Args:
        depth: Levels below the root.
        k: −1 or 0.

    Returns:
        Points (N, 2) level by level, the level of each (N,), and edges (N − 1, 2) to the parents.
    """
    points, levels, edges = [torch.zeros(1, 2, dtype=torch.float64)], [0], []
    first = 0
    for level in range(1, depth + 1):
        count = BRANCHING**level
        # A boundary between two branches of the root is at the top: the two leaves beside it have the largest distance.
        angle = math.pi / 2 + 2 * math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count
        direction = torch.stack([angle.cos(), angle.sin()], dim=-1)
        points.append(expmap0(STEP[k] * level / 2 * direction, k=k))
        here = first + count // BRANCHING
        edges += [(here + i, first + i // BRANCHING) for i in range(count)]
        levels += [level] * count
        first = here
    return torch.cat(points), torch.tensor(levels), torch.tensor(edges)


def leaf_distance(points: Tensor, depth: int, k: float) -> float:
    """Distance between the first and the last leaf, in lengths of an edge at the root; in the tree it is 2·depth."""
    return float(dist(points[-(BRANCHING**depth)], points[-1], k=k)) / STEP[k]


def way_up(node: int, edges: Tensor) -> list[int]:
    """The edges from a node to the root."""
    path = []
    while node:
        path.append(node - 1)
        node = int(edges[node - 1, 1])
    return path


def trees(theme: Theme) -> Figure:
    """Trees of growing depth in the plane (above) and in the Poincaré disk (below)."""
    figure, axes = axes_for(2 * len(DEPTHS), rows=2, width=2.75, height=3.05)
    for axis, (k, depth) in zip(axes, [(k, depth) for k in STEP for depth in DEPTHS], strict=True):
        points, levels, edges = fan(depth, k)
        far = STEP[k] * max(DEPTHS) / 2
        ground(axis, k, theme, reach=None if k else far * 1.08)
        for level in range(1, depth + 1):
            circle = float(expmap0(torch.tensor([STEP[k] * level / 2, 0.0]), k=k)[0])
            axis.add_patch(Circle((0, 0), circle, fill=False, edgecolor=theme.grid, linewidth=0.9, zorder=0))
        chains = arcs(points[edges[:, 0]], points[edges[:, 1]], k=k, steps=13 if k else 2)
        draw_arcs(axis, chains, theme, width=0.7, zorder=1)
        for level in range(depth + 1):  # one size at a time: an SVG then holds each marker once
            size = max(2.0, 16 * 0.62**level)
            axis.scatter(*points[levels == level].T.numpy(), s=size, color=theme.ink, linewidths=0, zorder=2)
        for leaf, colour in ((len(points) - BRANCHING**depth, theme.palette[3]), (len(points) - 1, theme.palette[2])):
            # Edge i − 1 leads from node i to its parent: the path between two leaves stays visible where they overlap.
            draw_arcs(axis, chains[way_up(leaf, edges)], theme, color=colour, width=2, zorder=3)
            dot = {"s": 34, "color": colour, "edgecolors": theme.background, "linewidths": 0.6}
            axis.scatter(*points[leaf].numpy(), zorder=5, **dot)
        below(axis, f"drawn {leaf_distance(points, depth, k):.2f}, in the tree {2 * depth}")
        if k == 0:
            axis.set_title(f"depth {depth}")
    for row, name in zip((0, len(DEPTHS)), ("plane", "Poincaré disk"), strict=True):
        axes[row].text(-0.06, 0.5, name, transform=axes[row].transAxes, rotation=90, ha="right", va="center", size=11)
    return figure


def _point(place: tuple[float, float]) -> Tensor:
    return torch.tensor(place, dtype=torch.float64)


def pencil(k: float) -> Tensor:
    """Geodesics through one point in evenly spread directions, (LINES, steps, 2)."""
    x = _point(THROUGH[k])
    angles = torch.arange(LINES, dtype=torch.float64) * math.pi / LINES + 0.1
    return torch.stack([line(x, torch.stack([angle.cos(), angle.sin()]), k=k) for angle in angles])


def other(k: float) -> Tensor:
    """A geodesic beside the point, (steps, 2); on the sphere it meets the equator along ± `across`."""
    return line(_point(BESIDE[k]), across(k), k=k)


def across(k: float) -> Tensor:
    """The direction at right angles to the point of `other` that is nearest to the origin, of length 1."""
    x, y = BESIDE[k]
    return _point((-y, x)) / math.hypot(x, y)


def geodesics(theme: Theme) -> Figure:
    """Geodesics through a point, and one that does not go through it."""
    figure, axes = axes_for(2, width=4.3, height=4.6)
    for axis, k in zip(axes, MEETING, strict=True):
        ground(axis, k, theme, reach=None if k < 0 else 3.0)
        draw_arcs(axis, pencil(k), theme, color=theme.palette[0], width=1.2, zorder=1)
        draw_arcs(axis, other(k)[None], theme, color=theme.palette[1], width=2.2, zorder=2)
        axis.scatter(*THROUGH[k], s=42, color=theme.ink, edgecolors=theme.background, linewidths=0.8, zorder=4)
        behind: Any = {"boxstyle": "round,pad=0.15", "facecolor": theme.background, "linewidth": 0, "alpha": 0.85}
        note(axis, "x", THROUGH[k], (10, 9), bbox=behind, **LETTER)
        if k > 0:
            far = antipode(_point(THROUGH[k]), k=k)
            axis.scatter(*far, s=30, color=theme.background, edgecolors=theme.ink, linewidths=1.4, zorder=4)
            note(axis, "antipode of x", far, (-12, -16), ha="right", size=9, bbox=behind)
            ends = torch.stack([across(k), -across(k)])
            axis.plot(*ends.T, color=theme.muted, linewidth=1, linestyle=":", zorder=2)
            axis.scatter(*ends.T, s=30, color=theme.background, edgecolors=theme.palette[1], linewidths=1.6, zorder=4)
        axis.set_title(f"{SHOWN_AS[k]}, {minus(f'κ = {k:g}')}:\n{MEETING[k]}", fontsize=10)
    handles = [
        *(axes[0].plot([], [], color=theme.palette[i], linewidth=w)[0] for i, w in ((0, 1.2), (1, 2.2))),
        axes[0].plot([], [], color=theme.ink, linewidth=1.1)[0],
        axes[0].plot([], [], color=theme.ink, linewidth=1.1, linestyle=(0, (5, 4)))[0],
    ]
    words = ["geodesics through x", "another geodesic", "rim of the disk (left)", "equator (right)"]
    figure.legend(handles, words, loc="outside lower center", ncols=4)
    return figure


def midpoints(theme: Theme) -> Figure:
    """The gyromidpoint of four points: on the sphere, in its projection and in the Poincaré disk."""
    figure, axes = axes_for(3, width=3.7, height=4.6)
    _on_globe(axes[0], theme)
    axes[0].set_title("sphere, κ = 1")
    for axis, (k, name) in zip(axes[1:], {1.0: "its projection", -1.0: "Poincaré disk"}.items(), strict=True):
        four = FOUR[k]
        middle = midpoint(four, k=k)[None]
        ground(axis, k, theme, reach=None if k < 0 else 1.08)
        draw_arcs(axis, arcs(four, middle.expand(4, 2), k=k), theme, width=1.4)
        axis.scatter(*four.T, color=theme.palette[0], edgecolors=theme.background, zorder=4, **POINT)
        axis.scatter(*four.mean(0), edgecolors=theme.ink, zorder=6, **MEAN)
        axis.scatter(*middle.T, color=theme.palette[1], edgecolors=theme.background, zorder=5, **MIDDLE)
        axis.set_title(f"{name}, {minus(f'κ = {k:g}')}")
    handles = [
        axes[1].scatter([], [], color=theme.palette[0], **POINT),
        axes[1].scatter([], [], color=theme.palette[1], **MIDDLE),
        axes[1].scatter([], [], edgecolors=theme.ink, **MEAN),
        axes[1].plot([], [], color=theme.muted, linewidth=1.4)[0],
    ]
    words = ["points", "gyromidpoint", "mean of the coordinates", "geodesics"]
    figure.legend(handles, words, loc="outside lower center", ncols=4)
    return figure


def _on_globe(axis: Any, theme: Theme) -> None:
    four = FOUR[1.0]
    lifted, middle = (to_ambient(x, k=1.0).numpy() for x in (four, midpoint(four, k=1.0)[None]))
    view = view_from(lifted.mean(0))  # a direction from which all four are visible
    draw_globe(axis, view, theme)
    draw_great_arcs(axis, great_arcs(lifted, np.repeat(middle, 4, 0)), view, theme.muted, width=1.4, zorder=2)
    scatter_globe(axis, lifted, view, color=theme.palette[0], edgecolors=theme.background, **POINT)
    scatter_globe(axis, middle, view, color=theme.palette[1], edgecolors=theme.background, zorder=5, **MIDDLE)


def weighted_points(k: float) -> Tensor:
    """The midpoints of x and y with weights 1 − β and β for β = 0, 0.05, … 1: (21, 2)."""
    beta = torch.linspace(0, 1, 21, dtype=torch.float64)
    weights = torch.stack([1 - beta, beta], dim=-1)
    return midpoint(TWO[k].expand(21, 2, 2), weights, k=k)


def weighted(theme: Theme) -> Figure:
    """The weighted midpoint αx + βy, α + β = 1, in three spaces: always on the geodesic, evenly only in the plane."""
    figure, axes = axes_for(3, width=3.7, height=4.3)
    colours = theme.palette[0]
    for axis, k in zip(axes, SPACE, strict=True):
        x, y = TWO[k]
        ground(axis, k, theme, reach={-1.0: None, 0.0: 1.6, 1.0: 1.08}[k])
        draw_arcs(axis, arcs(x[None], y[None], k=k, steps=121), theme, width=1.6)
        points = weighted_points(k)
        axis.scatter(*points.T, s=18, color=colours, linewidths=0, zorder=3)
        named = points[list(LABELLED)]
        axis.scatter(*named.T, s=52, color=theme.palette[1], edgecolors=theme.background, linewidths=0.8, zorder=4)
        for place, number in zip(named, LABELLED, strict=True):
            side = _beside(points, number) * (-1 if k > 0 else 1)  # the side without the rim or the equator
            letter = {0: "x", 20: "y"}.get(number)
            style = {"size": 9} if letter is None else LETTER
            text = letter or f"{number / 20:.2g}"
            note(axis, text, place.tolist(), (15 * side).tolist(), ha="center", va="center", **style)
        half = float(dist(x, points[5], k=k) / dist(x, y, k=k))
        axis.set_title(f"{SPACE[k]}, {minus(f'κ = {k:g}')}")
        below(axis, f"β = 0.25 lies {100 * half:.0f} % of the way")
    return figure


def _beside(points: Tensor, number: int) -> Tensor:
    """The unit vector across the chain of points at one of them, to its left."""
    before, after = points[max(number - 1, 0)], points[min(number + 1, len(points) - 1)]
    along = (after - before) / (after - before).norm()
    return torch.stack([-along[1], along[0]])


def field(values: Values, k: float, reach: float, pixels: int = PIXELS) -> tuple[Any, Any]:
    """A function of points over a square around the origin.

    Args:
        values: Function of points, (N, 2) → (N,).
        k: Curvature.
        reach: Half the side of the square.
        pixels: Number of pixels along a side.

    Returns:
        Centres of the pixels along a side, (pixels,), and values (rows from below, columns), (pixels, pixels). Pixels
        outside the disk have the value of the nearest point inside; the drawing cuts them off.
    """
    side = torch.linspace(-reach, reach, pixels + 1, dtype=torch.float64)
    side = (side[1:] + side[:-1]) / 2
    points = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1).reshape(-1, 2)
    if k < 0:
        length = points.norm(dim=-1, keepdim=True)
        points = points * (0.9999 * radius(k) / length).clamp(max=1)
    return side.numpy(), values(points).reshape(pixels, pixels).numpy()


def _heat(axis: Any, values: Values, k: float, theme: Theme, **scale: Any) -> Any:
    """Colours and contour lines, cut at the rim of the disk."""
    rim = ground(axis, k, theme, fill=False)
    reach = radius(k) * (1 if k < 0 else 2)
    side, grid = field(values, k, reach)
    extent = (-reach, reach, -reach, reach)
    image = axis.imshow(grid, origin="lower", extent=extent, interpolation="bilinear", zorder=1, **scale)
    levels = np.arange(math.ceil(grid.min()), math.ceil(min(grid.max(), scale["vmax"] + 2)))
    # Visible on all colours of a map, and hiding none.
    ink = (1.0, 1.0, 1.0, 0.55) if theme.name == "dark" else (0.0, 0.0, 0.0, 0.4)
    lines = axis.contour(side, side, grid, levels=levels, colors=ink, linewidths=0.5, zorder=2)
    lines.set_linestyle("solid")
    if k < 0:
        for drawn in (image, lines):
            drawn.set_clip_path(rim)
    return image


def distances(theme: Theme) -> Figure:
    """d_κ(x, ·): one colour scale for both spaces; lines are circles around x, one unit apart."""
    figure, axes = axes_for(2, width=4.3, height=4.0)
    farthest = math.pi * radius(CURVATURES[1])
    for axis, k in zip(axes, CURVATURES, strict=True):
        image = _heat(axis, partial(dist, SEEN_FROM, k=k), k, theme, cmap=theme.sequential, vmin=0, vmax=farthest)
        white: Any = {"color": "white", "edgecolors": "black", "linewidths": 0.9, "zorder": 4}
        axis.scatter(*SEEN_FROM.numpy(), s=60, marker="X", **white)
        if k > 0:
            far = antipode(SEEN_FROM, k=k).numpy()
            axis.scatter(*far, s=40, **white)
            note(axis, "antipode of x", far, (8, 0), color="black", va="center")
        note(axis, "x", SEEN_FROM.numpy(), (9, 5), color="white", **LETTER)
        axis.set_title(minus(f"κ = {k:g}"))
    figure.colorbar(image, ax=axes, label="distance to x", extend="max", shrink=0.85)
    return figure


def hyperplanes(theme: Theme) -> Figure:
    """The signed distance to the hyperplane through p with normal a; contour lines are one unit apart."""
    figure, axes = axes_for(2, width=4.3, height=4.0)
    farthest = math.pi / 2 * radius(CURVATURES[1])
    for axis, k in zip(axes, CURVATURES, strict=True):
        values = partial(dist2plane, p=ON_PLANE, a=NORMAL, k=k)
        image = _heat(axis, values, k, theme, cmap=theme.diverging, vmin=-farthest, vmax=farthest)
        along = torch.stack([-NORMAL[1], NORMAL[0]])
        axis.plot(*line(ON_PLANE, along, k=k).T.numpy(), color=theme.ink, linewidth=2.2, zorder=3)
        tip = (ON_PLANE + NORMAL).numpy()
        arrow = {"arrowstyle": "-|>", "color": theme.ink, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", tip, ON_PLANE.numpy(), arrowprops=arrow, zorder=4)
        axis.scatter(*ON_PLANE.numpy(), s=36, color=theme.ink, edgecolors=theme.background, linewidths=0.8, zorder=5)
        for word, place, offset in (("p", ON_PLANE.numpy(), (-13, -2)), ("a", tip, (3, -8))):
            note(axis, word, place, offset, **LETTER)
        axis.set_title(minus(f"κ = {k:g}"))
    figure.colorbar(image, ax=axes, label="signed distance to the hyperplane", extend="both", shrink=0.85)
    return figure
