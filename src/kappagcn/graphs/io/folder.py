"""A graph as a folder of arrays that are mapped into memory: opened at once, whatever their size.

| file | content |
|---|---|
| ``graph.json`` | form, number of nodes, name, report, names of classes and features |
| ``edge_index.npy`` | both directions, sorted, int64, (2, E): the second row is CSR's indices |
| ``indptr.npy`` | where each node's edges start, int64, (N + 1,) |
| ``edge_weight.npy`` | float32, (E,), where there are weights |
| ``features.npy`` | dense, float32 or float16, (N, D) |
| ``features_indptr.npy``, ``features_indices.npy``, ``features_values.npy`` | sparse, CSR |
| ``labels.npy``, ``node_names.npy``, ``train_mask.npy``, … | where the graph has them |

Opening checks that all indices are in range, which reads the edges once. Pages are read from the disk when a
computation needs them, and can be dropped again: a graph may be larger than the memory as long as the parts in use are
not. Changes of tensors in memory never reach the files.
"""

import json
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import Array, name_source_in_errors

__all__ = ["is_graph_folder", "read_folder", "save_folder"]

FORM = "kappagcn graph 1"
PER_NODE = ("train_mask", "val_mask", "test_mask", "stopping_mask")
CHECKED = 2**20  # entries checked together
LISTS = ("class_names", "attr_names")


def is_graph_folder(path: Path) -> bool:
    """Whether a folder holds a graph in this form."""
    return (path / "graph.json").is_file()


