"""Splits of edges in files: npz with an array of pairs per part, or CSV with two nodes and a part, or a time, per line.

In npz the parts are ``train``, ``validation``, ``test``, and the pairs without an edge ``validation_negatives`` and
``test_negatives``, each (2, P), nodes by their number. In CSV nodes go by name where the graph has names; the third
column is a part, or a number, which is a time: the latest edges are for test, those before them for validation.
Where a file has no non-edges, as many as there are edges are drawn with a seed.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError, SplitError
from kappagcn.graphs.datasets.edge_splits import EdgeSplit, LabelledPairs, time_split, with_negatives
from kappagcn.graphs.datasets.split_files import ALIASES
from kappagcn.graphs.io.delimited import is_number
from kappagcn.graphs.io.npz import read_arrays
from kappagcn.graphs.io.pair_list import read_pairs
from kappagcn.graphs.io.undirected import node_index
from kappagcn.io_atomic import atomic_write, save_arrays

__all__ = ["read_edge_split", "save_edge_split"]

PARTS = ("train", "validation", "test")
NEGATIVES = ("validation_negatives", "test_negatives")


def read_edge_split(path: str | Path, data: Data, *, seed: int = 0) -> EdgeSplit:
    """Read a split of a graph's edges.

    Args:
        path: An npz file or a delimited text file.
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
    try:
        return _read_npz(path, data, seed) if path.suffix == ".npz" else _read_text(path, data, seed)
    except OSError as error:
        raise SplitError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except GraphError as error:
        message = str(error)
        raise SplitError(message if message.startswith(str(path)) else f"{path}: {message}") from None


def _read_npz(path: Path, data: Data, seed: int) -> EdgeSplit:
    arrays = {name: torch.from_numpy(array) for name, array in read_arrays(path).items() if name in PARTS + NEGATIVES}
    missing = [part for part in PARTS if part not in arrays]
    if missing:
        raise SplitError(f"{path}: expected arrays {', '.join(PARTS)}, found no {missing[0]}.")
    return _assembled(path.stem, data, arrays, seed)


def _read_text(path: Path, data: Data, seed: int) -> EdgeSplit:
    table = read_pairs(path, node_index(data))
    if table.texts is None:
        raise SplitError(f"{path}: expected a third column with the part or the time of each edge, found two columns.")
    if all(map(is_number, table.texts)):
        times = torch.tensor([float(text) for text in table.texts], dtype=torch.float64)
        return time_split(data, table.pairs, times, seed=seed)
    parts = [text.lower().replace(" ", "_").replace("-", "_") for text in table.texts]
    names = [ALIASES.get(part, part) for part in parts]
    if unknown := set(names) - {*PARTS, *NEGATIVES}:
        raise SplitError(f"{path}: expected {', '.join(PARTS + NEGATIVES)}, found {min(unknown)!r}.")
    places = {part: [i for i, name in enumerate(names) if name == part] for part in (*PARTS, *NEGATIVES)}
    arrays = {part: table.pairs[:, where] for part, where in places.items() if where or part in PARTS}
    return _assembled(path.stem, data, arrays, seed)


def _assembled(name: str, data: Data, arrays: dict[str, Tensor], seed: int) -> EdgeSplit:
    train, validation, test = (arrays[part] for part in PARTS)
    if not any(part in arrays for part in NEGATIVES):
        EdgeSplit(train, LabelledPairs(validation, train[:, :0]), LabelledPairs(test, train[:, :0]), data.num_nodes)
        return with_negatives(data, train, validation, test, seed, name)
    others = [arrays.get(part, train[:, :0]) for part in NEGATIVES]
    return EdgeSplit(
        train, LabelledPairs(validation, others[0]), LabelledPairs(test, others[1]), data.num_nodes, name=name
    )


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
    arrays = {name: pairs.numpy() for name, pairs in zip(PARTS + NEGATIVES, parts, strict=True)}
    with atomic_write(path) as file:
        save_arrays(file, **arrays)
    return path
