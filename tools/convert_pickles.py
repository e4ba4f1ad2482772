"""Planetoid's datasets and HGCN's Airport, whose originals are pickles, as npz files, which kappagcn reads.

python tools/convert_pickles.py pubmed airport      into the cache of kappagcn
python tools/convert_pickles.py cora --out FOLDER   into a folder for --data or KAPPAGCN_DATA

A pickle runs code when it is read, so that kappagcn reads none. Here each file is read only if it has the SHA-256 of
the catalogue.
"""

from __future__ import annotations

import argparse
import io
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kappagcn.graphs import cache_folder, catalogue
from kappagcn.graphs.datasets.preprocess import airport_labels
from kappagcn.graphs.datasets.raw_formats import adjacency_arrays
from kappagcn.graphs.datasets.sources import Entry, fetch, find_entry, verified_bytes
from kappagcn.graphs.io.npz_forms import csr_arrays
from kappagcn.io_atomic import atomic_write, save_arrays

RENAMED = {"scipy.sparse.csr": "scipy.sparse", "numpy.core.multiarray": "numpy._core.multiarray"}


class _Unpickler(pickle.Unpickler):
    """Finds classes whose modules have other names today."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(RENAMED.get(module, module), name)


def unpickled(content: bytes) -> Any:
    """The object in a pickle of Python 2 or 3. It may run code: only for content that was checked."""
    return _Unpickler(io.BytesIO(content), encoding="latin1").load()


def planetoid(files: dict[str, bytes]) -> dict[str, Any]:
    """Planetoid's eight files: ``allx`` comes first; row k of ``tx`` is the node on line k of ``test.index``."""
    parts = {name.split(".", 2)[2]: content for name, content in files.items()}
    y, tx, ty, allx, ally, graph = (unpickled(parts[key]) for key in ("y", "tx", "ty", "allx", "ally", "graph"))
    test = np.array(parts["test.index"].split(), dtype=np.int64)
    known = allx.shape[0]
    nodes = max(len(graph), int(test.max()) + 1)
    features = sp.lil_array((nodes, allx.shape[1]), dtype=np.float32)
    features[:known], features[test] = allx, tx
    scores = np.zeros((nodes, ally.shape[1]))
    scores[:known], scores[test] = ally, ty
    return {
        **adjacency_arrays(np.array([(u, v) for u, ends in graph.items() for v in ends], np.int64), nodes),
        **csr_arrays("attr", features),
        "labels": np.where(scores.any(axis=1), scores.argmax(axis=1), -1),
        "idx_train": np.arange(len(y)),
        "idx_val": np.arange(len(y), len(y) + 500),
        "idx_test": np.sort(test),
    }


def airport(files: dict[str, bytes]) -> dict[str, Any]:
    """HGCN's Airport, a NetworkX graph whose nodes carry five numbers."""
    graph = unpickled(next(iter(files.values())))
    index = {node: i for i, node in enumerate(graph)}
    edges = np.array([(index[u], index[v]) for u, ends in graph.adjacency() for v in ends], np.int64)
    feat = np.array([np.asarray(graph.nodes[node]["feat"], np.float64) for node in graph])
    adjacency = adjacency_arrays(edges, len(index), both_ways=False)
    return {**adjacency, "feat": feat, "labels": airport_labels(feat)}


READERS = {"planetoid": planetoid, "airport": airport}


def convert(entry: Entry, folder: Path) -> Path:
    """Download a dataset's originals, check them, and write ``<name>/<name>.npz`` in a folder."""
    with tempfile.TemporaryDirectory() as downloads:
        sources = entry.sources[0]
        files = {source.name: verified_bytes(fetch(source, Path(downloads)), source) for source in sources}
    path = folder / entry.name / f"{entry.name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        save_arrays(file, **READERS[entry.reader](files))
    return path


def main() -> None:
    pickled = [entry.name for entry in catalogue().values() if entry.pickled]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=pickled)
    parser.add_argument("--out", type=Path, default=cache_folder() / "datasets")
    arguments = parser.parse_args()
    for name in arguments.names:
        print(convert(find_entry(name), arguments.out))


if __name__ == "__main__":
    main()
