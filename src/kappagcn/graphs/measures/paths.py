"""Lengths of shortest paths: all pairs, or from some sources, in blocks that stay small.

Unweighted graphs are searched breadth first from many sources at once: each node keeps one bit per source, and one step
of all searches is a bitwise or over its neighbours' bits. Weighted graphs go through SciPy's Dijkstra. Lengths are
integers of the smallest type that holds them, −1 where there is no path; fractional weights give float64 and infinity.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse import csgraph
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import adjacency
from kappagcn.io_atomic import replacing
from kappagcn.progress import bar

__all__ = ["path_blocks", "second_sweep", "shortest_paths"]

Array = NDArray[Any]
WORD = 64  # sources that share a machine word
BLOCK_BITS = 2**26  # bits gathered along all edges in one step: blocks that stay in cache
MOST_WORDS = 32
SPARSE_SHARE = 8  # a step touching less than this part of the edges visits only those
LARGEST_MATRIX = 16 * 2**30  # bytes of an all-pairs matrix


def shortest_paths(
    data: Data,
    sources: Tensor | Array | list[int] | None = None,
    *,
    weighted: bool | None = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: bool = False,
) -> Tensor:
    """Lengths of the shortest paths from S sources to all nodes, (S, N).

    Args:
        data: A graph.
        sources: Nodes to start from, (S,); None for all of them.
        weighted: Whether edge weights are lengths; None: where the graph has weights.
        workers: Threads; None for one per core.
        cache: Folder in which all-pairs lengths are kept and looked for; None keeps nothing.
        progress: Show a bar on a terminal.

    Returns:
        int8, int16 or int32 with −1 where there is no path; float64 and infinity when weights are fractions.

    >>> from kappagcn.graphs import cycle
    >>> shortest_paths(cycle(5))[0].tolist()
    [0, 1, 2, 2, 1]
    """
    matrix = _lengths(data, weighted)
    kept = None
    if sources is None:
        _affordable(data.num_nodes, 1 if matrix.dtype == bool else 8)
        if cache is not None:
            kept = Path(cache) / "distances" / f"{_fingerprint(matrix)}.npy"
            found = _recall(kept, data.num_nodes)
            if found is not None:
                return found
    starts = _sources(data, sources)
    result = np.empty((len(starts), data.num_nodes), np.int8)
    with bar("shortest paths", len(starts), shown=progress) as advance:
        at = 0
        for nodes, block in _blocks(matrix, starts, workers):
            if block.dtype != result.dtype:
                result = _widened(result, at, block.dtype)
            result[at : at + len(nodes)] = block.T if block.dtype == result.dtype else block.T.astype(result.dtype)
            at += len(nodes)
            advance(len(nodes))
    if kept is not None:
        try:
            with replacing(kept) as file:
                np.save(file, result)
        except OSError as error:
            warnings.warn(f"distances could not be kept in {kept.parent} ({error.strerror})", stacklevel=2)
    return torch.from_numpy(result)


def _widened(result: Array, done: int, dtype: Any) -> Array:
    if result.dtype.kind == "i" and dtype.kind == "f":
        wide = np.full(result.shape, np.inf)
        wide[:done] = np.where(result[:done] < 0, np.inf, result[:done])
        return wide
    return result.astype(dtype) if np.promote_types(result.dtype, dtype) != result.dtype else result


def path_blocks(
    data: Data, sources: Tensor | Array | list[int] | None = None, *, workers: int | None = None
) -> Iterator[tuple[Array, Array]]:
    """Blocks of sources and the number of steps from each node to them, ((S,), (N, S)): never all at once.

    Weights are not looked at; −1 where there is no path.

    >>> from kappagcn.graphs import path
    >>> [(sources.tolist(), lengths.tolist()) for sources, lengths in path_blocks(path(3), [0, 2])]
    [([0, 2], [[0, 2], [1, 1], [2, 0]])]
    """
    yield from _blocks(_lengths(data, False), _sources(data, sources), workers)


def second_sweep(data: Data, reach: Array) -> int:
    """A lower bound on the diameter: the longest path from the nodes that were farthest from earlier sources.

    Args:
        data: A connected graph.
        reach: For each node its largest distance to those sources, (N,).
    """
    farthest = np.argsort(-reach.astype(np.int64), kind="stable")[:WORD]
    return max((int(steps.max(initial=0)) for _, steps in path_blocks(data, farthest)), default=0)


def _blocks(matrix: sp.csr_array, starts: Array, workers: int | None) -> Iterator[tuple[Array, Array]]:
    hops = matrix.dtype == bool
    words = max(1, min(MOST_WORDS, BLOCK_BITS // max(1, WORD * matrix.nnz)))
    size = WORD * words
    pieces = [starts[i : i + size] for i in range(0, len(starts), size)]
    search = _breadth_first if hops else _dijkstra
    workers = min(workers or os.cpu_count() or 1, len(pieces))
    if workers <= 1 or not hops:  # SciPy's Dijkstra keeps the interpreter to itself
        for piece in pieces:
            yield piece, search(matrix, piece)
        return
    with ThreadPoolExecutor(workers) as pool:  # a few blocks ahead, never all of them in memory
        pending = [pool.submit(search, matrix, piece) for piece in pieces[: 2 * workers]]
        for index, piece in enumerate(pieces):
            block = pending.pop(0).result()
            if index + 2 * workers < len(pieces):
                pending.append(pool.submit(search, matrix, pieces[index + 2 * workers]))
            yield piece, block


def _breadth_first(matrix: sp.csr_array, sources: Array) -> Array:
    """Steps from every node to each source, (N, S): bit s of a node's words says that source s has seen it."""
    n, count = matrix.shape[0], len(sources)
    columns = np.arange(count)
    front = np.zeros((n, 8 * -(-count // WORD)), np.uint8)
    np.bitwise_or.at(front, (sources, columns // 8), (128 >> columns % 8).astype(np.uint8))
    front = front.view(np.uint64)
    seen = front.copy()
    steps = np.zeros((n, count), np.int8)
    step = behind = 0  # unseen entries of `steps` lag `behind` the step: sparse steps do not touch them
    active = np.unique(sources)
    linked = np.flatnonzero(np.diff(matrix.indptr))
    while len(active):
        step += 1
        if step > np.iinfo(steps.dtype).max:
            steps = steps.astype(np.int16 if steps.dtype == np.int8 else np.int32)
        crowded = int((matrix.indptr[active + 1] - matrix.indptr[active]).sum()) * SPARSE_SHARE > matrix.nnz
        if crowded:
            fresh = np.zeros_like(seen)
            fresh[linked] = np.bitwise_or.reduceat(front[matrix.indices], matrix.indptr[linked], axis=0)
            fresh &= ~seen
            behind += 1
            steps += _bits(~seen, count) if behind == 1 else steps.dtype.type(behind) * _bits(~seen, count)
            behind = 0
            seen |= fresh
            active = np.flatnonzero(fresh.any(axis=1))
            front = fresh
        else:
            reached = np.zeros(n, bool)
            reached[_neighbours(matrix, active)[0]] = True
            reach = np.flatnonzero(reached)
            around, offsets = _neighbours(matrix, reach)
            fresh = np.bitwise_or.reduceat(front[around], offsets, axis=0) & ~seen[reach]
            front[active] = 0
            touched = fresh.any(axis=1)
            active, fresh = reach[touched], fresh[touched]
            behind += 1
            seen[active] |= fresh
            front[active] = fresh
            rows = steps[active]
            rows[_bits(fresh, count).view(bool)] = step
            steps[active] = rows
    steps[_bits(~seen, count).view(bool)] = -1
    return _narrowed(steps)


def _bits(words: Array, count: int) -> Array:
    return np.unpackbits(words.view(np.uint8), axis=1, count=count).view(np.int8)


def _neighbours(matrix: sp.csr_array, nodes: Array) -> tuple[Array, Array]:
    """The neighbours of these nodes one list after another, and where each list starts; every node has some."""
    starts = matrix.indptr[nodes]
    lengths = matrix.indptr[nodes + 1] - starts
    offsets = np.cumsum(lengths) - lengths
    return matrix.indices[np.repeat(starts - offsets, lengths) + np.arange(lengths.sum())], offsets


def _dijkstra(matrix: sp.csr_array, sources: Array) -> Array:
    found: Array = csgraph.dijkstra(matrix, directed=True, indices=sources).T
    whole = (matrix.data == np.round(matrix.data)).all()
    return _narrowed(np.where(np.isinf(found), -1, found)) if whole else found


def _narrowed(whole: Array) -> Array:
    """In the smallest integer type that holds the longest."""
    most = whole.max(initial=0)
    dtype = next((d for d in (np.int8, np.int16, np.int32) if most <= np.iinfo(d).max), np.int64)
    return whole.astype(dtype, copy=False)


def _lengths(data: Data, weighted: bool | None) -> sp.csr_array:
    """The graph as a matrix of lengths, or of True where all are 1."""
    matrix = adjacency(data)
    has = data.get("edge_weight") is not None
    if weighted and not has:
        raise GraphError("expected edge weights to take as lengths, found none. Leave out weighted=True.")
    return matrix if has and weighted is not False else matrix.astype(bool)


def _sources(data: Data, sources: Tensor | Array | list[int] | None) -> Array:
    if sources is None:
        return np.arange(data.num_nodes)
    nodes = np.asarray(sources)
    if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
        raise GraphError(f"expected sources as a list of integers, found {nodes.dtype} of shape {nodes.shape}.")
    if nodes.size and not 0 <= int(nodes.min()) <= int(nodes.max()) < data.num_nodes:
        raise GraphError(f"expected sources from 0 to {data.num_nodes - 1}, found {nodes.min()} to {nodes.max()}.")
    return nodes.astype(np.int64)


def _affordable(nodes: int, itemsize: int) -> None:
    if nodes**2 * itemsize > LARGEST_MATRIX:
        raise GraphError(
            f"expected at most {int((LARGEST_MATRIX / itemsize) ** 0.5):,} nodes for all pairs, found {nodes:,}: the "
            f"matrix would take {nodes**2 * itemsize / 2**30:,.0f} GiB. Name some sources, or go through path_blocks."
        )


def _fingerprint(matrix: sp.csr_array) -> str:
    digest = hashlib.sha256(f"{matrix.shape} {matrix.dtype}".encode())
    for part in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i4"), np.ascontiguousarray(matrix.data)):
        digest.update(part.tobytes())
    return digest.hexdigest()


def _recall(path: Path, nodes: int) -> Tensor | None:
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
        shape = found.shape
    except Exception:  # whatever is wrong with it, it is computed again
        return None
    return torch.from_numpy(found) if shape == (nodes, nodes) and found.dtype.kind in "if" else None
