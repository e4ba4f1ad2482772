"""The pictures of a saved run."""

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from kappagcn.run_folder import SavedRun
from kappagcn.view.figures.factors import embedding
from kappagcn.view.figures.outcome import confusion, distortion, link_scores
from kappagcn.view.figures.style import Theme, save, styled, theme_named
from kappagcn.view.figures.training import curvature, outcome, training

Draw = Callable[[Theme, SavedRun], "Figure | None"]
RUN_FIGURES: dict[str, Draw] = {
    "training": training,
    "curvature": curvature,
    "embedding": lambda theme, run: embedding(theme, run.embedded, outcome(run)),
    "distortion": distortion,
    "confusion": confusion,
    "links": link_scores,
}


def draw_run(
    run: SavedRun, out: Path, themes: Sequence[str] = ("light", "dark"), formats: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draw a finished run into ``out/NAME-THEME.FORMAT``, for each name in `RUN_FIGURES` whose data the run has."""
    written = []
    for theme in themes:
        with styled(theme_named(theme)) as style:
            for name, draw in RUN_FIGURES.items():
                figure = draw(style, run)
                if figure is not None:
                    written += [save(figure, out / f"{name}-{theme}.{kind}") for kind in formats]
    return written
