"""The paper's figures by name, and the command of the records that some are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from kappagcn.errors import ConfigError
from kappagcn.paper.figures import geodesics, heatmaps, histograms, midpoints, paths, sweep, trees
from kappagcn.view.figures.style import Theme, save, styled, theme_named

__all__ = ["FIGURES", "PaperFigure", "draw_paper_figure"]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper.

    Args:
        title: Title in a few words.
        caption: Caption in a sentence.
        draw: Function of a theme and, if it needs records, of their folder.
        records: Path of the records in that folder; None for figures that are computed.
        command: Command that makes the records.
    """

    title: str
    caption: str
    draw: Callable[..., Figure]
    records: str | None = None
    command: str | None = None

    def figure(self, theme: Theme, records: Path) -> Figure:
        """The figure in a theme."""
        return self.draw(theme) if self.records is None else self.draw(theme, records)


FIGURES = {
    "trees": PaperFigure(
        "Trees in the plane and in the disk",
        "In the plane (above) two leaves of a growing tree, pink and green, come closer while their distance in the "
        "tree grows; in the Poincaré disk (below) there is room. Distances are in lengths of an edge to the root.",
        trees.trees,
    ),
    "geodesics": PaperFigure(
        "Geodesics",
        "Geodesics through a point x, and another one, in the Poincaré disk (left) and in the stereographic projection "
        "of the sphere (right). In the disk most of them never meet it; on the sphere all meet it, and one another at "
        "the antipode of x.",
        geodesics.geodesics,
    ),
    "distances": PaperFigure(
        "Distance to a point",
        "Heatmap of the distance function d_κ(x, ·) for κ = −0.254 (left) and κ = 0.248 (right, to twice the radius of "
        "the equator, dashed); contour lines are one unit apart.",
        heatmaps.distances,
    ),
    "midpoints": PaperFigure(
        "Gyromidpoints",
        "The gyromidpoint of four points on the sphere, in its projection and in the Poincaré disk. The mean of their "
        "coordinates lies elsewhere: it depends on the projection.",
        midpoints.midpoints,
    ),
    "weighted": PaperFigure(
        "Weighted midpoints",
        "The weighted midpoint αx + βy, α + β = 1, for β in steps of 0.05 in the three geometries: always on the "
        "geodesic, and evenly spread along it in the plane alone.",
        midpoints.weighted,
    ),
    "hyperplanes": PaperFigure(
        "Distance to a hyperplane",
        "Heatmap of the signed distance to the hyperplane through p with normal a for κ = −0.254 (left) and κ = 0.248 "
        "(right); contour lines are one unit apart.",
        heatmaps.hyperplanes,
    ),
    "curvatures": PaperFigure(
        "Curvature of nodes",
        "Histograms of the curvature of nodes by their deviation from the parallelogram law: blue is negative, orange "
        "positive, grey zero. Nodes with a single neighbour have none and are left out.",
        histograms.curvatures,
        histograms.RECORD,
        histograms.COMMAND,
    ),
    "degrees": PaperFigure(
        "Degrees of nodes",
        "Number of nodes of each degree, on logarithmic axes; wide bars are the mean over several degrees.",
        histograms.degrees,
        histograms.RECORD,
        histograms.COMMAND,
    ),
    "sweep": PaperFigure(
        "Distortion against curvature",
        "Average distortion of κ-GCNs of fixed curvature trained to embed a tree, smooth through κ = 0. The bend near "
        "κ = 0.008 is the sphere's: rows that the second layer averages lie several times farther out than their "
        "averages, and from there on, close to the equator, they can go no farther.",
        sweep.sweep,
        sweep.RECORD,
        sweep.COMMAND,
    ),
    "paths": PaperFigure(
        "Curvature while it is learned",
        "Curvatures by epoch while graphs are embedded: where the other sign fits better, κ goes through zero.",
        paths.paths,
        paths.RECORDS,
        paths.COMMAND,
    ),
}


def draw_paper_figure(
    name: str,
    out: Path,
    records: Path,
    themes: Sequence[str] = ("light", "dark"),
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw one of the paper's figures into ``out/NAME-THEME.FORMAT``.

    Args:
        name: One of `FIGURES`.
        out: Folder for the pictures.
        records: Folder of records, as ``kappagcn reproduce`` writes them.
        themes: ``"light"``, ``"dark"`` or both.
        formats: ``"png"``, ``"svg"`` or both.

    >>> draw_paper_figure("nonsense", Path("."), Path("."))
    Traceback (most recent call last):
    kappagcn.errors.ConfigError: expected a figure, one of trees, geodesics, distances, ..., found 'nonsense'.
    """
    if name not in FIGURES:
        raise ConfigError(f"expected a figure, one of {', '.join(FIGURES)}, found {name!r}.")
    written = []
    for theme in themes:
        with styled(theme_named(theme)) as look:
            figure = FIGURES[name].figure(look, records)
            written += [save(figure, out / f"{name}-{theme}.{kind}") for kind in formats]
    return written
