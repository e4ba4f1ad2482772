"""Readers of the datasets' original file formats, into the arrays of `npz`'s table. No code from the files runs."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from kappagcn.errors import GraphFileError
from kappagcn.graphs.datasets.preprocess import airport_labels
from kappagcn.graphs.datasets.unpickle import restricted_load
from kappagcn.graphs.io.npz import NAMES, read_arrays, read_csr
from kappagcn.graphs.io.undirected import Array

Files = dict[str, bytes]


def _csr_arrays(prefix: str, matrix: Any) -> dict[str, Array]:
    matrix = sp.csr_array(matrix)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{prefix}_{name}": part for name, part in parts.items()}


def _adjacency_arrays(edges: Array, nodes: int, *, both_ways: bool = True) -> dict[str, Array]:
    """The adjacency matrix of edges (E, 2)."""
    rows, cols = (np.concatenate([edges, edges[:, ::-1]]) if both_ways else edges).T
    return _csr_arrays("adj", sp.csr_array((np.ones(len(rows), np.float32), (rows, cols)), shape=(nodes, nodes)))


def _only(files: Files) -> tuple[str, bytes]:
    ((name, content),) = files.items()
    return name, content


def sparse_graph(files: Files) -> dict[str, Array]:
    """PPNP's, nettack's and gnn-benchmark's npz: matrices as four arrays each, some beside pickled None."""
    name, content = _only(files)
    arrays = read_arrays(io.BytesIO(content), source=name, skip_objects=True)
    arrays |= _pickled_matrices(content, name)
    converted: dict[str, Array] = {}
    for ours, theirs in (("adj", ("adj_matrix", "adj")), ("attr", ("attr_matrix", "node_attr", "attr"))):
        for prefix in theirs:
            for dot in (".", "_"):
                if f"{prefix}{dot}data" in arrays:
                    converted |= _csr_arrays(ours, read_csr(arrays, prefix + dot, name))
            if prefix in arrays and sp.issparse(arrays[prefix]):
                converted |= _csr_arrays(ours, arrays[prefix])
            elif prefix in arrays and ours == "attr" and arrays[prefix].ndim == 2:
                converted["attr_dense"] = arrays[prefix]
    for ours, keys in {"labels": ["labels", "node_label", "label"], **{k: [k] for k in NAMES}}.items():
        for key in keys:
            if key in arrays and arrays[key].ndim == 1 and arrays[key].dtype.kind in "iufUS":
                converted[ours] = np.char.strip(arrays[key]) if arrays[key].dtype.kind in "US" else arrays[key]
    return converted


def _pickled_matrices(content: bytes, name: str) -> dict[str, Any]:
    """Sparse matrices that an npz file holds as pickled objects."""
    matrices = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for key in ("adj_matrix", "attr_matrix", "node_attr"):
            if f"{key}.npy" in archive.namelist():
                with archive.open(f"{key}.npy") as file:
                    np.lib.format.read_magic(file)
                    if np.lib.format.read_array_header_1_0(file)[2].hasobject:
                        matrices[key] = restricted_load(file.read(), f"{name}: {key}")
    return {key: matrix for key, matrix in matrices.items() if sp.issparse(matrix)}


def planetoid(files: Files) -> dict[str, Array]:
    """Planetoid's eight files: ``allx`` comes first; row k of ``tx`` is the node on line k of ``test.index``."""
    parts = {name.split(".", 2)[2]: content for name, content in files.items()}
    y, tx, ty, allx, ally, graph = (
        restricted_load(parts[key], key) for key in ("y", "tx", "ty", "allx", "ally", "graph")
    )
    test = np.array(parts["test.index"].split(), dtype=np.int64)
    known = allx.shape[0]
    nodes = max(len(graph), int(test.max()) + 1)
    features = sp.lil_array((nodes, allx.shape[1]), dtype=np.float32)
    features[:known], features[test] = allx, tx
    scores = np.zeros((nodes, ally.shape[1]))
    scores[:known], scores[test] = ally, ty
    return {
        **_adjacency_arrays(np.array([(u, v) for u, ends in graph.items() for v in ends], np.int64), nodes),
        **_csr_arrays("attr", features),
        "labels": np.where(scores.any(axis=1), scores.argmax(axis=1), -1),
        "idx_train": np.arange(len(y)),
        "idx_val": np.arange(len(y), len(y) + 500),
        "idx_test": np.sort(test),
    }


