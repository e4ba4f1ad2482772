"""A graph in a mapped folder that is read by rows, with PyG's interfaces of remote stores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, FeatureStore, GraphStore, TensorAttr
from torch_geometric.data.graph_store import EdgeAttr, EdgeLayout

from kappagcn.errors import GraphError
from kappagcn.graphs.datasets.splits import TEST_SEEDS, Split, random_split
from kappagcn.graphs.io.folder import PER_NODE, map_folder, release_pages
from kappagcn.graphs.io.node_data import csr_tensor

__all__ = ["MappedGraph", "MappedRows"]

NODES = "node"
EDGES = (NODES, "to", NODES)
BLOCK = 2**16  # rows read together
TENSORS = {"x": "features", "y": "labels", **{key: key for key in PER_NODE}}  # names of PyG, and of the files
READS = 2**22  # rows or entries after whose reading the pages are given back


class MappedRows:
    """Features of nodes that are read when rows are taken, as from a tensor: ``rows[nodes]``.

    Args:
        shape: (N, D).
        read: Function from nodes (R,) to their rows.

    >>> rows = MappedRows((4, 2), lambda nodes: nodes.float().unsqueeze(1).expand(-1, 2))
    >>> rows[torch.tensor([3, 1])].tolist(), rows.shape
    ([[3.0, 3.0], [1.0, 1.0]], (4, 2))
    """

    layout, device = torch.strided, torch.device("cpu")

    def __init__(self, shape: tuple[int, int], read: Callable[[Tensor], Any]) -> None:
        self.shape, self._read = shape, read

    def __getitem__(self, nodes: Tensor) -> Any:
        return self._read(nodes)

    def __len__(self) -> int:
        return self.shape[0]

    def map(self, function: Callable[[Any], Any]) -> MappedRows:
        """Rows to which a function is applied after reading; it must leave their number and width."""
        return MappedRows(self.shape, lambda nodes: function(self._read(nodes)))

    def blocks(self) -> Iterator[Any]:
        """All rows, block by block."""
        for start in range(0, len(self), BLOCK):
            yield self[torch.arange(start, min(start + BLOCK, len(self)))]


class MappedGraph(FeatureStore, GraphStore):
    """A folder of `kappagcn data convert`, opened without being read.

    It is a feature store and a graph store of PyG: pass it twice, as ``(graph, graph)``, to PyG's loaders, or alone to
    `kappagcn.sparse.KappaNeighborLoader`. Nodes have the type ``"node"``, with tensors ``"x"``, ``"y"`` and the masks;
    edges have the type ``("node", "to", "node")``. It cannot be written to.

    Args:
        path: The folder.
        check: Whether to check that all indices are in range, which reads the entries once; sizes always are.

    Attributes:
        num_nodes: Number of nodes.
        parts: Offsets of the parts; None for a folder without parts.
        arrays: The mapped arrays, as tensors.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, save_graph
    >>> with TemporaryDirectory() as folder:
    ...     _ = save_graph(disease(100), f"{folder}/disease")
    ...     MappedGraph(f"{folder}/disease").get_tensor("node", "x", index=torch.tensor([5, 7])).shape
    torch.Size([2, 10])
    """

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        super().__init__()
        self.path = Path(path)
        self.about, self._mapped = map_folder(self.path, check=check)
        self.num_nodes, self.parts = int(self.about["nodes"]), self.about.get("parts")
        numbers = {name: array for name, array in self._mapped.items() if array.dtype.kind != "U"}
        self.arrays = {name: torch.from_numpy(array) for name, array in numbers.items()}
        self._reads = 0

    def count_reads(self, rows: int) -> None:
        """Note that rows were read; from time to time their pages are given back."""
        self._reads += rows
        if self._reads > READS:
            release_pages(self._mapped)
            self._reads = 0

    @property
    def identity(self) -> str:
        """A hash of ``graph.json`` and of the size and the time of change of every array."""
        files = {file.name: [file.stat().st_size, file.stat().st_mtime_ns] for file in sorted(self.path.glob("*.npy"))}
        return hashlib.sha256(json.dumps([self.about, files], sort_keys=True).encode()).hexdigest()[:16]

    def features(self) -> MappedRows:
        """Features as float32, dense or as sparse CSR tensors."""
        if "features" in self.arrays:
            width = int(self.arrays["features"].shape[1])
            return MappedRows((self.num_nodes, width), lambda nodes: self._rows("features", nodes).float())
        if "features_values" not in self.arrays:
            raise GraphError(f"{self.path}: expected features of the nodes, found none. Convert with --features.")
        return MappedRows((self.num_nodes, int(self.arrays["features_shape"][1])), self._sparse_rows)

    def _rows(self, name: str, nodes: Any) -> Tensor:
        rows = self.arrays[name][nodes]
        self.count_reads(len(rows))
        return rows

    def _sparse_rows(self, nodes: Tensor) -> Tensor:
        starts, columns, values = (self.arrays[f"features_{name}"] for name in ("indptr", "indices", "values"))
        counts = starts[nodes + 1] - starts[nodes]
        ends = counts.cumsum(0)
        entries = torch.arange(int(counts.sum())) + (starts[nodes] - ends + counts).repeat_interleave(counts)
        self.count_reads(len(entries))
        crow = torch.cat([ends.new_zeros(1), ends])
        size = (len(nodes), int(self.arrays["features_shape"][1]))
        return csr_tensor(crow, columns[entries], values[entries].float(), size)

    def labels(self) -> Tensor:
        """Classes, −1 for none, (N,)."""
        if "labels" not in self.arrays:
            raise GraphError(f"{self.path}: expected labels to learn from, found none. Convert with --labels.")
        return self.arrays["labels"]

    def split(self) -> Split:
        """The split of the masks; without masks a random one by class."""
        masks = {key: self.arrays[key] for key in PER_NODE if key in self.arrays}
        if "train_mask" not in masks:
            return random_split(self.labels(), TEST_SEEDS[0])
        return Split.from_masks(Data(num_nodes=self.num_nodes, **masks))

    # PyG's feature store

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """The tensors of the nodes."""
        stored = {**self.arrays, **({"features": None} if "features_values" in self.arrays else {})}
        return [TensorAttr(NODES, key) for key, name in TENSORS.items() if name in stored]

    def _get_tensor(self, attr: TensorAttr) -> Tensor:
        if self._get_tensor_size(attr) is None:
            raise KeyError(attr)
        index = slice(None) if attr.index is None else attr.index
        if attr.attr_name == "x" and "features" not in self.arrays:
            nodes = torch.arange(self.num_nodes)[index]
            return self._sparse_rows(nodes)
        rows = self._rows(TENSORS[attr.attr_name], index)
        return rows.long() if attr.attr_name == "y" else rows

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        if attr.group_name != NODES or attr.attr_name not in TENSORS:
            return None
        if attr.attr_name == "x" and "features_shape" in self.arrays:
            return tuple(self.arrays["features_shape"].tolist())
        array = self.arrays.get(TENSORS[attr.attr_name])
        return None if array is None else tuple(array.shape)

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        return False

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        return False

    # PyG's graph store

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """The edges, by target; the same as by source, because they are symmetric."""
        return [EdgeAttr(EDGES, EdgeLayout.CSC, size=(self.num_nodes, self.num_nodes))]

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[Tensor, Tensor] | None:
        if edge_attr.edge_type != EDGES:
            return None
        pointers, neighbours = self.arrays["indptr"], self.arrays["indices"]
        if edge_attr.layout == EdgeLayout.CSR:
            return pointers, neighbours
        return (neighbours, pointers) if edge_attr.layout == EdgeLayout.CSC else None

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        return False

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        return False
