"""The demo as `kappagcn demo` runs it, as a record: records/demo.json.

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

SEED, EPOCHS = 0, 500
PARTS = {"tree": "tree", "disease": "disease", "small": "small_tree"}  # names in the record and in the results


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        results = demo.run(Path(folder), seed=SEED, epochs=EPOCHS, console=Console(stderr=True))
        seconds = round(time.perf_counter() - start, 1)
        demo.show(results, Console())
    rows = [{"part": part, **row} for part in PARTS for row in results[PARTS[part]]]
    record.save("demo", {"seed": SEED, "epochs": EPOCHS, "seconds": seconds, "results": rows}, ("torch", "kappagcn"))
    return 0


def parts() -> dict[str, list[dict]]:
    """The rows of the record by what they are about."""
    rows = record.load("demo")["results"]
    return {part: [row for row in rows if row["part"] == part] for part in PARTS}


if __name__ == "__main__":
    sys.exit(main())
