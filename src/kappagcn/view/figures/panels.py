"""Pictures of embeddings without a run's words: several side by side, and small ones as links to their pages."""

from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib.figure import Figure

from kappagcn.run_folder import Embedded, SavedRun
from kappagcn.view.figures.factors import Nodes, best_plane, draw_panel
from kappagcn.view.figures.space import axes_for
from kappagcn.view.figures.style import save, styled, theme_named

SIDE = 4.0  # inches of a small picture, before it is reduced
CORNERS = ((0.0, 0.44, 0.56, 0.56), (0.44, 0.0, 0.56, 0.56))  # two factors in a square


def draw_embeddings(panels: Sequence[tuple[str, Embedded]], path: Path, *, theme: str = "light") -> Path:
    """Save the first factor of each embedding under its title, as PNG or SVG."""
    with styled(theme_named(theme)) as style:
        figure, axes = axes_for(len(panels), width=4.2, height=4.65)
        for axis, (title, embedded) in zip(axes, panels, strict=True):
            k, columns = embedded.factors[0]
            tangent, _ = best_plane(torch.from_numpy(embedded.tangent[:, columns]), k)
            draw_panel(axis, tangent, embedded.edges, k, Nodes(embedded, style), locator=False)
            axis.set_title(title, fontsize=12)
        return save(figure, path)


def draw_thumbnail(run: SavedRun, path: Path, *, theme: str = "light", size: int = 320) -> Path:
    """Write a square PNG of a run; of a product its first two factors, in two corners."""
    with styled(theme_named(theme)) as style:
        figure = Figure(figsize=(SIDE, SIDE))
        figure.set_layout_engine("none")
        factors = run.embedded.factors[:2]
        nodes = Nodes(run.embedded, style)
        nodes.size *= 2
        for box, (k, columns) in zip(CORNERS if len(factors) > 1 else [(0, 0, 1, 1)], factors, strict=True):
            tangent, _ = best_plane(torch.from_numpy(run.embedded.tangent[:, columns]), k)
            draw_panel(figure.add_axes(box), tangent, run.embedded.edges, k, nodes, locator=False)
        return save(figure, path, dpi=size / SIDE)
