"""How every picture looks: a light and a dark theme, and files that are the same bytes whenever they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

from kappagcn.errors import ConfigError, RecordError

__all__ = ["DARK", "LIGHT", "MARKERS", "THEMES", "Theme", "blend", "save", "styled", "theme_named"]

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")  # classes stay apart in grey print too
FIXED: Any = {
    "svg.hashsalt": "kappagcn",
    "svg.fonttype": "path",
}  # paths: the same letters on machines without the font
DPI = 150
# OKLab (Ottosson 2020): equal steps in it look equal.
CONE = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _oklab(colour: str) -> Any:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return LAB @ np.cbrt(CONE @ linear)


def _rgb(lab: Any) -> Any:
    linear = np.clip(np.linalg.solve(CONE, np.linalg.solve(LAB, lab) ** 3), 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def blend(colours: Sequence[str], steps: int = 256) -> LinearSegmentedColormap:
    """A colour map through some colours in steps that look equal.

    >>> to_hex(blend(["#000000", "#ffffff"])(1.0))
    '#ffffff'
    """
    stops = np.array([_oklab(colour) for colour in colours])
    place = np.linspace(0, len(stops) - 1, steps)
    mixed = np.stack([np.interp(place, np.arange(len(stops)), part) for part in stops.T], axis=1)
    name = "kappagcn-" + "-".join(to_hex(colour)[1:] for colour in colours)
    return LinearSegmentedColormap.from_list(name, [_rgb(lab) for lab in mixed], N=steps)


@dataclass(frozen=True)
class Theme:
    """Colours of a picture.

    Args:
        name: As the names of files have it.
        background: Behind everything.
        ink: Text, and what must be seen.
        muted: Axes, edges of graphs.
        grid: What may be overlooked.
        palette: Classes, after Okabe and Ito: told apart by colour-blind readers.
        sequential: Map for sizes, lightness even.
        span: The part of that map that markers take: its ends would be lost on the background.
        poles: Of the diverging map, whose middle is next to the background.
        middle: Of the diverging map.
    """

    name: str
    background: str
    ink: str
    muted: str
    grid: str
    palette: tuple[str, ...]
    sequential: str
    span: tuple[float, float]
    poles: tuple[str, str]
    middle: str

    @property
    def diverging(self) -> LinearSegmentedColormap:
        """Map for signed sizes."""
        return blend([self.poles[0], self.middle, self.poles[1]])

    @property
    def shades(self) -> LinearSegmentedColormap:
        """Map for sizes that markers show."""
        colours = matplotlib.colormaps[self.sequential](np.linspace(*self.span, 256))
        return LinearSegmentedColormap.from_list(f"{self.sequential}-{self.name}", list(colours))

    def mark(self, label: int) -> tuple[str, str]:
        """Colour and marker of a class; no two of the first 64 share both."""
        turn, colour = divmod(label, len(self.palette))
        return self.palette[colour], MARKERS[(colour + turn) % len(MARKERS)]


LIGHT = Theme(
    name="light",
    background="#ffffff",
    ink="#1a1a1a",
    muted="#8c8c8c",
    grid="#e3e3e3",
    palette=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4a9c", "#8a8a00"),
    sequential="viridis",
    span=(0.0, 0.88),
    poles=("#0a5a94", "#c24e00"),
    middle="#f6f6f4",
)
DARK = Theme(
    name="dark",
    background="#14171c",
    ink="#eceff4",
    muted="#828a96",
    grid="#2d333c",
    palette=("#56b4e9", "#ff8a3d", "#2bc79a", "#e59cc4", "#f0e442", "#4a8fe0", "#b8a5ff", "#c9ced6"),
    sequential="viridis",
    span=(0.3, 1.0),
    poles=("#6cc0f5", "#ff9d57"),
    middle="#20242b",
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_named(name: str) -> Theme:
    """The theme of that name.

    >>> theme_named("dark").background
    '#14171c'
    """
    if name not in THEMES:
        raise ConfigError(f"expected a theme, one of {', '.join(THEMES)}, found {name!r}.")
    return THEMES[name]


@contextmanager
def styled(theme: Theme) -> Iterator[Theme]:
    """Draw with a theme, whatever the reader's own settings are; they are as before afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(FIXED)
        matplotlib.rcParams.update(
            {
                "figure.constrained_layout.use": True,
                "figure.constrained_layout.h_pad": 0.09,
                "figure.constrained_layout.w_pad": 0.09,
                "figure.facecolor": theme.background,
                "axes.facecolor": theme.background,
                "axes.edgecolor": theme.muted,
                "axes.labelcolor": theme.ink,
                "axes.titlecolor": theme.ink,
                "axes.titlesize": 11,
                "axes.labelsize": 10,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.axisbelow": True,
                "axes.prop_cycle": cycler(color=theme.palette),
                "grid.color": theme.grid,
                "grid.linewidth": 0.8,
                "text.color": theme.ink,
                "xtick.color": theme.muted,
                "ytick.color": theme.muted,
                "xtick.labelcolor": theme.ink,
                "ytick.labelcolor": theme.ink,
                "xtick.labelsize": 9,
                "ytick.labelsize": 9,
                "legend.frameon": False,
                "legend.fontsize": 9,
                "lines.linewidth": 1.5,
                "lines.solid_capstyle": "round",
                "font.family": "DejaVu Sans",  # comes with matplotlib, and has κ
                "font.size": 10,
            }
        )
        yield theme


def save(figure: Any, path: Path) -> Path:
    """Write a figure, PNG or SVG as its name says, without the date; the file is whole or what it was."""
    kind = path.suffix.removeprefix(".")
    if kind not in ("png", "svg"):
        raise ConfigError(f"{path}: expected a name that ends in .png or .svg, found {path.suffix or 'neither'}.")
    held = BytesIO()
    undated = {"Date": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context(FIXED):
        if figure.get_constrained_layout():
            # A second layout moves things by a hair: laid out once, a file does not depend on those saved before it.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(held, format=kind, dpi=DPI, metadata=undated)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(held.getvalue())
        part.replace(path)
    except OSError as problem:
        raise RecordError(f"{path}: cannot be written ({problem.strerror}).") from None
    return path
