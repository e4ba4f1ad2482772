"""The demo as `kappagcn demo` runs it, kept: records/demo.json and the README's picture.

python benchmarks/demo.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

import record
from kappagcn import demo
from kappagcn.run_folder import SavedRun
from kappagcn.view.figures.embedding import draw_embeddings
from kappagcn.view.figures.film import draw_film

SEED, EPOCHS = 0, 500


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        results = demo.run(Path(folder), seed=SEED, epochs=EPOCHS, console=Console(stderr=True))
        seconds = round(time.perf_counter() - start, 1)
        demo.show(results, Console())
    pictures()
    rows = [{"part": part, **row} for part in ("tree", "disease", "small") for row in getattr(results, part)]
    record.save("demo", {"seed": SEED, "epochs": EPOCHS, "seconds": seconds, "results": rows}, ("torch", "kappagcn"))
    return 0


def pictures() -> None:
    """The README's pictures of the small tree, in two themes: in three spaces, and as a film."""
    images = record.DOCS / "images"
    with tempfile.TemporaryDirectory() as folder:
        _, panels = demo.embed_small(Path(folder), seed=SEED, epochs=demo.SMALL_EPOCHS)
        groups = demo.branches(demo.BRANCHING, demo.DEPTH)
        for theme in ("light", "dark"):
            draw_embeddings(panels, images / f"tree-{theme}.svg", groups=groups, theme=theme)
            draw_film(SavedRun(Path(folder) / "small-tree"), images / f"film-{theme}.webp", theme=theme)


def parts() -> dict[str, list[dict]]:
    """The rows of the record by what they are about."""
    rows = record.load("demo")["results"]
    return {part: [row for row in rows if row["part"] == part] for part in ("tree", "disease", "small")}


if __name__ == "__main__":
    sys.exit(main())
