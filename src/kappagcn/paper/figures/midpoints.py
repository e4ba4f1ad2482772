"""Gyromidpoints: of four points, and of two as the weight runs from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from kappagcn.geometry import dist, midpoint, to_ambient
from kappagcn.view.figures.space import arcs, axes_for, draw_arcs, ground, minus
from kappagcn.view.figures.sphere import draw_globe, draw_great_arcs, great_arcs, scatter_globe, view_from
from kappagcn.view.figures.style import Theme

__all__ = ["FOUR", "TWO", "midpoints", "weighted", "weighted_points"]

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
            axis.annotate(
                {0: "x", 20: "y"}.get(number, f"{number / 20:.2g}"),
                place.tolist(),
                (15 * side).tolist(),
                textcoords="offset points",
                ha="center",
                va="center",
                style="italic" if number in (0, 20) else "normal",
                size=12 if number in (0, 20) else 9,
                zorder=5,
            )
        half = float(dist(x, points[5], k=k) / dist(x, y, k=k))
        axis.set_title(f"{SPACE[k]}, {minus(f'κ = {k:g}')}")
        words = f"β = 0.25 lies {100 * half:.0f} % of the way"
        axis.text(0.5, -0.01, words, transform=axis.transAxes, ha="center", va="top")
    return figure


def _beside(points: Tensor, number: int) -> Tensor:
    """The unit vector across the chain of points at one of them, to its left."""
    before, after = points[max(number - 1, 0)], points[min(number + 1, len(points) - 1)]
    along = (after - before) / (after - before).norm()
    return torch.stack([-along[1], along[0]])
