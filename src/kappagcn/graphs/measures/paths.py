"""Lengths of shortest paths, for all pairs or from some sources, computed in small blocks of sources.

Unweighted graphs use a breadth-first search from many sources at once: each node has one bit per source, and one step
of all searches is a bitwise OR over the neighbours' bits. Weighted graphs use SciPy's Dijkstra. Lengths are integers of
the smallest sufficient type, −1 where there is no path; with fractional weights they are float64, infinity for no path.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse import csgraph
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import Array, adjacency, checked_nodes
from kappagcn.progress import bar

__all__ = ["path_blocks", "second_sweep", "shortest_paths"]

WORD = 64  # sources per machine word
BLOCK_BITS = 2**26  # bits gathered along all edges in one step; a block then stays in the cache
MAX_WORDS = 32
SPARSE_SHARE = 8  # a step from nodes with less than 1/8 of the edges visits these edges only
LARGEST_MATRIX = 16 * 2**30  # bytes of an all-pairs matrix


def shortest_paths(
    data: Data,
    sources: Tensor | Array | list[int] | None = None,
    *,
    weighted: bool | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Tensor:
    """Lengths of the shortest paths from S sources to all nodes, (S, N).

    Args:
        data: A graph.
        sources: Source nodes, (S,); None for all nodes.
        weighted: Whether to use edge weights as lengths; None to use them if the graph has any.
        workers: Number of threads; None for one per core.
        progress: Show a bar on a terminal.

    Returns:
        int8, int16 or int32 with −1 where there is no path; float64 and infinity when weights are fractions.

    >>> from kappagcn.graphs import cycle
    >>> shortest_paths(cycle(5))[0].tolist()
    [0, 1, 2, 2, 1]
    """
    matrix = _lengths(data, weighted)
    if sources is None:
        _check_size(data.num_nodes, 1 if matrix.dtype == bool else 8)
    starts = _sources(data, sources)
    result = np.empty((len(starts), data.num_nodes), np.int8)
    with bar("shortest paths", len(starts), shown=progress) as advance:
        done = 0
        for nodes, block in _blocks(matrix, starts, workers):
            if block.dtype != result.dtype:
                result = _widened(result, done, block.dtype)
            result[done : done + len(nodes)] = block.T
            done += len(nodes)
            advance(len(nodes))
    return torch.from_numpy(result)


def _widened(result: Array, done: int, dtype: Any) -> Array:
    """The result in a type that also holds `dtype`; `done` of its rows are filled."""
    if result.dtype.kind == "i" and dtype.kind == "f":
        wide = np.full(result.shape, np.inf)
        wide[:done] = np.where(result[:done] < 0, np.inf, result[:done])
        return wide
    return result.astype(dtype) if np.promote_types(result.dtype, dtype) != result.dtype else result


def path_blocks(
    data: Data, sources: Tensor | Array | list[int] | None = None, *, workers: int | None = None
) -> Iterator[tuple[Array, Array]]:
    """Number of steps from each node to the sources, in blocks of S sources: ((S,), (N, S)) at a time.

    Weights are ignored; −1 where there is no path.

    Args:
        data: A graph.
        sources: Source nodes; None for all nodes.
        workers: Number of threads; None for one per core.

    >>> from kappagcn.graphs import path
    >>> [(sources.tolist(), lengths.tolist()) for sources, lengths in path_blocks(path(3), [0, 2])]
    [([0, 2], [[0, 2], [1, 1], [2, 0]])]
    """
    yield from _blocks(_lengths(data, False), _sources(data, sources), workers)


def second_sweep(data: Data, reach: Array) -> int:
    """A lower bound on the diameter: the longest path from the nodes that were farthest from earlier sources.

    Args:
        data: A connected graph.
        reach: Largest distance of each node to the earlier sources, (N,).
    """
    farthest = np.argsort(-reach.astype(np.int64), kind="stable")[:WORD]
    return max((int(steps.max(initial=0)) for _, steps in path_blocks(data, farthest)), default=0)


def _blocks(matrix: sp.csr_array, starts: Array, workers: int | None) -> Iterator[tuple[Array, Array]]:
    hops = matrix.dtype == bool
    words = max(1, min(MAX_WORDS, BLOCK_BITS // max(1, WORD * matrix.nnz)))
    size = WORD * words
    pieces = [starts[i : i + size] for i in range(0, len(starts), size)]
    search = _breadth_first if hops else _dijkstra
    several = hops and len(pieces) > 1  # SciPy's Dijkstra holds Python's lock
    workers = min(workers or os.cpu_count() or 1, len(pieces)) if several else 1
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(pieces), 2 * workers):  # a few blocks at a time, not all of them in memory
            group = pieces[start : start + 2 * workers]
            yield from zip(group, pool.map(search, itertools.repeat(matrix), group), strict=False)


def _breadth_first(matrix: sp.csr_array, sources: Array) -> Array:
    """Steps from every node to each source, (N, S); bit s of a node's words is set once source s has reached it."""
    n, count = matrix.shape[0], len(sources)
    columns = np.arange(count)
    front = np.zeros((n, 8 * -(-count // WORD)), np.uint8)
    np.bitwise_or.at(front, (sources, columns // 8), (128 >> columns % 8).astype(np.uint8))
    front = front.view(np.uint64)
    seen = front.copy()
    steps = np.zeros((n, count), np.int8)
    step = behind = 0  # entries of `steps` not yet reached are `behind` the step: sparse steps do not update them
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
            adjacent = np.zeros(n, bool)
            adjacent[_neighbours(matrix, active)[0]] = True
            reach = np.flatnonzero(adjacent)
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
    """The neighbour lists of these nodes, concatenated, and the start of each list; every node has neighbours."""
    starts = matrix.indptr[nodes]
    lengths = matrix.indptr[nodes + 1] - starts
    offsets = np.cumsum(lengths) - lengths
    return matrix.indices[np.repeat(starts - offsets, lengths) + np.arange(lengths.sum())], offsets


def _dijkstra(matrix: sp.csr_array, sources: Array) -> Array:
    lengths: Array = csgraph.dijkstra(matrix, directed=True, indices=sources).T
    whole = (matrix.data == np.round(matrix.data)).all()
    return _narrowed(np.where(np.isinf(lengths), -1, lengths)) if whole else lengths


def _narrowed(whole: Array) -> Array:
    """The lengths in the smallest integer type that holds their maximum."""
    most = whole.max(initial=0)
    dtype = next((d for d in (np.int8, np.int16, np.int32) if most <= np.iinfo(d).max), np.int64)
    return whole.astype(dtype, copy=False)


def _lengths(data: Data, weighted: bool | None) -> sp.csr_array:
    """The matrix of edge lengths, or a boolean matrix if all lengths are 1."""
    has = isinstance(data, Data) and data.get("edge_weight") is not None
    if weighted and not has:
        raise GraphError("expected edge weights to take as lengths, found none. Leave out weighted=True.")
    return adjacency(data, weighted=has and weighted is not False)


def _sources(data: Data, sources: Tensor | Array | list[int] | None) -> Array:
    if sources is None:
        return np.arange(data.num_nodes)
    return checked_nodes(sources, data.num_nodes, "sources").astype(np.int64)


def _check_size(nodes: int, itemsize: int) -> None:
    if nodes**2 * itemsize > LARGEST_MATRIX:
        raise GraphError(
            f"expected at most {int((LARGEST_MATRIX / itemsize) ** 0.5):,} nodes for all pairs, found {nodes:,}: the "
            f"matrix would take {nodes**2 * itemsize / 2**30:,.0f} GiB. Pass some sources, or use path_blocks."
        )