def save_folder(data: Data, path: str | Path, *, half: bool = False) -> Path:
    """Write a graph as a folder of arrays; it appears complete or not at all.

    Args:
        data: A graph as this package reads it.
        path: A folder that does not exist yet, or is empty.
        half: Whether to keep features as float16, in half the space and with three significant digits.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import cycle, read_graph
    >>> with TemporaryDirectory() as folder:
    ...     print(read_graph(save_folder(cycle(5), Path(folder) / "ring")).report)
    5 nodes, 5 edges
    """
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise GraphError(f"{path}: expected a new or empty folder to write to, found a file or a folder with files.")
    about: dict[str, Any] = {"form": FORM, "nodes": int(data.num_nodes), "report": str(data.get("report") or "")}
    about |= {"name": str(data.get("name") or path.name)}
    about |= {key: [str(name) for name in data[key]] for key in LISTS if data.get(key)}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent))
    try:
        arrays = _arrays(data, half)
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
        about["arrays"] = sorted(arrays)
        (part / "graph.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        part.chmod(0o755)
        part.replace(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return path


def _arrays(data: Data, half: bool) -> dict[str, Array]:
    edges = data.edge_index.numpy()
    starts = np.concatenate([[0], np.cumsum(np.bincount(edges[0], minlength=data.num_nodes))])
    arrays: dict[str, Array] = {"edge_index": edges, "indptr": starts.astype(np.int64)}
    for name, key in (("edge_weight", "edge_weight"), ("labels", "y"), *((key, key) for key in PER_NODE)):
        if data.get(key) is not None:
            arrays[name] = data[key].numpy()
    if data.get("node_names"):
        arrays["node_names"] = np.array([str(name) for name in data.node_names], dtype=np.str_)
    x = data.get("x")
    if x is not None and x.layout == torch.strided:
        arrays["features"] = _values(x, half)
    elif x is not None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            x = x.to_sparse_csr()
        parts = {"indptr": x.crow_indices().long().numpy(), "indices": x.col_indices().long().numpy()}
        arrays |= {f"features_{name}": part for name, part in (parts | {"values": _values(x.values(), half)}).items()}
        arrays["features_shape"] = np.array(x.shape)
    return arrays


def _values(x: torch.Tensor, half: bool) -> Array:
    values = x.half() if half else x.float()
    if half and not torch.isfinite(values).all():
        raise GraphError("expected features below 65504 to keep them as float16, found larger ones.")
    array: Array = values.numpy()
    return array


def read_folder(path: Path) -> Data:
    """Open a graph that `save_folder` wrote; arrays are mapped, not read."""
    with name_source_in_errors(path, "a folder that kappagcn data convert wrote"):
        about = json.loads((path / "graph.json").read_text(encoding="utf-8"))
        if not isinstance(about, dict) or about.get("form") != FORM:
            raise GraphError(f"expected the form {FORM!r}, found {str(about)[:60]!r}.")
        nodes = int(about["nodes"])
        mapped = {file.stem: _mapped(file) for file in sorted(path.glob("*.npy"))}
        if missing := sorted(set(about.get("arrays", ("edge_index", "indptr"))) - set(mapped)):
            raise GraphError(f"expected {missing[0]}.npy, found no such file. Convert the graph again.")
        _check(mapped, nodes)
        data = Data(edge_index=torch.from_numpy(mapped["edge_index"]), num_nodes=nodes)
        for key, name in (("edge_weight", "edge_weight"), ("y", "labels"), *((each, each) for each in PER_NODE)):
            if name in mapped:
                data[key] = torch.from_numpy(mapped[name])
        if (x := _features(mapped)) is not None:
            data.x = x
        if "node_names" in mapped:
            data.node_names = mapped["node_names"].tolist()
        data.update({key: about[key] for key in ("name", "report", *LISTS) if key in about})
    return data


def _mapped(file: Path) -> Array:
    """An array mapped from its file; changes stay in memory. An empty file cannot be mapped, and is read."""
    try:
        array: Array = np.load(file, mmap_mode="c", allow_pickle=False)
    except ValueError:
        array = np.load(file, allow_pickle=False)
    return np.asarray(array)


def _check(mapped: dict[str, Array], nodes: int) -> None:
    """Refuse arrays that do not belong together, or whose numbers would lead a product out of its arrays."""
    edges = mapped["edge_index"].shape[-1]
    shapes = {"edge_index": (2, edges), "indptr": (nodes + 1,), "edge_weight": (edges,), "labels": (nodes,)}
    shapes |= {"node_names": (nodes,), "features_indptr": (nodes + 1,), "features_shape": (2,)}
    kinds = {"edge_index": "i", "indptr": "i", "labels": "i", "node_names": "U", "features": "f", "edge_weight": "f"}
    kinds |= dict.fromkeys(("features_indptr", "features_indices", "features_shape"), "i") | {"features_values": "f"}
    for name, array in mapped.items():
        if array.shape != shapes.get(name, array.shape) or array.dtype.kind not in kinds.get(name, "b"):
            raise GraphError(f"{name}.npy: expected {shapes.get(name, 'numbers')}, found {array.dtype} {array.shape}.")
        if name in PER_NODE and array.shape[:1] != (nodes,):
            raise GraphError(f"{name}.npy: expected ({nodes},) or ({nodes}, splits), found {array.shape}.")
    if "features" in mapped and (mapped["features"].ndim != 2 or len(mapped["features"]) != nodes):
        raise GraphError(f"features.npy: expected ({nodes}, D), found {mapped['features'].shape}.")
    _check_pointers("indptr", mapped["indptr"], edges)
    _check_range("edge_index", mapped["edge_index"][0], 0, nodes)
    _check_range("edge_index", mapped["edge_index"][1], 0, nodes)
    if "labels" in mapped:
        _check_range("labels", mapped["labels"], -1, max(nodes, 1))
    sparse = [name for name in ("indptr", "indices", "values", "shape") if f"features_{name}" in mapped]
    if sparse and len(sparse) < 4:
        raise GraphError(f"features_*.npy: expected indptr, indices, values and shape, found {', '.join(sparse)}.")
    if sparse:
        entries, columns = mapped["features_indices"], int(mapped["features_shape"][1])
        if (
            mapped["features_shape"][0] != nodes
            or entries.shape != mapped["features_values"].shape
            or entries.ndim != 1
        ):
            raise GraphError(
                f"features_values.npy: expected as many as indices of a matrix ({nodes}, D), found "
                f"{mapped['features_values'].shape}, {entries.shape} and {mapped['features_shape'].tolist()}."
            )
        _check_pointers("features_indptr", mapped["features_indptr"], len(entries))
        _check_range("features_indices", entries, 0, columns)


def _check_pointers(name: str, starts: Array, entries: int) -> None:
    """Refuse row pointers that do not rise from 0 to the number of entries."""
    rising = all((np.diff(starts[i : i + CHECKED + 1]) >= 0).all() for i in range(0, len(starts) - 1, CHECKED))
    if int(starts[0]) != 0 or int(starts[-1]) != entries or not rising:
        raise GraphError(
            f"{name}.npy: expected numbers that rise from 0 to {entries:,}, found others, from {int(starts[0]):,} to "
            f"{int(starts[-1]):,}. The folder is damaged: write it again."
        )


def _check_range(name: str, numbers: Array, low: int, stop: int) -> None:
    """Refuse numbers outside a range; a part of the array at a time."""
    for start in range(0, len(numbers), CHECKED):
        part = numbers[start : start + CHECKED]
        least, largest = int(part.min()), int(part.max())
        if not low <= least <= largest < stop:
            raise GraphError(
                f"{name}.npy: expected numbers from {low} to {stop - 1:,}, found {least:,} to {largest:,}. The folder "
                "is damaged: write it again."
            )


def _features(mapped: dict[str, Array]) -> torch.Tensor | None:
    if "features" in mapped:
        return torch.from_numpy(mapped["features"])
    if "features_values" not in mapped:
        return None
    starts, indices, values = (torch.from_numpy(mapped[f"features_{name}"]) for name in ("indptr", "indices", "values"))
    size = tuple(mapped["features_shape"].tolist())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts, indices, values, size=size, check_invariants=False)
