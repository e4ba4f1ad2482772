"""npz files: read without pickles and with their sizes checked; the form in which kappagcn saves a graph.

The keys, also of a user's own file (N nodes, D features; all but the adjacency are optional):

| key | content |
|---|---|
| ``adj_data``, ``adj_indices``, ``adj_indptr``, ``adj_shape`` | adjacency matrix in CSR, (N, N); data are weights |
| ``attr_data``, ``attr_indices``, ``attr_indptr``, ``attr_shape`` | features in CSR, (N, D) |
| ``attr_dense`` | features, dense, (N, D) |
| ``labels`` | integers from 0, −1 for unknown, (N,) |
| ``node_names``, ``attr_names``, ``class_names`` | unicode |
| ``idx_train``, ``idx_val``, ``idx_test`` | one public split |
| ``train_masks``, ``val_masks``, ``test_masks`` | several public splits, one per row, boolean |

In place of ``adj_*`` there may be ``edge_index``, (2, E), with ``edge_weight``, (E,), and ``num_nodes``.
"""

import math
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs.io.node_data import as_features, as_labels, from_tensor
from kappagcn.graphs.io.npz_forms import USED, csr_arrays, node_masks, standard_arrays
from kappagcn.graphs.io.undirected import Array, assemble, name_source_in_errors
from kappagcn.io_atomic import atomic_write, save_arrays

UNPACKED_LIMIT = 4 * 2**30  # bytes that an archive may unpack to
SMALL, MAX_RATIO = 2**28, 200  # an archive that unpacks to more than SMALL bytes has at most this compression ratio
HEADER_LIMIT = 2**16  # bytes of an array's header
NAMES = ("node_names", "attr_names", "class_names")
DENSE = ("attr_dense", "x", "features")  # keys of dense features


def read_arrays(
    path: str | Path | BinaryIO,
    *,
    source: str | None = None,
    pickled: list[str] | None = None,
    limit: int = UNPACKED_LIMIT,
) -> dict[str, Array]:
    """All arrays of an npz file, by key; pickled objects are refused, or left out and named in the list `pickled`.

    Sizes are checked before anything is unpacked: an array whose header claims more bytes than there are, and an
    archive that would unpack to more than `limit` bytes, are refused.
    """
    source = source or str(path)
    arrays = {}
    with name_source_in_errors(source, "an npz archive"), zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        packed = sum(entry.compress_size for entry in archive.infolist())
        if size > limit or (limit == UNPACKED_LIMIT and size > max(SMALL, MAX_RATIO * packed)):
            raise GraphError(
                f"expected an archive that unpacks to at most {limit:,} bytes and {MAX_RATIO} times its size, "
                f"found {size:,} from {packed:,}. If you trust it, use read_npz with a larger limit."
            )
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            dtype = _checked_dtype(archive, entry, f"{source}: {name}")
            if dtype.hasobject and pickled is not None:
                pickled.append(name)
                continue
            with archive.open(entry) as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False, max_header_size=HEADER_LIMIT)
    if not arrays and not pickled:
        raise GraphFileError(f"{source}: expected an npz archive with arrays, found an empty one.")
    return arrays


def _checked_dtype(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, source: str) -> np.dtype[Any]:
    """The type of an array; one whose header is damaged or claims more bytes than there are is refused."""
    with name_source_in_errors(source, "a NumPy array"), archive.open(entry) as file:
        versions = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = versions[np.lib.format.read_magic(file)](file, max_header_size=HEADER_LIMIT)
        sides = tuple(int(side) for side in shape)
        if len(sides) > 32 or any(side < 0 for side in sides) or (0 in sides and max(sides) >= 2**31):
            raise ValueError(f"shape {sides}")
        if dtype.hasobject:
            return dtype
        if dtype.itemsize == 0 or dtype.subdtype is not None or dtype.names is not None:
            raise GraphError(f"expected plain numbers or text, found {dtype}.")
        if (expected := math.prod(sides) * dtype.itemsize) > entry.file_size:
            raise GraphError(f"expected {expected:,} bytes for shape {sides}, found {entry.file_size:,}.")
    return dtype


