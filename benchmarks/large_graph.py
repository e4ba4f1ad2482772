"""A generated graph of any size, written block by block: edges between close numbers, but for a tenth; few features.

python benchmarks/large_graph.py FOLDER --nodes 20000000 --edges 200000000
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kappagcn.graphs.io.folder import array_file

NEAR, STRAYING, BLOCK = 500, 0.1, 2**20


def write(folder: Path, nodes: int, edges: int, features: int = 16, classes: int = 10) -> None:
    """Write ``graph.parquet``, ``features.npy`` in half precision and ``labels.npy``.

    Classes are runs of numbers, so that neighbours mostly share theirs; features tell them weakly.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    schema = pa.schema([("source", pa.int32()), ("target", pa.int32())])
    with parquet.ParquetWriter(folder / "graph.parquet", schema) as writer:
        for start in range(0, edges, BLOCK):
            count = min(BLOCK, edges - start)
            source = rng.integers(nodes, size=count, dtype=np.int32)
            target = (source + rng.integers(1, NEAR, size=count, dtype=np.int32)) % nodes
            strays = rng.random(count, np.float32) < STRAYING
            target[strays] = rng.integers(nodes, size=int(strays.sum()), dtype=np.int32)
            writer.write_batch(pa.record_batch([source, target.astype(np.int32)], schema=schema))
    with (
        array_file(folder / "labels.npy", np.int8) as labels,
        array_file(folder / "features.npy", np.float16, (features,)) as rows,
    ):
        for start in range(0, nodes, BLOCK):
            numbers = np.arange(start, min(start + BLOCK, nodes))
            y = (numbers // (2 * NEAR) * 7919) % classes
            x = rng.standard_normal((len(numbers), features), np.float32)
            x[np.arange(len(numbers)), y] += 0.5
            y.astype(np.int8).tofile(labels)
            x.astype(np.float16).tofile(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=20_000_000)
    parser.add_argument("--edges", type=int, default=200_000_000)
    arguments = parser.parse_args()
    write(arguments.folder, arguments.nodes, arguments.edges)
