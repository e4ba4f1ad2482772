"""Splits in files: JSON with a list of nodes per part, npz with an array per part, CSV with node and part per line.

The parts are ``train``, ``stopping``, ``validation`` and ``test``. Nodes are numbers from 0 or, in JSON and CSV, the
names of the graph's nodes. Without ``stopping`` the validation nodes decide when to stop too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from kappagcn.errors import GraphError, SplitError
from kappagcn.graphs.archive import read_arrays
from kappagcn.graphs.node_table import read_labels
from kappagcn.graphs.splits import Split

__all__ = ["read_split", "save_split"]

PARTS = ("train", "stopping", "validation", "test")


def read_split(path: str | Path, data: Data) -> Split:
    """A split of this graph's nodes from a file; nodes that are not the graph's, or in two parts, are refused."""
    path = Path(path)
    try:
        parts = _parts(path)
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, RecursionError, GraphError) as error:
        raise SplitError(f"{path}: expected a split as JSON, npz or CSV, found something else ({error}).") from None
    unknown = set(parts) - set(PARTS)
    if unknown or "train" not in parts or not all(isinstance(nodes, list) for nodes in parts.values()):
        raise SplitError(f"{path}: expected lists of nodes for {', '.join(PARTS)}, found {', '.join(map(str, parts))}.")
    parts.setdefault("stopping", parts.get("validation", []))
    places = {name: i for i, name in enumerate(data.get("node_names") or map(str, range(data.num_nodes)))}
    try:
        numbers = {part: [places[str(node)] for node in parts.get(part, [])] for part in PARTS}
    except KeyError as error:
        raise SplitError(f"{path}: expected nodes of the graph, found {error}.") from None
    return Split(*(numbers[part] for part in PARTS), name=path.stem)


def _parts(path: Path) -> dict[str, Any]:
    if path.suffix == ".npz":
        return {key: value.tolist() for key, value in read_arrays(path).items()}
    if path.suffix == ".json":
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {"": found}
    table = read_labels(path)
    parts: dict[str, Any] = {}
    for node, part in zip(table.names or (), table.values.tolist(), strict=True):
        parts.setdefault(part, []).append(node)
    return parts


def save_split(split: Split, path: str | Path) -> Path:
    """Keep a split as JSON, test nodes included: what was trained on which nodes can be repeated."""
    path = Path(path)
    parts = (split.train, split.stopping, split.validation, split.final_test_nodes())
    path.write_text(json.dumps({name: nodes.tolist() for name, nodes in zip(PARTS, parts, strict=True)}))
    return path
