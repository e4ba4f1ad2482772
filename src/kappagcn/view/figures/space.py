"""Axes for a space: the disk, the plane or the projected sphere, and geodesics in it."""

import math
from typing import Any

import torch
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from kappagcn.geometry import expmap, geodesic, norm
from kappagcn.view.figures.style import Theme

STEPS = 33
FAR = 8.0  # length, in radii of curvature, after which a geodesic of the disk visibly ends at the rim


def minus(text: str) -> str:
    """Numbers with a minus sign instead of a hyphen.

    >>> minus("κ = -1")
    'κ = −1'
    """
    return text.replace("-", "−")


def radius(k: float) -> float:
    """1/√|κ|: the radius of the disk or of the sphere's equator; infinite in the plane."""
    return abs(k) ** -0.5 if k else math.inf


def arcs(x: Tensor, y: Tensor, *, k: float, steps: int = STEPS) -> Tensor:
    """The geodesics from x to y as chains of points: (E, D), (E, D) → (E, steps, D)."""
    t = torch.linspace(0, 1, steps, dtype=x.dtype)
    return geodesic(t[:, None], x, y, k=k).transpose(0, 1)


def line(x: Tensor, v: Tensor, *, k: float, steps: int = 721) -> Tensor:
    """The whole geodesic through x along v, (steps, D): from rim to rim for κ < 0, once round for κ > 0."""
    reach = math.pi * radius(k) if k > 0 else FAR * radius(k) if k < 0 else 100.0
    t = torch.linspace(-reach, reach, steps, dtype=x.dtype)
    return expmap(x, t[:, None] * (v / norm(x, v, k=k)), k=k)


def draw_arcs(axis: Any, chains: Tensor, theme: Theme, *, color: Any = None, width: float = 0.9, **more: Any) -> None:
    """Draw chains of points as lines."""
    colour = theme.muted if color is None else color
    lines = LineCollection(list(chains.numpy()), colors=colour, linewidths=width, **more)
    axis.add_collection(lines, autolim=False)


def axes_for(count: int, *, width: float = 3.6, height: float = 3.9, rows: int = 1) -> tuple[Figure, Any]:
    """A figure with axes in rows, made without pyplot, so that it need not be closed."""
    columns = -(-count // rows)
    figure = Figure(figsize=(width * columns, height * rows))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def ground(axis: Any, k: float, theme: Theme, *, reach: float | None = None, fill: bool = True) -> Circle | None:
    """Set up an axis for the space of curvature κ, and return its rim (solid) or equator (dashed), if it has one.

    Args:
        axis: Axis to draw on.
        k: Curvature.
        theme: Colours of the picture.
        reach: Half the width of the view; by default the disk, or twice the equator's radius.
        fill: Whether to shade the disk.
    """
    edge = radius(k)
    reach = reach if reach is not None else (1.03 if k < 0 else 2.0) * edge
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.axis("off")
    if not k:
        return None
    if k < 0 and fill:
        axis.add_patch(Circle((0, 0), edge, color=theme.grid, alpha=0.35, linewidth=0, zorder=0))
    style = "-" if k < 0 else (0, (5, 4))
    rim = Circle((0, 0), edge, fill=False, edgecolor=theme.ink, linewidth=1.1, linestyle=style, zorder=3)
    return axis.add_patch(rim)  # type: ignore[no-any-return]


def signs(axis: Any, theme: Theme) -> None:
    """Tint the hyperbolic and the spherical side of a line at κ = 0; the limits stay as they are."""
    low, high = axis.get_ylim()
    axis.axhline(0, color=theme.ink, linewidth=0.9)
    sides = ((low, min(high, 0), "hyperbolic"), (max(low, 0), high, "spherical"))
    style = {
        "transform": axis.get_yaxis_transform(),
        "rotation": 270,
        "va": "center",
        "size": 8.5,
        "color": theme.muted,
    }
    for (start, stop, word), colour in zip(sides, theme.poles, strict=True):
        if start < stop:
            axis.axhspan(start, stop, color=colour, alpha=0.1, linewidth=0, zorder=0)
            if stop - start > 0.25 * (high - low):  # otherwise the word would not fit
                axis.text(1.015, (start + stop) / 2, word, **style)
    axis.set_ylim(low, high)
