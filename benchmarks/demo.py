"""The demo, kept: benchmarks/results/demo.json and the README's picture.

python benchmarks/demo.py
"""

from __future__ import annotations

import sys

from rich.console import Console

import record
from kappagcn import demo

SEED, STEPS = 0, 500


def main() -> int:
    results = demo.run(seed=SEED, steps=STEPS, console=Console(stderr=True))
    picture = demo.draw(results, record.DOCS / "images" / "tree.png")
    demo.show(results, picture.relative_to(record.DOCS.parent), Console())
    record.save("demo", {"seed": SEED, "steps": STEPS, "results": [r.record() for r in results]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
