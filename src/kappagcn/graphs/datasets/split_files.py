"""Splits in files: JSON with a list of nodes per part, npz with an array per part, or CSV with node and part per line.

The parts are ``train``, ``stopping``, ``validation`` and ``test``, or ``idx_train``, ``idx_val``, ``idx_test`` in npz.
In npz, and as numbers in JSON, nodes are given by their index from 0; text in JSON is a node's name. In CSV they are
names if the graph has names, and indices otherwise. Without ``stopping`` the validation nodes are used for it too.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from kappagcn.errors import GraphError, SplitError
from kappagcn.graphs.datasets.splits import Split
from kappagcn.graphs.io.node_table import read_labels
from kappagcn.graphs.io.npz import read_arrays
from kappagcn.graphs.io.undirected import node_id, node_index
from kappagcn.io_atomic import atomic_write

PARTS = ("train", "stopping", "validation", "test")
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
    try:
        parts = _parts(path, data)
    except OSError as error:
        raise SplitError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError) as error:
        raise SplitError(f"{path}: expected a split as JSON, npz or CSV, found something else ({error}).") from None
    parts = {ALIASES.get(str(part).lower(), str(part).lower()): nodes for part, nodes in parts.items()}
    unknown = set(parts) - set(PARTS)
    if unknown or "train" not in parts or not all(isinstance(nodes, list) for nodes in parts.values()):
        raise SplitError(f"{path}: expected lists of nodes for {', '.join(PARTS)}, found {', '.join(map(str, parts))}.")
    parts.setdefault("stopping", parts.get("validation", []))
    named = any(isinstance(node, str) for nodes in parts.values() for node in nodes)
    try:
        known = node_index(data) if named else {}
        numbers = {part: [_index(node, known, data.num_nodes) for node in parts.get(part, [])] for part in PARTS}
    except (KeyError, TypeError, GraphError) as error:
        raise SplitError(f"{path}: expected nodes of the graph, found {error}.") from None
    return Split(*(numbers[part] for part in PARTS), name=path.stem)


def _index(node: Any, known: dict[str, int], nodes: int) -> int:
    if type(node) is not int:
        return known[node_id(node)]
    if not 0 <= node < nodes:
        raise KeyError(str(node))
    return node


def _parts(path: Path, data: Data) -> dict[str, Any]:
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
