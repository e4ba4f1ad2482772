"""Readers of the datasets' original file formats, into the arrays of `npz`'s table. No pickles are read.

Planetoid's files and Airport are pickles: ``tools/convert_pickles.py`` makes npz files of them, once.
"""

import io
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from kappagcn.graphs.io.npz import NAMES, read_arrays, read_csr
from kappagcn.graphs.io.npz_forms import csr_arrays, standard_arrays
from kappagcn.graphs.io.undirected import Array

Files = dict[str, bytes]
MASKS = ("train_masks", "val_masks", "test_masks")


def adjacency_arrays(edges: Array, nodes: int, *, both_ways: bool = True) -> dict[str, Array]:
    """The adjacency matrix of edges (E, 2)."""
    rows, cols = (np.concatenate([edges, edges[:, ::-1]]) if both_ways else edges).T
    return csr_arrays("adj", sp.csr_array((np.ones(len(rows), np.float32), (rows, cols)), shape=(nodes, nodes)))


def arrays(files: Files) -> dict[str, Array]:
    """npz of PPNP, nettack, gnn-benchmark and yandex-research in the usual keys; pickled None is left out."""
    ((name, content),) = files.items()
    known = standard_arrays(read_arrays(io.BytesIO(content), source=name, pickled=[]), name)
    if "edge_index" in known:
        known |= adjacency_arrays(known["edge_index"].T, len(known["labels"]))
    converted = {key: known[key] for key in ("attr_dense", *MASKS) if key in known}
    for prefix in ("adj", "attr"):
        if f"{prefix}_data" in known:
            converted |= csr_arrays(prefix, read_csr(known, f"{prefix}_", name))
    for key in ("labels", *NAMES):
        if key in known and known[key].ndim == 1 and known[key].dtype.kind in "iufUS":
            converted[key] = np.char.strip(known[key]) if known[key].dtype.kind in "US" else known[key]
    return converted


def disease(files: Files) -> dict[str, Array]:
    """HGCN's disease trees: ``u,v`` per line, labels as npy, features, where there are any, in SciPy's npz format."""
    ends = {name.rsplit(".", 2)[1]: content for name, content in files.items()}
    labels = np.load(io.BytesIO(ends["labels"]), allow_pickle=False).astype(np.int64)
    graph = {**adjacency_arrays(_numbers(ends["edges"], ","), len(labels)), "labels": labels}
    if "feats" in ends:
        matrix = read_csr(read_arrays(io.BytesIO(ends["feats"]), source="feats", pickled=[]), "", "feats")
        graph["attr_dense"] = matrix.toarray().astype(np.float32)
    return graph


def struc2vec(files: Files) -> dict[str, Array]:
    """struc2vec's airports: ``u v`` per line; ``node label`` under a heading; nodes in the order of their numbers."""
    edges = next(_numbers(content) for name, content in files.items() if name.endswith(".edgelist"))
    labels = next(_numbers(content, skip=1) for name, content in files.items() if name.startswith("labels"))
    nodes, classes = labels[np.argsort(labels[:, 0], kind="stable")].T
    adjacency = adjacency_arrays(np.searchsorted(nodes, edges), len(nodes))
    return {**adjacency, "labels": classes, "node_names": nodes.astype(str)}


def edge_list(files: Files) -> dict[str, Array]:
    """One ``u v`` per line, nodes numbered from 0."""
    (content,) = files.values()
    edges = _numbers(content)
    return adjacency_arrays(edges, int(edges.max()) + 1)


def closure(files: Files) -> dict[str, Array]:
    """``id1,id2,weight`` under a heading, nodes by name in alphabetical order."""
    (content,) = files.values()
    lines = content.decode("utf-8").split("\n")[1:]
    pairs = np.array([line.split(",")[:2] for line in lines if line])
    names, positions = np.unique(pairs, return_inverse=True)
    return {**adjacency_arrays(positions.reshape(-1, 2), len(names), both_ways=False), "node_names": names}


def _numbers(content: bytes, separator: str | None = None, skip: int = 0) -> Array:
    return np.loadtxt(io.BytesIO(content), dtype=np.int64, delimiter=separator, skiprows=skip, ndmin=2)[:, :2]


READERS: dict[str, Callable[[Files], dict[str, Array]]] = {
    reader.__name__: reader for reader in (arrays, disease, struc2vec, edge_list, closure)
}
