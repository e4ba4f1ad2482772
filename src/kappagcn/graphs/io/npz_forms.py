"""npz files of other projects, brought to the keys of `npz`'s table.

| from | keys |
|---|---|
| heterophilous-graphs | ``edges`` (E, 2), ``node_features``, ``node_labels``, ``train_masks`` … |
| PPNP, nettack, gnn-benchmark | ``adj_matrix.data`` … or ``adj_data`` …, ``attr_matrix.data`` …, ``labels`` |
| others | ``adjacency``, ``adj`` or ``A``, dense (N, N), ``X``, ``y`` |
| ``scipy.sparse.save_npz`` | ``data``, ``indices``, ``indptr`` (or ``row``, ``col``) and ``shape`` |

Pickled objects, such as the SciPy matrices of GraphData, are not read.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.undirected import Array

__all__ = ["USED", "csr_arrays", "node_masks", "standard_arrays"]

Arrays = dict[str, Array]
MATRICES = {"adj": ("adj_matrix", "adj"), "attr": ("attr_matrix", "node_attr", "attr")}
FEATURES = ("node_features", "node_attr", "attr_matrix", "X")
ADJACENCY = ("adj_matrix", "adj", "adjacency", "adjacency_matrix", "A")
LABELS = ("node_labels", "node_label", "label", "y")
USED = {"adj", "attr", "edges", "edge_index", "labels", "x", "features", *FEATURES, *ADJACENCY, *LABELS}
SPLITS = ("train", "val", "test")


def csr_arrays(prefix: str, matrix: Any) -> Arrays:
    """The four arrays of a sparse matrix."""
    matrix = sp.csr_array(matrix)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{prefix}_{name}": part for name, part in parts.items()}


def standard_arrays(arrays: Arrays, source: str) -> Arrays:
    """Arrays with the keys of `npz`'s table, from those of another project; arrays with such keys are kept."""
    converted = dict(arrays)
    if "edges" in arrays and "edge_index" not in arrays:
        converted |= _edges(arrays["edges"], source)
    for ours, theirs in MATRICES.items():
        for prefix in theirs:
            for mark in (".", "_"):
                parts = {part: f"{prefix}{mark}{part}" for part in ("data", "indices", "indptr", "shape")}
                if all(key in arrays for key in parts.values()):
                    converted |= {f"{ours}_{part}": arrays[key] for part, key in parts.items()}
    if not {"adj_data", "edge_index"} & set(converted):
        dense = _first(arrays, ADJACENCY, 2, "adj").get("adj")
        numeric = dense is not None and dense.dtype.kind in "biuf"
        converted |= _scipy(arrays) or (csr_arrays("adj", dense) if numeric else {})
    if not {"attr_data", "attr_dense", "x", "features"} & set(converted):
        converted |= _first(arrays, FEATURES, 2, "attr_dense")
    if "labels" not in arrays:
        converted |= _first(arrays, LABELS, 1, "labels")
    rows = [len(converted[key]) for key in ("labels", "attr_dense") if key in converted and converted[key].ndim]
    if "edges" in arrays and "num_nodes" not in arrays and rows:
        converted["num_nodes"] = np.array(max(rows))
    return converted


def _first(arrays: Arrays, keys: tuple[str, ...], axes: int, name: str) -> Arrays:
    """The first of the arrays with these keys that has so many axes, under another name."""
    return next(({name: arrays[key]} for key in keys if key in arrays and arrays[key].ndim == axes), {})


def _edges(edges: Array, source: str) -> Arrays:
    if edges.ndim == 2 and edges.shape[1] != 2 and edges.shape[0] == 2:
        edges = edges.T
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise GraphFileError(f"{source}: expected edges as integers (E, 2), found {edges.dtype} {edges.shape}.")
    return {"edge_index": np.ascontiguousarray(edges.T)}


def _scipy(arrays: Arrays) -> Arrays:
    """The adjacency matrix that `scipy.sparse.save_npz` wrote."""
    if {"data", "indices", "indptr", "shape"} <= set(arrays):
        kind = arrays["format"].item() if "format" in arrays and arrays["format"].size == 1 else b"csr"
        if kind in (b"csr", "csr", b"csc", "csc"):  # a graph and its transpose are the same here
            return {f"adj_{part}": arrays[part] for part in ("data", "indices", "indptr", "shape")}
    if {"row", "col", "data", "shape"} <= set(arrays) and arrays["shape"].size == 2:
        edges = np.stack([arrays["row"], arrays["col"]])
        return {"edge_index": edges, "edge_weight": arrays["data"], "num_nodes": arrays["shape"][:1]}
    return {}


def node_masks(arrays: Arrays, num_nodes: int, source: str) -> dict[str, Array]:
    """Masks of training, validation and test nodes, (N,), or (N, S) for several splits, as PyG has them."""
    masks: dict[str, Array] = {}
    for part in SPLITS:
        key = next((k for k in (f"{part}_mask", f"{part}_masks", f"idx_{part}") if k in arrays), None)
        if key is None:
            continue
        values = arrays[key]
        if key.startswith("idx"):
            inside = values.ndim == 1 and values.dtype.kind in "iu"
            if not inside or (values.size and not 0 <= int(values.min()) <= int(values.max()) < num_nodes):
                raise GraphFileError(f"{source}: expected {key} as nodes from 0 to {num_nodes - 1}, found others.")
            mask = np.zeros(num_nodes, bool)
            mask[values] = True
        else:
            several = values.ndim == 2 and values.shape[-1] == num_nodes != values.shape[0]
            mask = values.T if several else values
            if mask.ndim > 2 or mask.shape[:1] != (num_nodes,) or not np.isin(mask, (0, 1)).all():
                raise GraphFileError(
                    f"{source}: expected {key} as booleans ({num_nodes},) or (splits, {num_nodes}), found "
                    f"{values.dtype} {values.shape}."
                )
            mask = mask.reshape(num_nodes) if mask.size == num_nodes else mask
        masks[f"{part}_mask"] = np.ascontiguousarray(mask.astype(bool))
    return masks
