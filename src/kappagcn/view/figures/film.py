"""Training as an animated picture: the curvature crosses zero, and a sphere becomes a plane and a disk."""

import io
import math
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.colors import to_hex, to_rgb
from PIL import Image, ImageDraw, ImageFont

from kappagcn.errors import CheckpointError, ConfigError
from kappagcn.io_atomic import atomic_write
from kappagcn.run_folder import Array, SavedRun
from kappagcn.view.figures.factors import Nodes
from kappagcn.view.figures.space import arcs, minus
from kappagcn.view.figures.sphere import TILT, globe_lines, great_arcs, seen, sides, view_from
from kappagcn.view.figures.style import Theme, theme_named
from kappagcn.view.film import Film, read_film, shown_parts
from kappagcn.view.projection import Projected, projected

SIDE, FOOT = 400, 64  # pixels of a panel, and of the words below
SCALE = 2  # pictures are drawn larger, then reduced, for smooth lines
MOST_FACTORS = 3
IMAGES, MILLISECONDS, LAST = 72, 80, 2500
CLOSE = 0.9  # share of the disk or sphere below which the points fill the picture
MOST_EDGES = 4000
OUTLINED = 200  # nodes whose marks have an outline
KINDS = {"sphere": "sphere", "plane": "plane", "disk": "hyperbolic disk"}