def airport(files: Files) -> dict[str, Array]:
    """HGCN's airport graph, a pickled NetworkX graph whose nodes carry five numbers."""
    name, content = _only(files)
    state = getattr(restricted_load(content, name), "state", None)
    if not (isinstance(state, dict) and {"_node", "_adj"} <= set(state)):
        raise GraphFileError(f"{name}: expected a NetworkX graph, found something else.")
    index = {node: i for i, node in enumerate(state["_node"])}
    edges = np.array([(index[u], index[v]) for u, ends in state["_adj"].items() for v in ends], np.int64)
    feat = np.array([np.asarray(attributes["feat"], np.float64) for attributes in state["_node"].values()])
    adjacency = _adjacency_arrays(edges, len(index), both_ways=False)
    return {**adjacency, "feat": feat, "labels": airport_labels(feat)}


def heterophilous(files: Files) -> dict[str, Array]:
    """yandex-research's npz: edges as pairs, features dense, ten splits as masks."""
    name, content = _only(files)
    arrays = read_arrays(io.BytesIO(content), source=name, skip_objects=True)
    edges, features, labels = (arrays[key] for key in ("edges", "node_features", "node_labels"))
    return {
        **_adjacency_arrays(edges, len(labels)),
        **_csr_arrays("attr", features.astype(np.float32)),
        "labels": labels,
        **{key: arrays[key].astype(bool) for key in ("train_masks", "val_masks", "test_masks")},
    }


def disease(files: Files) -> dict[str, Array]:
    """HGCN's disease trees: ``u,v`` per line, labels as npy, features, where there are any, as SciPy keeps them."""
    ends = {name.rsplit(".", 2)[1]: content for name, content in files.items()}
    labels = np.load(io.BytesIO(ends["labels"]), allow_pickle=False).astype(np.int64)
    arrays = {**_adjacency_arrays(_numbers(ends["edges"], ","), len(labels)), "labels": labels}
    if "feats" in ends:
        matrix = read_csr(read_arrays(io.BytesIO(ends["feats"]), source="feats", skip_objects=True), "", "feats")
        arrays["attr_dense"] = matrix.toarray().astype(np.float32)
    return arrays


def struc2vec(files: Files) -> dict[str, Array]:
    """struc2vec's airports: ``u v`` per line; ``node label`` under a heading; nodes in the order of their numbers."""
    edges = next(_numbers(content) for name, content in files.items() if name.endswith(".edgelist"))
    labels = next(_numbers(content, skip=1) for name, content in files.items() if name.startswith("labels"))
    nodes, classes = labels[np.argsort(labels[:, 0], kind="stable")].T
    adjacency = _adjacency_arrays(np.searchsorted(nodes, edges), len(nodes))
    return {**adjacency, "labels": classes, "node_names": nodes.astype(str)}


def edge_list(files: Files) -> dict[str, Array]:
    """One ``u v`` per line, nodes numbered from 0."""
    edges = _numbers(_only(files)[1])
    return _adjacency_arrays(edges, int(edges.max()) + 1)


def closure(files: Files) -> dict[str, Array]:
    """``id1,id2,weight`` under a heading, nodes by name in alphabetical order."""
    lines = _only(files)[1].decode("utf-8").split("\n")[1:]
    pairs = np.array([line.split(",")[:2] for line in lines if line])
    names, positions = np.unique(pairs, return_inverse=True)
    return {**_adjacency_arrays(positions.reshape(-1, 2), len(names), both_ways=False), "node_names": names}


def _numbers(content: bytes, separator: str | None = None, skip: int = 0) -> Array:
    return np.loadtxt(io.BytesIO(content), dtype=np.int64, delimiter=separator, skiprows=skip, ndmin=2)[:, :2]


READERS: dict[str, Callable[[Files], dict[str, Array]]] = {
    reader.__name__: reader
    for reader in (sparse_graph, planetoid, airport, heterophilous, disease, struc2vec, edge_list, closure)
}
