"""Features, labels and roles of the nodes of a graph on disk, and their distribution to parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from kappagcn.distributed.part_folder import ROLES
from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import TEST_SEEDS, Split, random_split
from kappagcn.graphs.io.array_file import ArrayFile, ArrayWriter
from kappagcn.graphs.io.edge_stream import EdgeStream
from kappagcn.graphs.io.node_data import compact_features, from_tensor
from kappagcn.graphs.io.undirected import Array

__all__ = ["NodeColumns", "part_stream"]

BLOCK = 2**18  # nodes
MASKS = (("train", "train_mask"), ("stopping", "stopping_mask"), ("validation", "val_mask"), ("test", "test_mask"))


def part_stream(data: Data) -> EdgeStream:
    """The edges of a graph in memory, each once.

    >>> from kappagcn.graphs import cycle
    >>> part_stream(cycle(5)).edges
    5
    """
    first, second = data.edge_index.numpy()
    once = first < second
    weights = None if data.get("edge_weight") is None else data.edge_weight.numpy()[once].astype(np.float64)
    return EdgeStream.of_arrays(str(data.get("name") or "graph"), first[once], second[once], weights)


class SparseColumns:
    """Sparse features by slices of rows, from CSR arrays on disk or in memory."""

    def __init__(self, indptr: Any, indices: Any, values: Any, columns: int) -> None:
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, (len(indptr) - 1, columns)
        self.dtype = values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, stop: int) -> sp.csr_array:
        """Rows from `start` to `stop`."""
        starts = _slice(self.indptr, start, stop + 1)
        span = int(starts[0]), int(starts[-1])
        parts = _slice(self.values, *span), _slice(self.indices, *span), starts - starts[0]
        return sp.csr_array((parts[0].astype(np.float32), *parts[1:]), shape=(stop - start, self.shape[1]))


def _slice(source: Any, start: int, stop: int) -> Array:
    array: Array = source.read(start, stop) if isinstance(source, ArrayFile) else source[start:stop]
    return array


@dataclass(frozen=True)
class NodeColumns:
    """Data of each node: features by slices of rows, labels, and roles in training.

    Attributes:
        features: An `ArrayFile`, an array, `SparseColumns`, or None.
        labels: Class of each node, −1 for none, (N,); None without labels.
        roles: Sum of 1 train, 2 stopping, 4 validation, 8 test, uint8, (N,); None for a random split by class.
        class_names: Names of the classes.

    >>> from kappagcn.graphs import disease
    >>> NodeColumns.of_data(disease(100)).count
    100
    """

    features: Any = None
    labels: Array | None = None
    roles: Array | None = None
    class_names: tuple[str, ...] = ()

    @property
    def count(self) -> int | None:
        """Number of nodes; None without features and labels."""
        return next((len(each) for each in (self.features, self.labels) if each is not None), None)

    @classmethod
    def of_data(cls, data: Data, split: Split | None = None) -> NodeColumns:
        """The columns of a graph in memory."""
        features: Any = None
        if data.get("x") is not None:
            x = compact_features(data.x)
            features = x.numpy() if x.layout == torch.strided else from_tensor(x)
            if sp.issparse(features):
                features = SparseColumns(features.indptr, features.indices, features.data, features.shape[1])
        if split is None and data.get("train_mask") is not None:
            split = Split.from_masks(data)
        labels = None if data.get("y") is None else data.y.numpy()
        roles = None if split is None else roles_of(split, data.num_nodes)
        return cls(features, labels, roles, tuple(map(str, data.get("class_names") or ())))

    @classmethod
    def of_files(
        cls, features: Path | None, labels: Path | None, roles: Array | None = None, names: tuple[str, ...] = ()
    ) -> NodeColumns:
        """Columns in .npy files, of which only labels are read whole."""
        rows = None if features is None else ArrayFile(features)
        if rows is not None and (rows.dtype.kind != "f" or len(rows.shape) != 2):
            raise GraphFileError(f"{features}: expected features as numbers (N, D), found {rows.dtype} {rows.shape}.")
        classes = None if labels is None else ArrayFile(labels).all()
        if classes is not None and (classes.dtype.kind not in "iu" or classes.ndim != 1):
            raise GraphFileError(f"{labels}: expected classes as integers (N,), found {classes.dtype} {classes.shape}.")
        if rows is not None and classes is not None and len(rows) != len(classes):
            raise GraphFileError(f"{labels}: expected {len(rows)} labels, as there are features, found {len(classes)}.")
        return cls(rows, classes, roles, names)

    @classmethod
    def of_folder(cls, path: Path, class_names: tuple[str, ...] = ()) -> NodeColumns:
        """The columns of a folder of mapped arrays (`kappagcn data convert`)."""
        files = {name: path / f"{name}.npy" for name in ("features", "labels", *(mask for _, mask in MASKS))}
        present = {name: file for name, file in files.items() if file.is_file()}
        masks = {key: ArrayFile(present[name]).all() for key, name in MASKS if name in present}
        if any(mask.ndim == 2 for mask in masks.values()):
            masks = {key: mask[:, 0] if mask.ndim == 2 else mask for key, mask in masks.items()}
        columns = cls.of_files(present.get("features"), present.get("labels"), _roles(masks), class_names)
        if not (path / "features_values.npy").is_file():
            return columns
        indptr, indices, values = (ArrayFile(path / f"features_{name}.npy") for name in ("indptr", "indices", "values"))
        width = int(ArrayFile(path / "features_shape.npy").all()[1])
        return cls(SparseColumns(indptr, indices, values, width), columns.labels, columns.roles, class_names)

    def distribute(self, owner: Array, folders: list[Path]) -> dict[str, Any]:
        """Write the rows of each part to its folder, and return a description of the whole."""
        nodes = len(owner)
        if self.count not in (None, nodes):
            raise GraphError(f"expected features and labels of {nodes} nodes, found {self.count}.")
        labels = np.full(nodes, -1, np.int64) if self.labels is None else self.labels
        roles = self.roles
        if roles is None and self.labels is not None and (labels >= 0).any():
            roles = roles_of(random_split(torch.from_numpy(labels), TEST_SEEDS[0]), nodes)
        roles = np.zeros(nodes, np.uint8) if roles is None else roles
        for part, folder in enumerate(folders):
            own = owner == part
            np.save(folder / "labels.npy", labels[own].astype(np.int32))
            np.save(folder / "roles.npy", roles[own])
        classes = max(len(self.class_names), int(labels.max()) + 1 if nodes else 0)
        about = {
            "roles": {role: int(((roles & bit) != 0).sum()) for role, bit in ROLES.items()},
            "classes": classes,
            "class_names": list(self.class_names),
        }
        return about | self._distribute_features(owner, folders)

    def _distribute_features(self, owner: Array, folders: list[Path]) -> dict[str, Any]:
        if self.features is None:
            return {"columns": 0}
        sparse, width = isinstance(self.features, SparseColumns), int(self.features.shape[1])
        statistics = _Statistics(width)
        kinds: dict[str, tuple[Any, int | None]] = {"features": (self.features.dtype, width)}
        if sparse:
            kinds = {"features_values": (self.features.dtype, None), "features_indices": (np.int32, None)}
            kinds["features_indptr"] = (np.int64, None)
        writers = [{n: ArrayWriter(f / f"{n}.npy", kind, w) for n, (kind, w) in kinds.items()} for f in folders]
        ends = np.zeros(len(folders), np.int64)
        if sparse:
            for each in writers:
                each["features_indptr"].write(np.zeros(1))
        for start in range(0, len(owner), BLOCK):
            stop = min(start + BLOCK, len(owner))
            rows = self.features.read(start, stop) if hasattr(self.features, "read") else self.features[start:stop]
            statistics.add(rows)
            for part, each in enumerate(writers):
                some = rows[np.flatnonzero(owner[start:stop] == part)]
                if not sparse:
                    each["features"].write(some)
                    continue
                each["features_values"].write(some.data)
                each["features_indices"].write(some.indices)
                each["features_indptr"].write(ends[part] + some.indptr[1:])
                ends[part] += some.nnz
        for each in writers:
            for writer in each.values():
                writer.close()
        return {"columns": width, "features": statistics.about(len(owner), sparse)}


def roles_of(split: Split, nodes: int) -> Array:
    """Roles of each node in a split, as bits, uint8, (N,)."""
    split.check(nodes)
    roles = np.zeros(nodes, np.uint8)
    for role, part in (
        ("train", split.train),
        ("stopping", split.stopping),
        ("validation", split.validation),
        ("test", split.final_test_nodes()),
    ):
        roles[part.numpy()] |= ROLES[role]
    return roles


def _roles(masks: dict[str, Array]) -> Array | None:
    if "train" not in masks:
        return None
    roles = np.zeros(len(masks["train"]), np.uint8)
    if "stopping" not in masks and "validation" in masks:  # as `Split.from_masks` takes them
        masks = {**masks, "stopping": masks["validation"]}
    for role, mask in masks.items():
        roles[mask] |= ROLES[role]
    return roles


class _Statistics:
    """Means and deviations of the columns of features, block by block."""

    def __init__(self, columns: int) -> None:
        self.shift: Array | None = None  # about the mean, so that squares do not cancel
        self.sums, self.squares = np.zeros(columns), np.zeros(columns)
        self.binary = np.ones(columns, bool)

    def add(self, rows: Any) -> None:
        """Add a block of rows."""
        if sp.issparse(rows):  # sparse features are never standardised
            return
        dense = rows.astype(np.float64)
        self.shift = dense.mean(0) if self.shift is None else self.shift
        self.binary &= ((rows == 0) | (rows == 1)).all(0)
        dense -= self.shift
        self.sums += dense.sum(0)
        self.squares += np.einsum("ij,ij->j", dense, dense)

    def about(self, nodes: int, sparse: bool) -> dict[str, Any]:
        """Statistics as plain numbers; means and deviations in the form of `kappagcn.graphs.standardize_columns`."""
        about: dict[str, Any] = {"sparse": sparse}
        if not sparse and self.shift is not None:
            offset = self.sums / nodes
            deviation = np.sqrt(np.maximum(self.squares / nodes - offset**2, 0))
            kept = (deviation == 0) | self.binary
            about["mean"] = np.where(kept, 0, self.shift + offset).tolist()
            about["deviation"] = np.where(kept, 1, deviation).tolist()
        return about
