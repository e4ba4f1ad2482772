"""Geodesics: arcs that meet the rim of the disk at right angles, circles through antipodes of the equator."""

from __future__ import annotations

import math
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from kappagcn.geometry import antipode
from kappagcn.view.figures.space import axes_for, draw_arcs, ground, line, minus
from kappagcn.view.figures.style import Theme

__all__ = ["across", "geodesics", "other", "pencil"]

LINES = 12
POINT = {-1.0: (0.3, 0.25), 1.0: (0.6, 0.5)}
BESIDE = {-1.0: (-0.45, -0.3), 1.0: (-0.35, -0.5)}  # a point of the line that does not go through POINT
SPACE = {-1.0: "Poincaré disk", 1.0: "sphere, projected"}
MEETING = {-1.0: "most of them never meet the other one", 1.0: "each of them meets the other one twice"}


def _point(place: tuple[float, float]) -> Tensor:
    return torch.tensor(place, dtype=torch.float64)


def pencil(k: float) -> Tensor:
    """Geodesics through one point in evenly spread directions, (LINES, steps, 2)."""
    x = _point(POINT[k])
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
    for axis, k in zip(axes, SPACE, strict=True):
        ground(axis, k, theme, reach=None if k < 0 else 3.0)
        draw_arcs(axis, pencil(k), theme, color=theme.palette[0], width=1.2, zorder=1)
        draw_arcs(axis, other(k)[None], theme, color=theme.palette[1], width=2.2, zorder=2)
        axis.scatter(*POINT[k], s=42, color=theme.ink, edgecolors=theme.background, linewidths=0.8, zorder=4)
        behind: Any = {"boxstyle": "round,pad=0.15", "facecolor": theme.background, "linewidth": 0, "alpha": 0.85}
        label: Any = {"textcoords": "offset points", "zorder": 5, "bbox": behind}
        axis.annotate("x", POINT[k], (10, 9), style="italic", size=12, **label)
        if k > 0:
            far = antipode(_point(POINT[k]), k=k)
            axis.scatter(*far, s=30, color=theme.background, edgecolors=theme.ink, linewidths=1.4, zorder=4)
            axis.annotate("antipode of x", far, (-12, -16), ha="right", size=9, **label)
            ends = torch.stack([across(k), -across(k)])
            axis.plot(*ends.T, color=theme.muted, linewidth=1, linestyle=":", zorder=2)
            axis.scatter(*ends.T, s=30, color=theme.background, edgecolors=theme.palette[1], linewidths=1.6, zorder=4)
        axis.set_title(f"{SPACE[k]}, {minus(f'κ = {k:g}')}:\n{MEETING[k]}", fontsize=10)
    handles = [
        *(axes[0].plot([], [], color=theme.palette[i], linewidth=w)[0] for i, w in ((0, 1.2), (1, 2.2))),
        axes[0].plot([], [], color=theme.ink, linewidth=1.1)[0],
        axes[0].plot([], [], color=theme.ink, linewidth=1.1, linestyle=(0, (5, 4)))[0],
    ]
    words = ["geodesics through x", "another geodesic", "rim of the disk (left)", "equator (right)"]
    figure.legend(handles, words, loc="outside lower center", ncols=4)
    return figure
