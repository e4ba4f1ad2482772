"""The mapped folder, the one form of large graphs on disk: opened at once, whatever its size.

| file | content |
|---|---|
| ``graph.json`` | form, number of nodes, name, report, names of classes and features, offsets of the parts |
| ``indptr.npy``, ``indices.npy`` | the symmetric adjacency in CSR form, sorted: int64 (N + 1,), int32 (E,) |
| ``weights.npy``, ``strengths.npy`` | weights of the entries (E,) and their sum in each row (N,), float32, if any |
| ``features.npy`` | dense, float32 or float16, (N, D) |
| ``features_indptr.npy``, ``features_indices.npy``, ``features_values.npy``, ``features_shape.npy`` | sparse, CSR |
| ``labels.npy``, ``node_names.npy``, ``train_mask.npy``, … | where the graph has them |

With parts, the nodes of part p are those from ``parts[p]`` to ``parts[p + 1]``. `read_folder` makes a ``Data`` for
commands that take the whole graph; `kappagcn.graphs.MappedGraph` reads rows. Changes in memory never reach the files.
"""

from __future__ import annotations

import json
import math
import mmap
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.lib import format as npy_format
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import csr_tensor, from_tensor
from kappagcn.graphs.io.undirected import Array, name_source_in_errors

__all__ = [
    "PER_NODE",
    "array_file",
    "is_graph_folder",
    "map_folder",
    "new_folder",
    "read_folder",
    "release_pages",
    "save_folder",
    "write_about",
]

FORM = "kappagcn graph 2"
PER_NODE = ("train_mask", "val_mask", "test_mask", "stopping_mask")
CHECKED = 2**20  # entries checked together
LISTS = ("class_names", "attr_names")


