"""The paper's figures by name, and the records that some are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from kappagcn.errors import ConfigError
from kappagcn.paper.figures import computed, measured
from kappagcn.view.figures.style import save, styled, theme_named

__all__ = ["FIGURES", "PaperFigure", "draw_paper_figure"]


class PaperFigure(NamedTuple):
    """A figure of the paper; docs/gallery.md has its caption."""

    title: str
    draw: Callable[..., Figure]  # of a theme and, if it needs records, of their folder
    records: str | None = None  # file in that folder; None for figures that are computed


FIGURES = {
    "trees": PaperFigure("Trees in the plane and in the disk", computed.trees),
    "geodesics": PaperFigure("Geodesics", computed.geodesics),
    "distances": PaperFigure("Distance to a point", computed.distances),
    "midpoints": PaperFigure("Gyromidpoints", computed.midpoints),
    "weighted": PaperFigure("Weighted midpoints", computed.weighted),
    "hyperplanes": PaperFigure("Distance to a hyperplane", computed.hyperplanes),
    "curvatures": PaperFigure("Curvature of nodes", measured.curvatures, measured.HISTOGRAMS),
    "degrees": PaperFigure("Degrees of nodes", measured.degrees, measured.HISTOGRAMS),
    "sweep": PaperFigure("Distortion against curvature", measured.sweep, measured.SWEEP),
    "paths": PaperFigure("Curvature while it is learned", measured.paths, measured.TABLE1),
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
            figure = FIGURES[name].draw(*((look,) if FIGURES[name].records is None else (look, records)))
            written += [save(figure, out / f"{name}-{theme}.{kind}") for kind in formats]
    return written
