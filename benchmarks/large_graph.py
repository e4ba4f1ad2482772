"""A generated graph of any size, written as a stream: edges between close numbers, but for a tenth; few features.

python benchmarks/large_graph.py FOLDER --nodes 20000000 --edges 200000000
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from kappagcn.graphs.io.array_file import ArrayWriter

NEAR, STRAYING, BLOCK = 500, 0.1, 2**22


def write(folder: Path, nodes: int, edges: int, features: int = 16, classes: int = 10) -> None:
    """Write ``graph.npy`` (E, 2), ``graph.features.npy`` in half precision and ``graph.labels.npy``.

    Classes are runs of numbers, so that neighbours mostly share theirs; features tell them weakly.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    pairs = ArrayWriter(folder / "graph.npy", np.int32, 2)
    for start in range(0, edges, BLOCK):
        count = min(BLOCK, edges - start)
        ends = np.empty((count, 2), np.int64)
        ends[:, 0] = rng.integers(nodes, size=count)
        ends[:, 1] = (ends[:, 0] + rng.integers(1, NEAR, size=count)) % nodes
        strays = rng.random(count, np.float32) < STRAYING
        ends[strays, 1] = rng.integers(nodes, size=int(strays.sum()))
        pairs.write(ends)
    pairs.close()
    labels = ArrayWriter(folder / "graph.labels.npy", np.int8)
    rows = ArrayWriter(folder / "graph.features.npy", np.float16, features)
    for start in range(0, nodes, BLOCK):
        numbers = np.arange(start, min(start + BLOCK, nodes))
        y = (numbers // (2 * NEAR) * 7919) % classes
        x = rng.standard_normal((len(numbers), features), np.float32)
        x[np.arange(len(numbers)), y] += 0.5
        labels.write(y)
        rows.write(x)
    labels.close()
    rows.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=20_000_000)
    parser.add_argument("--edges", type=int, default=200_000_000)
    arguments = parser.parse_args()
    write(arguments.folder, arguments.nodes, arguments.edges)
