"""The gallery of the documentation: runs, their pages in docs/gallery, thumbnails in docs/images/gallery.

python benchmarks/gallery.py [NAME ...]

Graphs whose data is not on this machine are left out, and said; KAPPAGCN_DATA names the folder of datasets. The pages
are in the repository, so that they can be opened from a copy of it and are in the site.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import record
from kappagcn import demo
from kappagcn.run_folder import SavedRun
from kappagcn.view.figures.thumbnail import draw_thumbnail
from kappagcn.view.report import write_report

PAGES, THUMBNAILS = record.DOCS / "gallery", record.DOCS / "images" / "gallery"
MOST_BYTES = 10_000_000  # of all pages
# Name: the command that makes the run, a title, what is seen.
RUNS: dict[str, tuple[str, str, str]] = {
    "karate": (
        "embed karate --no-weights --space H2 --epochs 300",
        "Karate club",
        "34 members of a club that split in two, in the hyperbolic plane",
    ),
    "phylo_tree": (
        "embed phylo_tree --space H2 --epochs 600",
        "A phylogenetic tree",
        "species by their descent, in the hyperbolic plane",
    ),
    "wordnet_mammals": (
        "embed wordnet_mammals --space H5 --objective neighbours --epochs 300",
        "Mammals of WordNet",
        "1,180 nouns by what they are kinds of, in five hyperbolic dimensions",
    ),
    "airport": (
        "classify airport --space H16 --epochs 300",
        "Airports",
        "3,188 airports classified by the population of their country",
    ),
    "cora": ("classify cora --space H16 --epochs 300", "Cora", "2,708 papers classified into seven fields"),
    "torus": ("embed torus --space S2xS2 --epochs 400", "A torus", "1,000 points of a torus, in two spheres"),
    "sphere": ("embed sphere --space S2 --epochs 400", "A sphere", "1,000 points of a sphere, found again"),
    "tree": (
        "demo",  # whose third part it is
        "A tree, from sphere to disk",
        "63 nodes; the slider plays the curvature crossing zero",
    ),
}


def make(name: str, folder: Path) -> dict[str, object] | None:
    """Run, page and thumbnails of one graph; None where its data is missing."""
    command, title, about = RUNS[name]
    if command == "demo":
        demo.embed_small(folder, seed=0, epochs=demo.SMALL_EPOCHS)
        (folder / "small-tree").rename(folder / name)
    else:
        arguments = [sys.executable, "-m", "kappagcn", *command.split(), "--out", str(folder / name)]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return None
    run = SavedRun(folder / name)
    run.summary["command"] = f"kappagcn {command}"
    page = write_report(run, PAGES / f"{name}.html")
    for theme in ("light", "dark"):
        draw_thumbnail(run, THUMBNAILS / f"{name}-{theme}.png", theme=theme)
    keys = ("learned_space", "distortion", "d_avg", "map", "accuracy", "epochs", "seconds")
    results = {key: run.summary[key] for key in keys if run.summary.get(key) is not None}
    return {"name": name, "title": title, "about": about, "command": command, "bytes": page.stat().st_size, **results}


def main(names: list[str]) -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    kept = {row["name"]: row for row in record.load("gallery")["results"]} if names else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or RUNS:
            row = make(name, Path(folder))
            if row is not None:
                kept[name] = row
                print(json.dumps(row, ensure_ascii=False), flush=True)
    total = sum(path.stat().st_size for path in PAGES.glob("*.html"))
    print(f"{total / 1e6:.1f} MB of pages in {PAGES.name}")
    if len(kept) == len(RUNS):
        record.save("gallery", {"results": [kept[name] for name in RUNS]}, ("torch", "kappagcn"))
    return 0 if total < MOST_BYTES and kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
