"""Graphs drawn where they were embedded: edges as geodesics in the disk, the plane or the stereographic sphere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kappagcn.figures.space import arcs, axes_for, draw_arcs, ground, radius
from kappagcn.figures.style import Theme, save, styled, theme_named
from kappagcn.geometry import expmap0


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
    with styled(theme_named(theme)) as look:
        figure, axes = axes_for(len(panels), width=4.2, height=4.8)
        for axis, (title, tangent, edges, k) in zip(axes, panels, strict=True):
            _panel(axis, tangent.double(), edges, k, look, groups)
            axis.set_title(title, fontsize=12)
        return save(figure, path)


def _panel(axis: Any, tangent: Tensor, edges: Tensor, k: float, theme: Theme, groups: Tensor | None) -> None:
    points = expmap0(tangent, k=k)
    farthest = float(points.norm(dim=-1).max()) * 1.08
    reach = farthest if k == 0 else radius(k) * 1.03 if k < 0 else max(farthest, radius(k) * 1.03)
    ground(axis, k, theme, reach=reach, fill=False)
    draw_arcs(axis, arcs(points[edges[:, 0]], points[edges[:, 1]], k=k), theme, zorder=1)
    none = torch.full((len(points),), 0) if groups is None else groups
    colours = [theme.ink if group < 0 else theme.mark(int(group))[0] for group in none]
    axis.scatter(*points.T.numpy(), s=14, color=colours, zorder=4, linewidths=0)
    axis.scatter(*points[:1].T.numpy(), s=46, color=theme.ink, zorder=5, linewidths=0)
