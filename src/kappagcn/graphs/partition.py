"""Parts of a graph: a part for every node with few edges between parts, and the mapped folder in the order of parts."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kappagcn.errors import GraphError
from kappagcn.graphs.io.folder import PER_NODE, array_file, map_folder, new_folder, release_pages, write_about
from kappagcn.graphs.io.undirected import Array

__all__ = ["METHODS", "assign_parts", "cut_edges", "order_by_parts"]

METHODS = ("auto", "metis", "stream", "hash")
METIS_ENTRIES = 10**7  # entries above which METIS takes too much memory and time
BLOCK = 2**22  # entries taken together
SLACK = 1.05  # largest load of a part over the mean
PASSES = 4  # passes of the streaming rule
SEEDS = 16  # every 16th node has the part of its range of numbers before the streaming rule starts
FEW = 1e-3  # added to the neighbours in each part, so that a node without any goes to the emptiest part
KNUTH = 2654435761  # multiplier of the hash: neighbouring numbers get different parts


class Rows(NamedTuple):
    """Some whole rows of a CSR matrix: the first and the last node, the row of each entry from `first`, its column."""

    first: int
    last: int
    rows: Array
    columns: Array


def row_blocks(indptr: Array, indices: Array, size: int = BLOCK, nodes: int | None = None) -> Iterator[Rows]:
    """Blocks of whole rows with about `size` entries, and at most so many nodes."""
    first, count = 0, len(indptr) - 1
    while first < count:
        last = int(np.searchsorted(indptr, indptr[first] + size, "right")) - 1
        last = min(max(last, first + 1), count, count if nodes is None else first + nodes)
        starts = np.asarray(indptr[first : last + 1])
        rows = np.repeat(np.arange(last - first), np.diff(starts))
        yield Rows(first, last, rows, np.asarray(indices[starts[0] : starts[-1]]))
        first = last


def assign_parts(indptr: Array, indices: Array, parts: int, method: str = "auto") -> Array:
    """Part of each node, int32 (N,), from 0 to parts − 1; none is empty.

    Args:
        indptr: Start of each node's entries in the symmetric adjacency, (N + 1,).
        indices: Neighbours, (E,).
        parts: Number of parts.
        method: ``"metis"`` has the fewest edges between parts, and needs the graph in memory and pymetis; ``"stream"``
            passes over the nodes, and each goes to the part with most of its neighbours, where full parts count less;
            ``"hash"`` deals nodes out by their numbers; ``"auto"``: METIS where it is installed and fits.

    >>> from kappagcn.graphs import adjacency, balanced_tree
    >>> matrix = adjacency(balanced_tree(4, 2))
    >>> np.bincount(assign_parts(matrix.indptr, matrix.indices, 2, "hash")).tolist()
    [16, 15]
    """
    nodes = len(indptr) - 1
    if method not in METHODS:
        raise GraphError(f"method: expected {', '.join(METHODS)}, found {method!r}.")
    if not 1 <= parts <= max(nodes, 1):
        raise GraphError(f"parts: expected from 1 to {nodes}, as many as there are nodes, found {parts}.")
    has_metis = importlib.util.find_spec("pymetis") is not None
    if method == "metis" and not has_metis:
        raise GraphError("method: expected pymetis for METIS (pip install pymetis), found it missing.")
    if parts == 1:
        return np.zeros(nodes, np.int32)
    if method == "auto":
        method = "metis" if has_metis and len(indices) <= METIS_ENTRIES else "stream"
    owner: Array
    if method == "hash":
        owner = np.empty(nodes, np.int32)
        owner[np.argsort(np.arange(nodes) * KNUTH % 2**32, kind="stable")] = np.arange(nodes) % parts
        return owner
    owner = _metis(indptr, indices, parts) if method == "metis" else _stream(indptr, indices, parts)
    sizes = np.bincount(owner, minlength=parts)
    for part in np.flatnonzero(sizes == 0):  # small graphs leave parts empty: these get a node of the largest part
        owner[np.flatnonzero(owner == np.bincount(owner).argmax())[0]] = part
    return owner


def _metis(indptr: Array, indices: Array, parts: int) -> Array:
    import pymetis

    _, owner = pymetis.part_graph(parts, pymetis.CSRAdjacency(np.asarray(indptr), np.asarray(indices)))
    return np.array(owner, np.int32)


def _stream(indptr: Array, indices: Array, parts: int) -> Array:
    """Linear deterministic greedy, a block of nodes at a time, with the loads before the block.

    A few nodes have the part of their range of numbers first: nodes with close numbers then come together. The load of
    a part is its number of nodes plus its entries, which together count as much as all nodes.
    """
    nodes = len(indptr) - 1
    per_entry = nodes / max(len(indices), 1)
    limit = SLACK * 2 * nodes / parts
    load_before = np.arange(nodes) + per_entry * np.asarray(indptr[:-1])
    ranges = np.minimum(load_before * parts / (2 * nodes), parts - 1).astype(np.int32)
    owner = np.full(nodes, -1, np.int32)
    owner[::SEEDS] = ranges[::SEEDS]
    load = np.bincount(owner[::SEEDS], 1 + per_entry * np.diff(indptr)[::SEEDS], minlength=parts)
    block_nodes = max(1, nodes // (SEEDS * parts))  # few beside a part, whose load is not known within a block
    for _ in range(PASSES):
        for block in row_blocks(indptr, indices, nodes=block_nodes):
            count, before = block.last - block.first, owner[block.first : block.last]
            weight = 1 + per_entry * np.bincount(block.rows, minlength=count)
            load -= np.bincount(before[before >= 0], weight[before >= 0], minlength=parts)
            neighbours = owner[block.columns]
            known = neighbours >= 0
            counts = np.bincount(block.rows[known] * parts + neighbours[known], minlength=count * parts)
            room = np.maximum(1 - load / limit, 0)
            chosen = ((counts.reshape(count, parts) + FEW) * room).argmax(1).astype(np.int32)
            owner[block.first : block.last] = chosen
            load += np.bincount(chosen, weight, minlength=parts)
    return owner if cut_edges(indptr, indices, owner) <= cut_edges(indptr, indices, ranges) else ranges


def cut_edges(indptr: Array, indices: Array, owner: Array) -> int:
    """Number of edges between parts."""
    entries = 0
    for block in row_blocks(indptr, indices):
        entries += int((owner[block.first : block.last][block.rows] != owner[block.columns]).sum())
    return entries // 2


def order_by_parts(source: Path, target: Path, parts: int, method: str = "auto") -> Path:
    """Write a mapped folder again with its nodes ordered by part, and the offsets of the parts in ``graph.json``.

    Nodes take their names with them; without names, their numbers in `source` become names.

    Args:
        source: A mapped folder.
        target: Folder to write.
        parts: Number of parts.
        method: As in `assign_parts`.
    """
    about, arrays = map_folder(source, check=False)
    indptr, indices = arrays["indptr"], arrays["indices"]
    owner = assign_parts(indptr, indices, parts, method)
    order = np.argsort(owner, kind="stable").astype(np.int32)
    details = {key: value for key, value in about.items() if key not in ("form", "arrays", "parts", "cut_edges")}
    details["parts"] = [0, *np.cumsum(np.bincount(owner, minlength=parts)).tolist()]
    details["cut_edges"] = cut_edges(indptr, indices, owner)
    del owner
    release_pages(arrays)
    position = np.empty_like(order)
    position[order] = np.arange(len(order), dtype=np.int32)
    with new_folder(target) as folder:
        _write_csr(arrays, folder, order, "indptr", "indices", "weights", position)
        if "features_values" in arrays:
            _write_csr(arrays, folder, order, "features_indptr", "features_indices", "features_values")
            np.save(folder / "features_shape.npy", arrays["features_shape"])
        for name in ("features", "labels", "node_names", "strengths", *PER_NODE):
            if name in arrays:
                array = arrays[name]
                with array_file(folder / f"{name}.npy", array.dtype, array.shape[1:]) as file:
                    for first in range(0, len(order), BLOCK // 4):
                        array[order[first : first + BLOCK // 4]].tofile(file)
                        release_pages(arrays)
        if "node_names" not in arrays:
            np.save(folder / "node_names.npy", order)
        write_about(folder, **details)
    return target


def _write_csr(
    arrays: dict[str, Array],
    folder: Path,
    order: Array,
    pointers: str,
    indices: str,
    values: str,
    position: Array | None = None,
) -> None:
    """Write the rows of a CSR matrix in a new order; columns, numbered anew by `position`, stay sorted in each row."""
    starts_before = arrays[pointers]
    starts = np.concatenate([[0], np.cumsum(np.diff(starts_before)[order])])
    np.save(folder / f"{pointers}.npy", starts.astype(starts_before.dtype))
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(array_file(folder / f"{name}.npy", arrays[name].dtype))
            for name in (indices, values)
            if name in arrays
        }
        for block in row_blocks(starts, np.broadcast_to(np.int32(0), arrays[indices].shape)):
            nodes, block_starts = order[block.first : block.last], starts[block.first : block.last]
            offsets = np.arange(starts[block.first], starts[block.last]) - block_starts[block.rows]
            entries = starts_before[nodes][block.rows] + offsets
            columns = arrays[indices][entries]
            columns = columns if position is None else position[columns]
            by_row = np.argsort(block.rows << 32 | columns, kind="stable")
            columns[by_row].tofile(files[indices])
            if values in files:
                arrays[values][entries[by_row]].tofile(files[values])
            release_pages(arrays)
