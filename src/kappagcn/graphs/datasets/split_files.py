"""Splits of nodes and of edges in files.

The parts of nodes are ``train``, ``stopping``, ``validation`` and ``test``; without ``stopping`` the validation nodes
are used for it too. Those of edges are ``train``, ``validation`` and ``test``, and ``validation_negatives`` and
``test_negatives`` for pairs without an edge; where a file has none of these, as many as there are edges are drawn.

- npz: an array for each part, nodes by their number, (n,) or a mask, edges (2, P).
- JSON: a list of nodes for each part, text is a node's name, a number its place from 0.
- Tables: a node, or two nodes, and the part, in each row; or for edges a time in place of the part, where the latest
  edges are for test, those before them for validation.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.datasets.edge_splits import EdgeSplit, LabelledPairs, time_split, with_negatives
from kappagcn.graphs.datasets.splits import Split
from kappagcn.graphs.io.edges import read_pairs
from kappagcn.graphs.io.node_table import read_labels
from kappagcn.graphs.io.npz import read_arrays
from kappagcn.graphs.io.tables import read_times
from kappagcn.graphs.io.undirected import name_source_in_errors, node_id, node_index
from kappagcn.io_atomic import atomic_write, save_arrays

__all__ = ["read_edge_split", "read_split", "save_edge_split", "save_split"]

PARTS = ("train", "stopping", "validation", "test")
EDGE_PARTS = ("train", "validation", "test")
NEGATIVES = ("validation_negatives", "test_negatives")
EXPECTED = "a split as JSON, npz or CSV"
ALIASES = {
    "val": "validation", "valid": "validation", "dev": "validation", "early_stopping": "stopping",
    **{f"{part}_mask": part for part in PARTS}, "val_mask": "validation",
    "idx_train": "train", "idx_val": "validation", "idx_test": "test",
}  # fmt: skip


def read_split(path: str | Path, data: Data) -> Split:
    """Read a split of a graph's nodes; nodes that the graph does not have, or in two parts, are refused.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, random_split
    >>> data = disease()
    >>> with TemporaryDirectory() as folder:
    ...     print(len(read_split(save_split(random_split(data.y, 0), f"{folder}/mine.json"), data).train))
    600
    """
    path = Path(path)
    with name_source_in_errors(path, EXPECTED):
        parts = {_part(name): nodes for name, nodes in _node_parts(path, data).items()}
        if (
            set(parts) - set(PARTS)
            or "train" not in parts
            or not all(isinstance(part, list) for part in parts.values())
        ):
            raise GraphError(f"expected lists of nodes for {', '.join(PARTS)}, found {', '.join(parts)}.")
        parts.setdefault("stopping", parts.get("validation", []))
        named = any(isinstance(node, str) for nodes in parts.values() for node in nodes)
        index = node_index(data) if named else {}
        numbers = {part: [_index(node, index, data.num_nodes) for node in parts.get(part, [])] for part in PARTS}
    return Split(*(numbers[part] for part in PARTS), name=path.stem)


def read_edge_split(path: str | Path, data: Data, *, seed: int = 0) -> EdgeSplit:
    """Read a split of a graph's edges.

    Args:
        path: An npz file or a table.
        data: The graph.
        seed: Seed of the non-edges, where the file has none.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, edge_split
    >>> data = disease()
    >>> with TemporaryDirectory() as folder:
    ...     print(read_edge_split(save_edge_split(edge_split(data, 3), f"{folder}/mine.npz"), data))
    EdgeSplit(mine: 851 train, 49 validation, 99 test)
    """
    path = Path(path)
    with name_source_in_errors(path, EXPECTED):
        if path.suffix == ".npz":
            arrays = {name: torch.from_numpy(array) for name, array in read_arrays(path).items()}
            return _edge_split(path.stem, data, arrays, seed)
        listed = read_pairs(path, node_index(data))
        if listed.third is None:
            raise GraphError("expected a third column with the part or the time of each edge, found two columns.")
        try:
            times = torch.from_numpy(read_times(listed.table, listed.third).copy())
        except GraphError:  # words
            names = [_part(name) for name in listed.table.columns.column(listed.third).to_pylist()]
        else:
            return time_split(data, listed.pairs, times, seed=seed)
        if unknown := set(names) - {*EDGE_PARTS, *NEGATIVES}:
            raise GraphError(f"expected {', '.join(EDGE_PARTS + NEGATIVES)}, found {min(unknown)!r}.")
        masks = {part: torch.tensor([name == part for name in names]) for part in {*EDGE_PARTS, *names}}
        return _edge_split(path.stem, data, {part: listed.pairs[:, mask] for part, mask in masks.items()}, seed)


def _part(name: Any) -> str:
    """The usual name of a part."""
    word = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    return ALIASES.get(word, word)


def _index(node: Any, known: dict[str, int], nodes: int) -> int:
    """The number of a node that is given by name or by number."""
    if type(node) is int and 0 <= node < nodes:
        return node
    if type(node) is int or not isinstance(node, str) or node_id(node) not in known:
        raise GraphError(f"expected nodes of the graph, found {str(node)!r:.40}.")
    return known[node_id(node)]


def _node_parts(path: Path, data: Data) -> dict[str, Any]:
    if path.suffix == ".npz":
        arrays = read_arrays(path)
        known = {key: value for key, value in arrays.items() if ALIASES.get(key, key) in PARTS}
        return {key: (np.flatnonzero(v) if v.dtype == bool else v).tolist() for key, v in (known or arrays).items()}
    if path.suffix == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("a list" if isinstance(content, list) else "a value")
        return content
    table = read_labels(path, node_index(data))
    parts: dict[str, Any] = {}
    for node, part in zip(table.names or (), table.values.tolist(), strict=True):
        parts.setdefault(part, []).append(node)
    return parts


def _edge_split(name: str, data: Data, arrays: dict[str, Tensor], seed: int) -> EdgeSplit:
    if missing := [part for part in EDGE_PARTS if part not in arrays]:
        raise GraphError(f"expected arrays {', '.join(EDGE_PARTS)}, found no {missing[0]}.")
    train, *hidden = (arrays[part] for part in EDGE_PARTS)
    without = [arrays.get(part, train[:, :0]) for part in NEGATIVES]
    validation, test = (LabelledPairs(*pairs) for pairs in zip(hidden, without, strict=True))
    split = EdgeSplit(train, validation, test, data.num_nodes, name=name)
    if any(part in arrays for part in NEGATIVES):
        return split
    return with_negatives(data, train, validation.edges, test.edges, seed, name)


def save_split(split: Split, path: str | Path) -> Path:
    """Save a split as JSON, test nodes included, so that an experiment can be repeated.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, random_split
    >>> data = disease()
    >>> with TemporaryDirectory() as folder:
    ...     print(sorted(json.loads(save_split(random_split(data.y, 0), f"{folder}/mine.json").read_text())))
    ['stopping', 'test', 'train', 'validation']
    """
    path = Path(path)
    parts = (split.train, split.stopping, split.validation, split.final_test_nodes())
    with atomic_write(path) as file:
        file.write(json.dumps({name: nodes.tolist() for name, nodes in zip(PARTS, parts, strict=True)}).encode())
    return path


def save_edge_split(split: EdgeSplit, path: str | Path) -> Path:
    """Save a split of edges as npz, test pairs included, so that an experiment can be repeated.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease, edge_split
    >>> with TemporaryDirectory() as folder:
    ...     print(save_edge_split(edge_split(disease(), 3), f"{folder}/mine.npz").name)
    mine.npz
    """
    path, test = Path(path), split.final_test_pairs()
    parts = (split.train, split.validation.edges, test.edges, split.validation.others, test.others)
    arrays = {name: pairs.numpy() for name, pairs in zip(EDGE_PARTS + NEGATIVES, parts, strict=True)}
    with atomic_write(path) as file:
        save_arrays(file, **arrays)
    return path
