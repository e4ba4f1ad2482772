"""Style of all pictures: a light and a dark theme, and files with the same bytes every time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

from kappagcn.errors import CheckpointError, ConfigError
from kappagcn.io_atomic import atomic_write
from kappagcn.view.palette import COLOURS, mark

MARKERS = {"disc": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "P"}
DPI = 150
FIXED: Any = {"svg.hashsalt": "kappagcn", "svg.fonttype": "none"}  # text stays text: smaller files, and searchable
STYLE: Any = {
    **FIXED,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.09,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.8,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "font.family": "DejaVu Sans",  # comes with matplotlib, and has κ
    "font.size": 10,
}
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
    """Colours of a picture."""

    name: str
    background: str
    ink: str  # text and main lines
    muted: str  # axes and edges of graphs
    grid: str
    span: tuple[float, float]  # part of that map for markers; its ends would not be visible on the background
    poles: tuple[str, str]  # ends of the diverging map
    middle: str  # middle of the diverging map, near the background
    sequential: str = "viridis"  # colour map for sizes, even in lightness

    @property
    def palette(self) -> tuple[str, ...]:
        """Colours of classes, distinct for colour-blind readers."""
        return COLOURS[self.name]

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
        """Colour and marker of a class; no two of the first 40 share both."""
        colour, shape = mark(label, self.name)
        return colour, MARKERS[shape]


LIGHT = Theme("light", "#ffffff", "#1a1a1a", "#8c8c8c", "#e3e3e3", (0.0, 0.88), ("#0a5a94", "#c24e00"), "#f6f6f4")
DARK = Theme("dark", "#14171c", "#eceff4", "#828a96", "#2d333c", (0.3, 1.0), ("#6cc0f5", "#ff9d57"), "#20242b")
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_named(name: str) -> Theme:
    """The theme of that name."""
    if name not in THEMES:
        raise ConfigError(f"expected a theme, one of {', '.join(THEMES)}, found {name!r}.")
    return THEMES[name]


@contextmanager
def styled(theme: Theme) -> Iterator[Theme]:
    """Draw with a theme instead of the user's own settings, which are restored afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        inked = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor")
        style: Any = {
            **STYLE,
            **dict.fromkeys(inked, theme.ink),
            **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), theme.muted),
            **dict.fromkeys(("figure.facecolor", "axes.facecolor"), theme.background),
            "grid.color": theme.grid,
            "axes.prop_cycle": cycler(color=theme.palette),
        }
        matplotlib.rcParams.update(style)
        yield theme


def save(figure: Any, path: Path, dpi: float = DPI) -> Path:
    """Write a figure as PNG or SVG, by the ending of its name, without a date, completely or not at all."""
    kind = path.suffix.removeprefix(".")
    if kind not in ("png", "svg"):
        raise ConfigError(f"{path}: expected a name that ends in .png or .svg, found {path.suffix or 'neither'}.")
    undated = {"Date": None} if kind == "svg" else {"Software": None}
    try:
        with atomic_write(path) as file, matplotlib.rc_context(FIXED):
            if figure.get_constrained_layout():
                # Computed once: a second layout moves elements slightly, and files would depend on those saved before.
                figure.draw_without_rendering()
                figure.set_layout_engine("none")
            # An SVG has the background of its page; a PNG has its own, because it may be opened alone.
            figure.savefig(file, format=kind, dpi=dpi, metadata=undated, transparent=kind == "svg")
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error.strerror}).") from None
    return path