def read_csr(arrays: dict[str, Array], prefix: str, source: str) -> sp.csr_array:
    """A sparse matrix from the arrays `prefix` + data, indices, indptr and shape, checked before SciPy uses them."""
    keys = [prefix + part for part in ("data", "indices", "indptr", "shape")]
    if missing := [key for key in keys if key not in arrays]:
        raise GraphFileError(f"{source}: expected {', '.join(missing)} beside the rest of the matrix, found none.")
    data, indices, indptr, shape = (np.atleast_1d(arrays[key]) for key in keys)
    for name, array, kinds in (("data", data, "biuf"), ("indices", indices, "iu"), ("indptr", indptr, "iu")):
        if array.ndim != 1 or array.dtype.kind not in kinds:
            raise GraphFileError(
                f"{source}: expected {prefix}{name} as a list of numbers, found {array.dtype}{array.shape}."
            )
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any() or (shape >= 2**31).any():
        raise GraphFileError(f"{source}: expected {prefix}shape as two numbers below 2³¹, found {shape.tolist()}.")
    rows, cols = (int(side) for side in shape)
    wide = indptr.astype(np.int64)
    consistent = len(wide) == rows + 1 and wide[0] == 0 and wide[-1] == len(data) == len(indices)
    if not consistent or (np.diff(wide) < 0).any():
        raise GraphFileError(
            f"{source}: expected {prefix}indptr with {rows + 1} rising entries from 0 to the {len(data)} entries of "
            f"{prefix}data, found {len(wide)} entries and {len(indices)} indices."
        )
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < cols:
        raise GraphFileError(f"{source}: expected {prefix}indices below {cols}, found {int(indices.max())}.")
    kind = np.int32 if len(indices) < 2**31 else np.int64
    return sp.csr_array((data, indices.astype(kind), wide.astype(kind)), shape=(rows, cols))


def graph_from_arrays(arrays: dict[str, Array], source: str, *, sparse: bool = False, **attributes: Any) -> Data:
    """A graph from arrays with the keys of this module's table, and further attributes."""
    with name_source_in_errors(source):
        rows, cols, weights, nodes, directed = _edges(arrays, source)
        names = {key: read_names(arrays, key, source) for key in NAMES}
        classes = len(names["class_names"] or ()) or None
        matrix = read_feature_matrix(arrays, source)
        x = None if matrix is None else as_features(matrix, sparse=sparse)
        y = as_labels(arrays["labels"], classes) if "labels" in arrays else None
        return assemble(rows, cols, nodes, weights=weights, directed=directed, x=x, y=y, **{**names, **attributes})


def _edges(arrays: dict[str, Array], source: str) -> tuple[Array, Array, Array | None, int, bool]:
    if "adj_data" in arrays:
        matrix = read_csr(arrays, "adj_", source)
        if matrix.shape[0] != matrix.shape[1]:
            raise GraphFileError(f"{source}: expected a square adjacency matrix, found {matrix.shape}.")
        rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
        return rows, matrix.indices, matrix.data, matrix.shape[0], True
    if "edge_index" not in arrays:
        raise GraphFileError(
            f"{source}: expected adj_data …, edge_index, edges or adjacency, found {', '.join(sorted(arrays))}. "
            "See the keys in docs/graphs.md."
        )
    edges = arrays["edge_index"]
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise GraphFileError(f"{source}: expected edge_index as integers (2, E), found {edges.dtype} {edges.shape}.")
    weights = arrays.get("edge_weight")
    if "num_nodes" in arrays:
        stored = arrays["num_nodes"]
        if stored.size != 1 or stored.dtype.kind not in "iu" or stored.item() < 0:
            raise GraphFileError(f"{source}: expected num_nodes as one number from 0, found {stored.tolist()!r:.40}.")
        return edges[0], edges[1], weights, stored.item(), False
    counts = (len(arrays[key]) for key in ("labels", *DENSE) if key in arrays and arrays[key].ndim)
    return edges[0], edges[1], weights, max(int(edges.max()) + 1 if edges.size else 0, *counts, 0), False