def is_graph_folder(path: Path) -> bool:
    """Whether a folder holds a graph in this form."""
    return (path / "graph.json").is_file()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes its place if all goes well: complete or not at all."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise GraphError(f"{path}: expected a new or empty folder to write to, found a file or a folder with files.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent))
    try:
        yield part
        part.chmod(0o755)
        part.replace(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def write_about(folder: Path, **about: Any) -> None:
    """Write ``graph.json``, which also lists the arrays that are there."""
    arrays = sorted(file.stem for file in folder.glob("*.npy"))
    text = json.dumps({"form": FORM, **about, "arrays": arrays}, ensure_ascii=False)
    (folder / "graph.json").write_text(text, encoding="utf-8")


@contextmanager
def array_file(path: Path, dtype: Any, row: tuple[int, ...] = ()) -> Iterator[IO[bytes]]:
    """A .npy file, open for its content, which the caller writes block by block; `row` is the shape of a row."""

    def write_header(rows: int) -> None:
        description = npy_format.dtype_to_descr(np.dtype(dtype))
        header = {"descr": description, "fortran_order": False, "shape": (rows, *row)}
        npy_format.write_array_header_1_0(file, header)  # has room for any number of rows

    with path.open("wb") as file:
        write_header(0)
        start = file.tell()
        yield file
        rows = (file.tell() - start) // (np.dtype(dtype).itemsize * max(math.prod(row), 1))
        file.seek(0)
        write_header(rows)


def release_pages(arrays: dict[str, Array]) -> None:
    """Give the memory of mapped arrays back until they are read again; the files stay in the cache of the disk."""
    for array in arrays.values():
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


def save_folder(data: Data, path: str | Path, *, half: bool = False) -> Path:
    """Write a graph as a mapped folder.

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
    about: dict[str, Any] = {"nodes": int(data.num_nodes), "report": str(data.get("report") or "")}
    about |= {"name": str(data.get("name") or path.name)}
    about |= {key: [str(name) for name in data[key]] for key in LISTS if data.get(key)}
    with new_folder(path) as folder:
        for name, array in _arrays(data, half).items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        write_about(folder, **about)
    return path


def _arrays(data: Data, half: bool) -> dict[str, Array]:
    rows, columns = data.edge_index.numpy()
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=data.num_nodes))])
    arrays: dict[str, Array] = {"indptr": starts.astype(np.int64), "indices": columns.astype(np.int32)}
    if data.get("edge_weight") is not None:
        weights = data.edge_weight.numpy()
        sums = np.bincount(rows, weights, minlength=data.num_nodes)
        arrays |= {"weights": weights.astype(np.float32), "strengths": sums.astype(np.float32)}
    for name, key in (("labels", "y"), *((key, key) for key in PER_NODE)):
        if data.get(key) is not None:
            arrays[name] = data[key].numpy()
    if data.get("node_names"):
        arrays["node_names"] = np.array([str(name) for name in data.node_names], dtype=np.str_)
    x = data.get("x")
    if x is not None and x.layout == torch.strided:
        arrays["features"] = _values(x, half)
    elif x is not None:
        matrix = from_tensor(x)
        arrays |= {"features_indptr": matrix.indptr.astype(np.int64), "features_indices": matrix.indices}
        arrays |= {"features_values": _values(torch.from_numpy(matrix.data), half)}
        arrays |= {"features_shape": np.array(matrix.shape)}
    return arrays


def _values(x: torch.Tensor, half: bool) -> Array:
    values = x.half() if half else x.float()
    if half and not torch.isfinite(values).all():
        raise GraphError("expected features below 65504 to keep them as float16, found larger ones.")
    array: Array = values.numpy()
    return array


def map_folder(path: Path, *, check: bool = True) -> tuple[dict[str, Any], dict[str, Array]]:
    """The content of ``graph.json``, and the arrays, mapped and not read.

    Args:
        path: The folder.
        check: Whether to check that all indices are in range, which reads the entries once; sizes always are.
    """
    with name_source_in_errors(path, "a folder that kappagcn data convert wrote"):
        about = json.loads((path / "graph.json").read_text(encoding="utf-8"))
        if not isinstance(about, dict) or about.get("form") != FORM:
            raise GraphError(f"expected the form {FORM!r}, found {str(about)[:60]!r}. Convert the graph again.")
        arrays = {file.stem: _mapped(file) for file in sorted(path.glob("*.npy"))}
        if missing := sorted(set(about["arrays"]) - set(arrays)):
            raise GraphError(f"expected {missing[0]}.npy, found no such file. Convert the graph again.")
        _check_shapes(arrays, int(about["nodes"]), about.get("parts"))
        if check:
            _check_content(arrays, int(about["nodes"]))
    return about, arrays


def read_folder(path: Path) -> Data:
    """The graph in a folder; features and labels are mapped, not read."""
    about, arrays = map_folder(path)
    nodes = int(about["nodes"])
    rows = np.repeat(np.arange(nodes), np.diff(arrays["indptr"]))
    edges = np.stack([rows, arrays["indices"]], dtype=np.int64)
    data = Data(edge_index=torch.from_numpy(edges), num_nodes=nodes)
    for key, name in (("edge_weight", "weights"), ("y", "labels"), *((key, key) for key in PER_NODE)):
        if name in arrays:
            data[key] = torch.from_numpy(arrays[name])
    if data.get("y") is not None:
        data.y = data.y.long()
    if (x := _features(arrays)) is not None:
        data.x = x
    if "node_names" in arrays:
        data.node_names = [str(name) for name in arrays["node_names"].tolist()]
    data.update({key: about[key] for key in ("name", "report", *LISTS) if key in about})
    return data


def _mapped(file: Path) -> Array:
    """An array mapped from its file; changes stay in memory. An empty file cannot be mapped, and is read."""
    try:
        array: Array = np.load(file, mmap_mode="c", allow_pickle=False)
    except ValueError:
        array = np.load(file, allow_pickle=False)
    return np.asarray(array)


def _check_shapes(arrays: dict[str, Array], nodes: int, parts: Any) -> None:
    """Refuse arrays that do not belong together: by their kinds, and their sizes, None for any."""
    entries, values = len(arrays["indices"]), len(arrays.get("features_values", ()))
    expected: dict[str, tuple[str, tuple[int | None, ...]]] = {
        "indptr": ("iu", (nodes + 1,)),
        "indices": ("iu", (entries,)),
        "weights": ("f", (entries,)),
        "strengths": ("f", (nodes,)),
        "labels": ("iu", (nodes,)),
        "node_names": ("Ui", (nodes,)),
        "features": ("f", (nodes, None)),
        "features_indptr": ("iu", (nodes + 1,)),
        "features_indices": ("iu", (values,)),
        "features_values": ("f", (values,)),
        "features_shape": ("iu", (2,)),
    }
    for name, array in arrays.items():
        masks = (nodes, None)[: array.ndim] if array.ndim else (nodes,)  # one split, or one in each column
        kinds, shape = expected.get(name, ("b", masks))
        fits = len(shape) == array.ndim and all(s in (None, n) for s, n in zip(shape, array.shape, strict=True))
        if not fits or array.dtype.kind not in kinds:
            words = ", ".join("D" if side is None else str(side) for side in shape) + "," * (len(shape) == 1)
            raise GraphError(f"{name}.npy: expected ({words}), found {array.dtype} {array.shape}.")
    for together in (("weights", "strengths"), tuple(name for name in expected if name.startswith("features_"))):
        present = [name for name in together if name in arrays]
        if present and len(present) < len(together):
            raise GraphError(f"expected {', '.join(together)}, found {', '.join(present)}. Convert the graph again.")
    if "features_shape" in arrays and arrays["features_shape"][0] != nodes:
        raise GraphError(f"features_shape.npy: expected {nodes} rows, found {arrays['features_shape'][0]}.")
    if parts is not None and (parts[0] != 0 or parts[-1] != nodes or (np.diff(parts) <= 0).any()):
        raise GraphError(f"graph.json: expected offsets of parts that rise from 0 to {nodes}, found {str(parts)[:60]}.")


def _check_content(arrays: dict[str, Array], nodes: int) -> None:
    """Refuse numbers that would lead a product out of its arrays; a part of an array at a time."""
    columns = int(arrays["features_shape"][1]) if "features_shape" in arrays else 0
    ranges = {"indices": (0, nodes), "labels": (-1, max(nodes, 1)), "features_indices": (0, columns)}
    for name, (low, stop) in ranges.items():
        for part in _parts(arrays.get(name, np.empty(0, np.int64))):
            least, largest = int(part.min()), int(part.max())
            if not low <= least <= largest < stop:
                raise GraphError(
                    f"{name}.npy: expected numbers from {low} to {stop - 1:,}, found {least:,} to {largest:,}. The "
                    "folder is damaged: write it again."
                )
    for name, entries in (("indptr", "indices"), ("features_indptr", "features_indices")):
        starts, count = arrays.get(name, np.zeros(1, np.int64)), len(arrays.get(entries, ()))
        rising = all((np.diff(part) >= 0).all() for part in _parts(starts, overlap=1))
        if int(starts[0]) != 0 or int(starts[-1]) != count or not rising:
            raise GraphError(
                f"{name}.npy: expected numbers that rise from 0 to {count:,}, found others, from {int(starts[0]):,} to "
                f"{int(starts[-1]):,}. The folder is damaged: write it again."
            )


def _parts(array: Array, overlap: int = 0) -> Iterator[Array]:
    return (array[start : start + CHECKED + overlap] for start in range(0, len(array), CHECKED))


def _features(arrays: dict[str, Array]) -> torch.Tensor | None:
    if "features" in arrays:
        return torch.from_numpy(arrays["features"])
    if "features_values" not in arrays:
        return None
    starts, columns, values = (arrays[f"features_{name}"] for name in ("indptr", "indices", "values"))
    return csr_tensor(starts, columns, values, tuple(arrays["features_shape"].tolist()))
