"""Why trees need hyperbolic space: in the plane distant leaves come close, in the disk there is room for them."""

from __future__ import annotations

import math

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from kappagcn.geometry import dist, expmap0
from kappagcn.view.figures.space import arcs, axes_for, draw_arcs, ground
from kappagcn.view.figures.style import Theme

__all__ = ["fan", "leaf_distance", "trees", "way_up"]

BRANCHING = 2
DEPTHS = (2, 3, 4, 5)
STEP = {0.0: 1.0, -1.0: 0.9}  # length of an edge to the next circle, by κ


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
            axis.scatter(
                *points[leaf].numpy(), s=34, color=colour, edgecolors=theme.background, linewidths=0.6, zorder=5
            )
        drawn = leaf_distance(points, depth, k)
        axis.text(
            0.5, -0.01, f"drawn {drawn:.2f}, in the tree {2 * depth}", transform=axis.transAxes, ha="center", va="top"
        )
        if k == 0:
            axis.set_title(f"depth {depth}")
    for row, name in zip((0, len(DEPTHS)), ("plane", "Poincaré disk"), strict=True):
        axes[row].text(-0.06, 0.5, name, transform=axes[row].transAxes, rotation=90, ha="right", va="center", size=11)
    return figure
