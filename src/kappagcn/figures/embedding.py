"""Graphs drawn where they were embedded: edges as geodesics in the disk, the plane or the stereographic sphere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import torch
from torch import Tensor

from kappagcn.geometry import expmap0, geodesic

__all__ = ["draw_embeddings"]

INK, EDGE, NODE, RIM = (
    "#1a1a1a",
    "#8c8c8c",
    "#0072b2",
    "#d55e00",
)  # told apart by colour-blind readers, and in grey


def draw_embeddings(panels: Sequence[tuple[str, Tensor, Tensor, float]], path: Path) -> Path:
    """One panel per (title, tangent vectors (N, 2), edges (E, 2), κ), saved to ``path``."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 4.8), squeeze=False, layout="constrained"
    )
    for axis, (title, tangent, edges, k) in zip(axes[0], panels, strict=True):
        _panel(axis, tangent.double(), edges, k)
        axis.set_title(title, color=INK, fontsize=12)
    figure.savefig(path, dpi=150, facecolor="white")
    pyplot.close(figure)
    return path


def _panel(axis: Any, tangent: Tensor, edges: Tensor, k: float) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    points = expmap0(tangent, k=k)
    t = torch.linspace(0, 1, 33, dtype=points.dtype)[:, None, None]
    curves = geodesic(t.squeeze(-1), points[edges[:, 0]], points[edges[:, 1]], k=k).transpose(0, 1)
    axis.add_collection(LineCollection(list(curves.numpy()), colors=EDGE, linewidths=0.9, zorder=1))
    axis.scatter(*points.T.numpy(), s=9, color=NODE, zorder=2, linewidths=0)
    axis.scatter(*points[:1].T.numpy(), s=46, color=RIM, zorder=3, linewidths=0)
    reach = float(points.norm(dim=-1).max()) * 1.08
    if k != 0:
        radius = abs(k) ** -0.5
        # For κ < 0 the boundary of the space, for κ > 0 the equator.
        axis.add_patch(Circle((0, 0), radius, fill=False, color=INK, linewidth=1, linestyle="-" if k < 0 else "--"))
        reach = radius * 1.03 if k < 0 else max(reach, radius * 1.03)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.axis("off")
