"""Graphs drawn where they were embedded: edges as geodesics in the disk, in the plane or on a globe."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.patches import Circle
from torch import Tensor

from kappagcn.geometry import expmap0, lift
from kappagcn.view.figures.space import arcs, axes_for, draw_arcs, ground, radius
from kappagcn.view.figures.sphere import TILT, draw_globe, draw_great_arcs, great_arcs, scatter_globe, view_from
from kappagcn.view.figures.style import Theme, save, styled, theme_named


def draw_embeddings(
    panels: Sequence[tuple[str, Tensor, Tensor, float]],
    path: Path,
    *,
    groups: Tensor | None = None,
    theme: str = "light",
) -> Path:
    """Save one panel per (title, tangent vectors (N, 2), edges (E, 2), κ) as PNG or SVG.

    Nodes are coloured by `groups`, (N,), −1 for none.
    """
    with styled(theme_named(theme)) as style:
        figure, axes = axes_for(len(panels), width=4.2, height=4.65)
        for axis, (title, tangent, edges, k) in zip(axes, panels, strict=True):
            _panel(axis, tangent.double(), edges, k, style, groups)
            axis.set_title(title, fontsize=12)
        return save(figure, path)


def _panel(axis: Any, tangent: Tensor, edges: Tensor, k: float, theme: Theme, groups: Tensor | None) -> None:
    marks = _colours(len(tangent), groups, theme)
    if k > 0:
        _globe(axis, tangent, edges, k, theme, marks)
        return
    points = expmap0(tangent, k=k)
    farthest = float(points.norm(dim=-1).max()) * 1.08
    ground(axis, k, theme, reach=farthest if k == 0 else radius(k) * 1.03)
    for step in range(1, 6 if k else 1):  # circles one radius of curvature apart
        ring = Circle(
            (0, 0), radius(k) * math.tanh(step / 2), fill=False, edgecolor=theme.grid, linewidth=0.7, zorder=0.5
        )
        axis.add_patch(ring)
    draw_arcs(axis, arcs(points[edges[:, 0]], points[edges[:, 1]], k=k), theme, zorder=1)
    gaps = 1 + k * points.square().sum(1).numpy()  # in the disk markers shrink towards the rim
    axis.scatter(*points.T.numpy(), s=5 + 10 * gaps, color=marks, zorder=4, linewidths=0)
    axis.scatter(*points[:1].T.numpy(), s=46, color=theme.ink, zorder=5, linewidths=0)


def _colours(count: int, groups: Tensor | None, theme: Theme) -> list[str]:
    members = torch.zeros(count) if groups is None else groups
    return [theme.ink if group < 0 else theme.mark(int(group))[0] for group in members]


def _globe(axis: Any, tangent: Tensor, edges: Tensor, k: float, theme: Theme, colours: list[str]) -> None:
    """The sphere from outside, the origin of the space towards the reader."""
    root = math.sqrt(k)
    unit = lift(tangent, k=k).numpy() * [root, root, 1]
    view = np.eye(3)
    draw_globe(axis, view_from(np.array([math.cos(TILT), 0.0, math.sin(TILT)])), theme)
    chains = great_arcs(unit[edges[:, 0].numpy()], unit[edges[:, 1].numpy()])
    draw_great_arcs(axis, chains, view, theme.muted, zorder=1)
    scatter_globe(axis, unit, view, s=14, color=np.array(colours), linewidths=0)
    scatter_globe(axis, unit[:1], view, s=46, color=theme.ink, zorder=5, linewidths=0)