def read_feature_matrix(arrays: dict[str, Array], source: str) -> Any:
    """The features under one of their usual keys, dense or sparse; None if there are none."""
    if "attr_data" in arrays:
        return read_csr(arrays, "attr_", source)
    return next((arrays[key] for key in DENSE if key in arrays), None)


def read_names(arrays: dict[str, Array], key: str, source: str) -> list[str] | None:
    """The list of text under a key; None if the key is missing."""
    if key not in arrays:
        return None
    names = arrays[key]
    if names.dtype.kind not in "US" or names.ndim != 1:
        raise GraphFileError(f"{source}: expected {key} as a list of text, found {names.dtype} of shape {names.shape}.")
    try:
        return [str(name) for name in (np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names)]
    except UnicodeDecodeError:
        raise GraphFileError(f"{source}: expected {key} in UTF-8, found other bytes.") from None


def read_npz(path: str | Path, *, sparse: bool = False, limit: int = UNPACKED_LIMIT) -> Data:
    """Read a graph from an npz file with the keys of this module's table, or in a form of `npz_forms`.

    Args:
        path: Path of the file.
        sparse: Whether to keep features as a sparse tensor.
        limit: Largest number of bytes that the file may unpack to.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import cycle
    >>> with TemporaryDirectory() as folder:
    ...     print(read_npz(save_npz(cycle(5), Path(folder) / "ring.npz")).report)
    5 nodes, 5 edges
    """
    source = str(path)
    pickled: list[str] = []
    arrays = standard_arrays(read_arrays(path, limit=limit, pickled=pickled), source)
    if used := [key for key in pickled if key in USED] or pickled * (not {"adj_data", "edge_index"} & set(arrays)):
        raise GraphFileError(
            f"{source}: expected plain arrays of edges, features and labels, found pickled objects "
            f"({', '.join(used)}), which are not read. If you trust the file, open it with "
            "numpy.load(path, allow_pickle=True), make a graph with kappagcn.graphs.from_scipy, and save it."
        )
    data = graph_from_arrays(arrays, source, sparse=sparse, name=Path(path).stem)
    masks = node_masks(arrays, data.num_nodes, source)
    return data.update({key: torch.from_numpy(mask) for key, mask in masks.items()})


def save_npz(data: Data, path: str | Path) -> Path:
    """Save a graph with the keys of this module's table; the file is written completely or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import cycle
    >>> with TemporaryDirectory() as folder:
    ...     print(save_npz(cycle(5), Path(folder) / "ring.npz").name)
    ring.npz
    """
    path = Path(path)
    once = data.edge_index[0] < data.edge_index[1]
    arrays: dict[str, Any] = {
        "num_nodes": data.num_nodes,
        "edge_index": data.edge_index[:, once].numpy().astype(np.int32),
    }
    if data.get("edge_weight") is not None:
        arrays["edge_weight"] = data.edge_weight[once].numpy()
    if data.get("x") is not None:
        arrays |= feature_arrays(data.x)
    if data.get("y") is not None:
        arrays["labels"] = data.y.numpy()
    for part in ("train", "val", "test"):
        if data.get(f"{part}_mask") is not None:
            arrays[f"{part}_masks"] = np.atleast_2d(data[f"{part}_mask"].numpy().T)
    for key in NAMES:
        if data.get(key):
            arrays[key] = np.array(data[key], dtype=np.str_)
    with atomic_write(path) as file:
        save_arrays(file, **arrays)
    return path


def feature_arrays(x: torch.Tensor) -> dict[str, Array]:
    """Features as arrays with the keys of this module's table."""
    if x.layout != torch.sparse_csr:
        return {"attr_dense": x.numpy()}
    return csr_arrays("attr", from_tensor(x))
