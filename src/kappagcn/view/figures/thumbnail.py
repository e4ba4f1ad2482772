"""A small picture of a run: its first factors, without text, as a link to its page."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write
from kappagcn.run_folder import SavedRun, principal
from kappagcn.view.figures.factors import Nodes
from kappagcn.view.figures.film import SCALE, SIDE, draw_scene, half_width, node_colours
from kappagcn.view.figures.sphere import default_view
from kappagcn.view.figures.style import theme_named
from kappagcn.view.projection import Projected, projected

MOST_EDGES = 9000


def draw_thumbnail(run: SavedRun, path: Path, *, theme: str = "light", size: int = 320) -> Path:
    """Write a square PNG of a run; of a product its first two factors, in two corners."""
    chosen_theme = theme_named(theme)
    embedded = run.embedded
    edges = embedded.edges[:: 1 + len(embedded.edges) // MOST_EDGES]
    colours = node_colours(Nodes(embedded, chosen_theme), len(embedded.tangent))
    panels = []
    for k, columns in embedded.factors[:2]:
        v = embedded.tangent[:, columns].astype(np.float64)
        axes = np.eye(v.shape[1]) if v.shape[1] <= 2 else principal(v)[0]
        along = v @ axes
        parts = np.zeros((len(v), 3))
        parts[:, : min(2, v.shape[1])] = along[:, :2]
        parts[:, 2] = (along[:, 2:] ** 2).sum(1)
        scene = projected(parts, k)
        if scene.kind == "sphere":  # seen from where most points are
            scene = scene._replace(points=scene.points @ default_view(scene.points / scene.rim).T)
        half, middle = _window(scene)
        panels.append(draw_scene(scene, edges, colours, half, chosen_theme, middle))
    image = panels[0]
    if len(panels) > 1:
        image = Image.new("RGB", (SCALE * SIDE, SCALE * SIDE), chosen_theme.background)
        part = round(0.56 * SCALE * SIDE)
        mask = Image.new("L", (part, part))
        ImageDraw.Draw(mask).ellipse((0, 0, part, part), fill=255)
        for panel, corner in zip(panels, (0, SCALE * SIDE - part), strict=True):
            image.paste(panel.resize((part, part), Image.Resampling.LANCZOS), (corner, corner), mask)
    small = image.resize((size, size), Image.Resampling.LANCZOS)
    palette = small.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1)  # keeps colours that few nodes have
    small = small.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    try:
        with atomic_write(path) as file:
            small.save(file, "PNG", optimize=True)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def _window(scene: Projected) -> tuple[float, tuple[float, float]]:
    """Half the width of the picture and its middle: everything, or the part that has all points."""
    half = half_width(scene)
    if half > scene.rim:
        return half, (0.0, 0.0)
    low, high = scene.points[:, :2].min(0), scene.points[:, :2].max(0)
    x, y = ((low + high) / 2).tolist()
    return 0.56 * float((high - low).max()) or 1.0, (x, y)
