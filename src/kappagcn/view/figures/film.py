"""Training as an animated picture: the curvature crosses zero, and a sphere becomes a plane and a disk."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from matplotlib.animation import PillowWriter
from matplotlib.figure import Figure

from kappagcn.errors import ConfigError
from kappagcn.run_folder import Array, SavedRun, factor_name, principal, writing
from kappagcn.view.figures.factors import Nodes, best_plane, draw_panel
from kappagcn.view.figures.space import minus
from kappagcn.view.figures.style import Theme, styled, theme_named
from kappagcn.view.film import Film, read_film

SIDE, FOOT, DPI = 4.0, 0.64, 100  # inches of a panel, and of the words below
MOST_FACTORS = 3
IMAGES, PER_SECOND, LAST = 72, 12, 30  # pictures, and how many times the last one is shown
CLOSE = 0.9  # share of the disk or sphere below which the points fill the picture
FLAT = 1e-2  # √|κ| times the largest distance from the origin below which no curvature is visible
MOST_EDGES = 4000


def draw_film(run: SavedRun, path: Path, *, theme: str = "light") -> Path:
    """Write the film of a run as GIF or WebP, by the ending of its name.

    Raises:
        ConfigError: The run kept no positions along training.
    """
    if path.suffix not in (".gif", ".webp"):
        raise ConfigError(f"{path}: expected a name that ends in .gif or .webp, found {path.suffix or 'neither'}.")
    film = read_film(run)
    if film is None:
        raise ConfigError(
            f"{run.path}: expected positions along training for a film, found none. Embeddings keep them, for up to "
            "about 25,000 nodes times dimensions."
        )
    with TemporaryDirectory() as folder, styled(theme_named(theme)) as style:
        whole = Path(folder) / path.name
        _write(run, film, whole, style)
        content = whole.read_bytes()
    with writing(path) as file:
        file.write(content)
    return path


def _write(run: SavedRun, film: Film, path: Path, theme: Theme) -> None:
    """Positions and curvatures are interpolated between the epochs of the film."""
    factors = run.embedded.factors[:MOST_FACTORS]
    figure = Figure(figsize=(SIDE * len(factors), SIDE + FOOT))
    figure.set_layout_engine("none")
    share = FOOT / (SIDE + FOOT)
    boxes = [(i / len(factors), share, 1 / len(factors), 1 - share) for i in range(len(factors))]
    axes, foot = [figure.add_axes(box) for box in boxes], figure.add_axes((0, 0, 1, share))
    nodes, edges = Nodes(run.embedded, theme), run.embedded.edges
    edges = edges if len(edges) <= MOST_EDGES else edges[:0]
    nodes.size *= 2
    directions = [principal(run.embedded.tangent[:, part].astype(np.float64))[0] for _, part in factors]
    writer = PillowWriter(fps=PER_SECOND)
    with writer.saving(figure, path, DPI):
        for place in np.linspace(0, len(film.epochs) - 1, IMAGES):
            kappas, tangent = _between(film.curvatures, place), torch.from_numpy(_between(film.tangent, place))
            shown = [_visible(k, tangent[:, part]) for k, (_, part) in zip(kappas.tolist(), factors, strict=False)]
            for axis, k, (_, part), along in zip(axes, shown, factors, directions, strict=True):
                axis.clear()
                flat = best_plane(tangent[:, part], k, along)[0]
                draw_panel(axis, flat, edges, k, nodes, close=CLOSE, view=np.eye(3), locator=False)
            _draw_foot(foot, film, place, shown, theme)
            writer.grab_frame()
        for _ in range(LAST):
            writer.grab_frame()


def _visible(k: float, tangent: torch.Tensor) -> float:
    farthest = 2 * float(tangent.norm(dim=1).max())
    return k if abs(k) ** 0.5 * farthest >= FLAT else 0.0


def _between(values: Array, place: float) -> Array:
    low = min(int(place), len(values) - 2)
    t = place - low
    return np.asarray((1 - t) * values[low] + t * values[low + 1], np.float64)


def _draw_foot(axis: Any, film: Film, place: float, shown: list[float], theme: Theme) -> None:
    """Curvatures, kinds of space and objective, over a line from the least to the largest curvature."""
    axis.clear()
    kappas, value = _between(film.curvatures, place), film.values[max(1, round(place))]
    low, high = min(0.0, float(film.curvatures.min())), max(0.0, float(film.curvatures.max()))
    margin = 0.04 * (high - low or 1)
    axis.set(xlim=(low - margin, high + margin), ylim=(0, 1))
    axis.axis("off")
    words = ", ".join(minus(f"{k:+.2f}" if abs(k) >= 0.005 else "0.00") for k in kappas)
    kinds = {"S": "sphere", "E": "plane", "H": "hyperbolic disk"}
    kind = " × ".join(dict.fromkeys(kinds[factor_name(k, 2)[0]] for k in shown))
    measure = f"   ·   distortion {value:.2f}" if np.isfinite(value) else ""
    axis.text(0.03, 0.78, f"κ = {words}", size=11, transform=axis.transAxes)
    axis.text(0.97, 0.78, f"{kind}{measure}", size=8, ha="right", transform=axis.transAxes)
    axis.plot([low, 0], [0.42, 0.42], color=theme.poles[0])
    axis.plot([0, high], [0.42, 0.42], color=theme.poles[1])
    axis.plot(kappas, np.full(len(kappas), 0.42), "o", color=theme.ink, markersize=6)
    for end in {low, 0.0, high}:
        if end == 0 or abs(end) > 0.15 * (high - low):
            name = "0" if end == 0 else minus(f"{end:+.2g}")
            axis.text(end, 0.08, name, size=8, ha="center", color=theme.muted)
