"""A globe seen from afar: points and great-circle arcs in orthographic projection, the far side faded."""

import itertools
import math
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle

from kappagcn.run_folder import Array
from kappagcn.view.figures.style import Theme, blend

FADED = 0.22  # opacity of the far side
TILT = math.radians(28)
SHADES = 28  # number of shades of a ball


def view_from(direction: Array) -> Array:
    """The rotation (3, 3) that turns a direction towards the reader, the pole staying above it.

    >>> np.allclose(view_from(np.array([0.0, 2.0, 0.0])) @ [0, 1, 0], [0, 0, 1])
    True
    """
    towards = direction / np.linalg.norm(direction)
    up = np.array([0.0, 0.0, 1.0])
    if abs(towards @ up) > 0.999:
        up = np.array([0.0, 1.0, 0.0])
    right = np.cross(up, towards)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(towards, right), towards])


def default_view(points: Array) -> Array:
    """The rotation that shows most of the points: from their mean direction; without one, from above at an angle."""
    middle = points.mean(axis=0)
    if np.linalg.norm(middle) < 0.1:
        middle = np.array([math.cos(TILT), 0.0, math.sin(TILT)])
    return view_from(middle)


def seen(points: Array, view: Array) -> tuple[Array, Array]:
    """Points of the unit sphere as seen on paper, (..., 2), and their nearness to the reader, (...), from −1 to 1."""
    turned = points @ view.T
    return turned[..., :2], turned[..., 2]


def great_arcs(x: Array, y: Array, steps: int = 25) -> Array:
    """The shorter great-circle arcs between points of the unit sphere, (E, 3) each → (E, steps, 3)."""
    angle = np.arctan2(np.linalg.norm(np.cross(x, y), axis=-1), (x * y).sum(-1))[:, None, None]
    t = np.linspace(0, 1, steps)[None, :, None]
    mixed = np.sin((1 - t) * angle) * x[:, None] + np.sin(t * angle) * y[:, None]
    straight = (1 - t) * x[:, None] + t * y[:, None]
    mixed = np.where(np.sin(angle) > 1e-9, mixed, straight)
    return np.asarray(mixed / np.maximum(np.linalg.norm(mixed, axis=-1, keepdims=True), 1e-12))


def globe_lines() -> Array:
    """Circles of latitude and meridians of the unit sphere, 30 degrees apart, (11, steps, 3)."""
    turn = np.linspace(0, 2 * math.pi, 121)
    circles = [
        np.stack([math.cos(b) * np.cos(turn), math.cos(b) * np.sin(turn), np.full_like(turn, math.sin(b))], axis=-1)
        for b in np.radians([-60, -30, 0, 30, 60])
    ]
    circles += [
        np.stack([math.cos(a) * np.cos(turn), math.sin(a) * np.cos(turn), np.sin(turn)], axis=-1)
        for a in np.radians(range(0, 180, 30))
    ]
    return np.stack(circles)


def draw_globe(axis: Any, view: Array, theme: Theme, *, reach: float = 1.04) -> None:
    """Draw a ball lit from above on the left, with meridians and circles of latitude."""
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.axis("off")
    axis.add_patch(Circle((0, 0), 1, fill=False, edgecolor=theme.muted, linewidth=1.1, zorder=6))
    shades = blend([theme.grid, theme.background] if theme.name == "light" else [theme.middle, theme.grid])
    for t in np.linspace(0, 1, SHADES, endpoint=False):  # smaller and lighter towards the light
        patch = Circle((-0.35 * t, 0.4 * t), 1 - t, color=shades(float(t)), linewidth=0, zorder=0)
        axis.add_patch(patch)
    draw_great_arcs(axis, globe_lines(), view, theme.muted, width=0.5, alpha=0.45, zorder=0.5)


def draw_great_arcs(
    axis: Any, arcs: Array, view: Array, colour: str, *, width: float = 0.9, alpha: float = 1.0, **more: Any
) -> None:
    """Draw curves on the globe, (E, steps, 3), their parts on the far side faded."""
    for lines, opacity in zip(sides(*seen(arcs, view)), (FADED * alpha, alpha), strict=True):
        drawn = LineCollection(lines, colors=[to_rgba(colour, opacity)], linewidths=width, **more)
        axis.add_collection(drawn, autolim=False)


def sides(flat: Array, depth: Array) -> tuple[list[Array], list[Array]]:
    """Curves (E, steps, 2) cut where they go behind the globe: parts on the far side, and on the near side."""
    parts: tuple[list[Array], list[Array]] = ([], [])
    for curve, near in zip(flat, depth[:, :-1] + depth[:, 1:] >= 0, strict=True):
        cuts = [0, *(np.flatnonzero(np.diff(near)) + 1).tolist(), len(near)]
        for start, end in itertools.pairwise(cuts):
            parts[int(near[start])].append(curve[start : end + 1])
    return parts


def scatter_globe(axis: Any, points: Array, view: Array, *, zorder: float = 4, **more: Any) -> Any:
    """Draw markers on the globe, those on the far side faded and below, and return those on the near side."""
    flat, depth = seen(points, view)
    near = depth >= 0
    for side, opacity, above in ((~near, FADED, 0.0), (near, 1.0, 1.0)):
        kept = {name: value[side] if isinstance(value, np.ndarray) else value for name, value in more.items()}
        drawn = axis.scatter(*flat[side].T, alpha=opacity, zorder=zorder + above, **kept)
    return drawn