def draw_film(run: SavedRun, path: Path, *, theme: str = "light") -> Path:
    """Write the film of a run as GIF or WebP, by the ending of its name.

    Raises:
        ConfigError: The run kept no positions along training.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in ("gif", "webp"):
        raise ConfigError(f"{path}: expected a name that ends in .gif or .webp, found {path.suffix or 'neither'}.")
    film = read_film(run)
    if film is None:
        raise ConfigError(
            f"{run.path}: expected positions along training for a film, found none. Embeddings keep them, for up to "
            "about 25,000 nodes times dimensions."
        )
    images = _images(run, film, theme_named(theme))
    durations = [MILLISECONDS] * (len(images) - 1) + [LAST]
    buffer = io.BytesIO()
    if kind == "gif":
        palette = _mosaic(images).quantize(128)  # one palette for all pictures: parts that do not change take no space
        flat = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
        flat[0].save(buffer, "GIF", save_all=True, append_images=flat[1:], duration=durations, loop=0, optimize=True)
    else:
        images[0].save(
            buffer,
            "WEBP",
            save_all=True,
            append_images=images[1:],
            duration=durations,
            loop=0,
            quality=80,
            method=5,
            kmax=1,
        )
    try:
        with atomic_write(path) as file:
            file.write(buffer.getvalue())
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def _mosaic(images: list[Image.Image]) -> Image.Image:
    """The first, a middle and the last picture side by side: their colours are those of the film."""
    chosen = [images[0], images[len(images) // 8], images[-1]]
    mosaic = Image.new("RGB", (sum(image.width for image in chosen), chosen[0].height))
    for order, image in enumerate(chosen):
        mosaic.paste(image, (order * image.width, 0))
    return mosaic


def _images(run: SavedRun, film: Film, theme: Theme) -> list[Image.Image]:
    """The pictures in order; positions and curvatures are interpolated between the kept epochs."""
    embedded = run.embedded
    factors = shown_parts(film, embedded)[:MOST_FACTORS]
    places = np.linspace(0, len(film.epochs) - 1, IMAGES)
    edges = embedded.edges if len(embedded.edges) <= MOST_EDGES else embedded.edges[:0]
    colours = node_colours(Nodes(embedded, theme), len(embedded.tangent))
    scenes = [
        [
            projected(_between(parts, place), float(_between(film.curvatures, place)[order]))
            for order, parts in enumerate(factors)
        ]
        for place in places
    ]
    halves = np.array([[half_width(scene) for scene in row] for row in scenes])
    halves = np.exp(np.apply_along_axis(_smooth, 0, np.log(halves)))
    images = []
    for place, row, widths in zip(places, scenes, halves, strict=True):
        image = Image.new("RGB", (SCALE * SIDE * len(factors), SCALE * (SIDE + FOOT)), theme.background)
        for order, (scene, half) in enumerate(zip(row, widths, strict=True)):
            panel = draw_scene(scene, edges, colours, float(half), theme)
            image.paste(panel, (SCALE * SIDE * order, 0))
        _foot(image, run, film, place, row, theme)
        images.append(image.resize((image.width // SCALE, image.height // SCALE), Image.Resampling.LANCZOS))
    return images


def _between(values: Array, place: float) -> Array:
    low = min(int(place), len(values) - 2)
    t = place - low
    return np.asarray((1 - t) * values[low] + t * values[low + 1])


def _smooth(values: Array) -> Array:
    """A moving mean, so that the size of the picture does not jump."""
    padded = np.pad(values, 3, mode="edge")
    return np.convolve(padded, np.full(7, 1 / 7), "valid")


def half_width(scene: Projected) -> float:
    """Half the width of a picture of a scene: the whole disk or sphere, or the part that has all points."""
    extent = float(np.linalg.norm(scene.points[:, :2], axis=1).max())
    behind = scene.kind == "sphere" and bool((scene.points[:, 2] < 0).any())
    if behind or extent > CLOSE * scene.rim:
        return 1.05 * scene.rim
    return 1.12 * extent or 1.0


def node_colours(nodes: Nodes, count: int) -> list[str]:
    """The colour of each node, in hexadecimal."""
    colours = [""] * count
    for group, style in nodes.groups:
        shades = style["color"]
        for order, node in enumerate(group):
            colours[node] = to_hex(shades if isinstance(shades, str) else shades[order])
    return colours


def draw_scene(
    scene: Projected,
    edges: Array,
    colours: list[str],
    half: float,
    theme: Theme,
    middle: tuple[float, float] = (0.0, 0.0),
) -> Image.Image:
    """A square picture of points and geodesics on their disk, sphere or plane."""
    side = SCALE * SIDE
    image = Image.new("RGB", (side, side), theme.background)
    draw = ImageDraw.Draw(image)
    unit = side / 2 / half

    def pixels(points: Array) -> Array:
        moved = points[..., :2] - np.asarray(middle)
        return np.stack([side / 2 + unit * moved[..., 0], side / 2 - unit * moved[..., 1]], axis=-1)

    _ground(image, draw, scene, unit, theme, pixels(np.zeros(2)))
    chains = _chains(scene, edges)
    strength = min(0.85, 18 / math.sqrt(len(edges) + 1) + 0.12)  # many edges are drawn lightly
    ground = _mixed(theme.muted, theme.background, 0.3) if scene.kind == "sphere" else theme.background
    ink = theme.muted if scene.kind != "sphere" else _mixed(theme.ink, theme.muted, 0.4)  # visible on a shaded ball
    line, back = _mixed(ink, ground, strength), _mixed(ink, ground, 0.35 * strength)
    depth = chains[..., 2] if scene.kind == "sphere" else np.ones(chains.shape[:2])
    flat = pixels(chains)
    for chain, near in zip(flat, depth.mean(1) >= 0, strict=True):
        draw.line([tuple(place) for place in chain], fill=line if near else back, width=SCALE, joint="curve")
    size = SCALE * float(np.clip(60 / np.sqrt(len(colours)), 2.4, 5.5))
    places = pixels(scene.points)
    nearness = scene.points[:, 2] if scene.kind == "sphere" else np.ones(len(places))
    # Markers shrink towards the rim of the disk, as lengths do.
    gaps = 1 - (np.linalg.norm(scene.points, axis=1) / scene.rim) ** 2 if scene.kind == "disk" else np.ones(len(places))
    sizes = size * (0.45 + 0.55 * gaps)
    for node in np.argsort(nearness, kind="stable"):
        size = sizes[node]
        colour = colours[node] if nearness[node] >= 0 else _mixed(colours[node], ground, 0.35)
        x, y = places[node]
        outline = theme.background if len(places) <= OUTLINED else None  # an outline would hide small marks
        draw.ellipse((x - size, y - size, x + size, y + size), fill=colour, outline=outline)
    return image


def _ground(image: Image.Image, draw: Any, scene: Projected, unit: float, theme: Theme, at: Array) -> None:
    """The ball with its shading, or the disk with circles of equal steps."""
    if scene.kind == "plane" or scene.rim * unit > 40 * SIDE:
        return
    (left, top), rim = at, scene.rim * unit
    inside = _mixed(theme.grid, theme.background, 0.45)
    if scene.kind == "sphere":
        y, x = np.mgrid[0 : image.height, 0 : image.width] - np.array([top, left])[:, None, None]
        shade = np.clip(np.hypot(x + 0.35 * rim, y + 0.4 * rim) / (1.55 * rim), 0, 1)[..., None]
        ends = [np.array(to_rgb(theme.background)), np.array(to_rgb(_mixed(theme.muted, theme.background, 0.45)))]
        light, dark = ends if theme.name == "light" else ends[::-1]
        ball = (255 * ((1 - shade) * light + shade * dark)).astype(np.uint8)
        mask = Image.fromarray((255 * (np.hypot(x, y) <= rim)).astype(np.uint8))
        image.paste(Image.fromarray(ball), (0, 0), mask)
        tilted = view_from(np.array([math.cos(TILT), 0.0, math.sin(TILT)]))
        for circle in sides(*seen(globe_lines(), tilted))[1]:
            places = np.array([left, top]) + rim * circle * [1, -1]
            draw.line([tuple(place) for place in places], fill=_mixed(theme.muted, theme.background, 0.5))
    else:
        draw.ellipse((left - rim, top - rim, left + rim, top + rim), fill=inside)
        for step in range(1, 7):
            r = rim * np.tanh(step / 2)
            draw.ellipse(
                (left - r, top - r, left + r, top + r), outline=_mixed(theme.muted, theme.background, 0.3), width=1
            )
    draw.ellipse((left - rim, top - rim, left + rim, top + rim), outline=theme.muted, width=SCALE)


def _chains(scene: Projected, edges: Array) -> Array:
    """Edges as geodesics, (E, steps, 2 or 3)."""
    points = scene.points
    first, second = points[edges[:, 0]], points[edges[:, 1]]
    if scene.kind == "sphere":
        return scene.rim * great_arcs(first / scene.rim, second / scene.rim, steps=11)
    if scene.kind == "plane":
        return np.stack([first, second], axis=1)
    unit = torch.from_numpy(points / scene.rim)
    return np.asarray(scene.rim * arcs(unit[edges[:, 0]], unit[edges[:, 1]], k=-1.0, steps=11).numpy())


def _foot(image: Image.Image, run: SavedRun, film: Film, place: float, row: list[Projected], theme: Theme) -> None:
    """Epoch, curvature, kind of space and objective, over a line from the least to the largest curvature."""
    draw, top = ImageDraw.Draw(image), SCALE * SIDE
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    large, small = (ImageFont.truetype(str(folder / "DejaVuSans.ttf"), SCALE * size) for size in (15, 11))
    kappas = _between(film.curvatures, place)
    value = film.values[max(1, round(place))]
    words = ", ".join(minus(f"{k:+.2f}" if abs(k) >= 0.005 else "0.00") for k in kappas)
    draw.text((SCALE * 12, top + SCALE * 6), f"κ = {words}", font=large, fill=theme.ink)
    kinds = " × ".join(dict.fromkeys(KINDS[scene.kind] for scene in row))
    measure = "" if not np.isfinite(value) else f"   ·   distortion {value:.2f}"
    right = f"{kinds}{measure}"
    width = draw.textlength(right, font=small)
    draw.text((image.width - SCALE * 12 - width, top + SCALE * 10), right, font=small, fill=theme.ink)
    low, high = min(0.0, float(film.curvatures.min())), max(0.0, float(film.curvatures.max()))
    left, length, y = SCALE * 14, image.width - SCALE * 28, top + SCALE * 44

    def x(k: float) -> float:
        return left + length * (k - low) / (high - low or 1)

    for start, end, colour in ((low, 0.0, theme.poles[0]), (0.0, high, theme.poles[1])):
        draw.line((x(start), y, x(end), y), fill=colour, width=SCALE * 2)
    draw.line((x(0), y - SCALE * 6, x(0), y + SCALE * 6), fill=theme.ink, width=SCALE)
    draw.text((x(0), y + SCALE * 8), "0", font=small, fill=theme.muted, anchor="mt")
    for end, anchor in ((low, "lt"), (high, "rt")):
        if abs(x(end) - x(0)) > SCALE * 60:
            draw.text((x(end), y + SCALE * 8), minus(f"{end:+.2g}"), font=small, fill=theme.muted, anchor=anchor)
    for k in kappas:
        draw.ellipse((x(k) - SCALE * 5, y - SCALE * 5, x(k) + SCALE * 5, y + SCALE * 5), fill=theme.ink)


def _mixed(colour: str, ground: str, share: float) -> str:
    one, two = np.array(to_rgb(colour)), np.array(to_rgb(ground))
    red, green, blue = (share * one + (1 - share) * two).tolist()
    return to_hex((red, green, blue))
