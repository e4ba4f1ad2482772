"""The pictures of the site, from records and seeds: the paper's figures, the gallery's runs with their pages, profiles.

    python tools/pictures.py             makes what is missing in docs/images and docs/gallery
    python tools/pictures.py karate ...  makes these again

Graphs whose data is not on this machine are left out, and named; KAPPAGCN_DATA is the folder of datasets. The site
shows what there is. The README's picture, docs/images/tree-light.png and -dark.png, is in the repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import charts
from kappagcn import demo
from kappagcn.errors import KappaGCNError
from kappagcn.paper.figures.catalogue import FIGURES, draw_paper_figure
from kappagcn.run_folder import SavedRun
from kappagcn.view.figures.film import draw_film
from kappagcn.view.figures.panels import draw_embeddings, draw_thumbnail
from kappagcn.view.report import write_report

ROOT = Path(__file__).parents[1]
IMAGES, PAGES = ROOT / "docs" / "images", ROOT / "docs" / "gallery"
THEMES = ("light", "dark")
BACK = '<p><a href="../gallery.html">← Gallery</a></p>'
TREE = "tree"  # the third part of the demo; its film and its three panels are the README's
RUNS = {
    "karate": "embed karate --no-weights --space H2 --epochs 300",
    "phylo_tree": "embed phylo_tree --space H2 --epochs 600",
    "wordnet_mammals": "embed wordnet_mammals --space H5 --objective neighbours --epochs 300",
    "airport": "classify airport --space H16 --epochs 300",
    "cora": "classify cora --space H16 --epochs 300",
    "torus": "embed torus --space S2xS2 --epochs 400",
    "sphere": "embed sphere --space S2 --epochs 400",
    TREE: "demo",
}


def run(name: str, folder: Path) -> SavedRun | None:
    """The run of one page of the gallery; None where its data is missing."""
    if name == TREE:
        _, panels = demo.embed_small(folder, seed=0, epochs=demo.SMALL_EPOCHS)
        (folder / "small-tree").rename(folder / name)
        for theme in THEMES:
            draw_embeddings(panels, IMAGES / f"tree-{theme}.png", theme=theme)
            draw_film(SavedRun(folder / name), IMAGES / f"film-{theme}.webp", theme=theme)
    else:
        arguments = [sys.executable, "-m", "kappagcn", *RUNS[name].split(), "--out", str(folder / name)]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return None
    saved = SavedRun(folder / name)
    saved.summary["command"] = f"kappagcn {RUNS[name]}"
    return saved


def gallery(name: str) -> None:
    """One run, its page and its thumbnails."""
    with tempfile.TemporaryDirectory() as folder:
        saved = run(name, Path(folder))
        if saved is not None:
            page = write_report(saved, PAGES / f"{name}.html")
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace("<body>", "<body>" + BACK, 1), encoding="utf-8")
            for theme in THEMES:
                draw_thumbnail(saved, IMAGES / "gallery" / f"{name}-{theme}.png", theme=theme)


def main(names: list[str]) -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    start = time.perf_counter()
    for name in FIGURES:
        if name in names or not (IMAGES / f"{name}-light.svg").exists():
            try:
                draw_paper_figure(name, IMAGES, ROOT / "records", THEMES, ("svg",))
            except KappaGCNError as problem:
                print(f"{name}: {problem}", file=sys.stderr)
    for name in charts.CHARTS:
        if name in names or not (IMAGES / f"{name}-light.svg").exists():
            charts.draw(name, IMAGES)
    for name in RUNS:
        if name in names or not (PAGES / f"{name}.html").exists():
            gallery(name)
    print(f"pictures: {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
