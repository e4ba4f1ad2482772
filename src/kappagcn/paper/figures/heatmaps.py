"""Distance to a point and to a hyperplane, as colours over a hyperbolic and a spherical space."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from kappagcn.geometry import antipode, dist, dist2plane
from kappagcn.view.figures.space import axes_for, ground, line, minus, radius
from kappagcn.view.figures.style import Theme

__all__ = ["CURVATURES", "NORMAL", "ON_PLANE", "SEEN_FROM", "distances", "field", "hyperplanes"]

CURVATURES = (-0.254, 0.248)  # as in the paper
SEEN_FROM = torch.tensor([0.7, 0.5], dtype=torch.float64)
ON_PLANE = torch.tensor([0.6, 0.4], dtype=torch.float64)
NORMAL = torch.tensor([0.8, -0.25], dtype=torch.float64)
PIXELS = 400
Values = Callable[[Tensor], Tensor]


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
    lines = axis.contour(side, side, grid, levels=levels, colors=scale_ink(theme), linewidths=0.5, zorder=2)
    lines.set_linestyle("solid")
    if k < 0:
        for drawn in (image, lines):
            drawn.set_clip_path(rim)
    return image


def scale_ink(theme: Theme) -> tuple[float, float, float, float]:
    """Colour of lines that are visible on all colours of a map and hide none."""
    return (1.0, 1.0, 1.0, 0.55) if theme.name == "dark" else (0.0, 0.0, 0.0, 0.4)


def distances(theme: Theme) -> Figure:
    """d_κ(x, ·): one colour scale for both spaces; lines are circles around x, one unit apart."""
    figure, axes = axes_for(2, width=4.3, height=4.0)
    farthest = math.pi * radius(CURVATURES[1])
    for axis, k in zip(axes, CURVATURES, strict=True):
        image = _heat(axis, partial(dist, SEEN_FROM, k=k), k, theme, cmap=theme.sequential, vmin=0, vmax=farthest)
        axis.scatter(*SEEN_FROM.numpy(), s=60, marker="X", color="white", edgecolors="black", linewidths=0.9, zorder=4)
        if k > 0:
            far = antipode(SEEN_FROM, k=k).numpy()
            axis.scatter(*far, s=40, color="white", edgecolors="black", linewidths=0.9, zorder=4)
            axis.annotate(
                "antipode of x", far, (8, 0), textcoords="offset points", color="black", va="center", zorder=5
            )
        axis.annotate(
            "x", SEEN_FROM.numpy(), (9, 5), textcoords="offset points", color="white", size=12, style="italic", zorder=5
        )
        axis.set_title(minus(f"κ = {k:g}"))
    figure.colorbar(image, ax=axes, label="distance to x", extend="max", shrink=0.85)
    return figure


def hyperplanes(theme: Theme) -> Figure:
    """The signed distance to the hyperplane through p with normal a; contour lines are one unit apart."""
    figure, axes = axes_for(2, width=4.3, height=4.0)
    farthest = math.pi / 2 * radius(CURVATURES[1])
    for axis, k in zip(axes, CURVATURES, strict=True):
        image = _heat(
            axis,
            partial(dist2plane, p=ON_PLANE, a=NORMAL, k=k),
            k,
            theme,
            cmap=theme.diverging,
            vmin=-farthest,
            vmax=farthest,
        )
        along = torch.stack([-NORMAL[1], NORMAL[0]])
        axis.plot(*line(ON_PLANE, along, k=k).T.numpy(), color=theme.ink, linewidth=2.2, zorder=3)
        tip = (ON_PLANE + NORMAL).numpy()
        axis.annotate(
            "",
            tip,
            ON_PLANE.numpy(),
            arrowprops={"arrowstyle": "-|>", "color": theme.ink, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0},
            zorder=4,
        )
        axis.scatter(*ON_PLANE.numpy(), s=36, color=theme.ink, edgecolors=theme.background, linewidths=0.8, zorder=5)
        for word, place, offset in (("p", ON_PLANE.numpy(), (-13, -2)), ("a", tip, (3, -8))):
            axis.annotate(word, place, offset, textcoords="offset points", size=12, style="italic", zorder=5)
        axis.set_title(minus(f"κ = {k:g}"))
    figure.colorbar(image, ax=axes, label="signed distance to the hyperplane", extend="both", shrink=0.85)
    return figure
