"""A part for every node of a graph on disk: METIS where it fits, a streaming rule, or ranges of numbers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import numpy as np
import torch

from kappagcn.distributed import partition
from kappagcn.errors import GraphError
from kappagcn.graphs.io.external_sort import SortedEdges
from kappagcn.graphs.io.undirected import Array
from kappagcn.kernels.dispatch import compiled
from kappagcn.progress import bar

__all__ = ["METHODS", "assign_parts", "row_blocks"]

METHODS = ("auto", "metis", "ldg", "range")
METIS_ENTRIES = 10**7  # entries above which METIS takes too much memory and time
BLOCK = 2**24  # entries of a block of rows
SLACK = 1.05  # largest load of a part, over the mean
PASSES = 6  # most passes of the streaming rule
GAIN = 0.005  # share of all entries below which a further pass is not worth its time
SEEDS = 16  # every 16th node has the part of its range of numbers before the streaming rule starts


def row_blocks(graph: SortedEdges, size: int = BLOCK) -> Iterator[tuple[int, Array, Array, Array | None]]:
    """Blocks of whole rows of about `size` entries: first node, starts (B + 1,), neighbours, weights."""
    ends = np.cumsum(graph.degrees(), dtype=np.int64)
    indices, weights = graph.indices(), graph.weights()
    first, done = 0, 0
    while first < graph.nodes:
        last = int(np.searchsorted(ends, done + size, "right"))
        last = min(max(last, first + 1), graph.nodes)
        stop = int(ends[last - 1])
        starts = np.concatenate([[done], ends[first:last]]) - done
        yield first, starts, indices.read(done, stop), None if weights is None else weights.read(done, stop)
        first, done = last, stop


def assign_parts(graph: SortedEdges, parts: int, method: str = "auto") -> tuple[Array, str, int]:
    """Part of each node, int16 (N,), the method used, and the number of edges between parts.

    Args:
        graph: The graph.
        parts: Number of parts.
        method: ``"metis"`` has the fewest edges between parts, and needs the graph in memory and pymetis;
            ``"ldg"`` (linear deterministic greedy) takes the nodes in their order, several times, each to the part with
            most of its neighbours, where nearly full parts count less (needs numba); ``"range"`` divides the numbers
            of the nodes into ranges of equal load; ``"auto"`` is METIS up to 5 million edges, and above that the better
            of the others.
    """
    if method not in METHODS:
        raise GraphError(f"method: expected {', '.join(METHODS)}, found {method!r}.")
    if parts >= 2**15:
        raise GraphError(f"parts: expected fewer than {2**15}, found {parts}.")
    if parts == 1:
        return np.zeros(graph.nodes, np.int16), method, 0
    if method == "auto":
        if importlib.util.find_spec("pymetis") is not None and graph.entries <= METIS_ENTRIES:
            tried = ["metis"]
        else:
            tried = ["range"] if compiled("streaming") is None else ["ldg", "range"]
    else:
        tried = [method]
    choices = []
    for name in tried:
        owner = {"metis": _metis, "ldg": _greedy, "range": _ranges}[name](graph, parts)
        _fill_empty(owner, parts)
        choices.append((owner, name, _cut(graph, owner)))
    return min(choices, key=lambda choice: choice[2])


def _metis(graph: SortedEdges, parts: int) -> Array:
    sources = np.repeat(np.arange(graph.nodes), graph.degrees())
    edges = torch.from_numpy(np.stack([sources, graph.indices().all()], dtype=np.int64))
    return partition(edges, graph.nodes, parts, method="metis").numpy().astype(np.int16)


def _ranges(graph: SortedEdges, parts: int) -> Array:
    load = np.cumsum(0.5 + _edge_load(graph) * graph.degrees())
    owner: Array = np.minimum(load * parts / max(load[-1], 1.0), parts - 1).astype(np.int16)
    return owner


def _edge_load(graph: SortedEdges) -> float:
    """Load of an entry, so that all entries together have half of the total load and all nodes the other half."""
    return 0.5 * graph.nodes / max(graph.entries, 1)


def _greedy(graph: SortedEdges, parts: int) -> Array:
    """The streaming rule, after some nodes got the part of their range: nodes with close numbers then come together."""
    loops = compiled("streaming")
    if loops is None:
        raise GraphError("method: expected numba for ldg (pip install 'kappagcn[fast]'), found it missing.")
    ranges, per_edge = _ranges(graph, parts), _edge_load(graph)
    seeds = slice(None, None, min(SEEDS, max(1, graph.nodes // parts)))
    owner = np.full(graph.nodes, -1, np.int16)
    owner[seeds] = ranges[seeds]
    load = np.bincount(owner[seeds], 0.5 + per_edge * graph.degrees()[seeds], minlength=parts)
    limit, within = SLACK * graph.nodes / parts + 1, 0
    with bar("streaming partition", PASSES * graph.entries) as advance:
        for _ in range(PASSES):
            before, within = within, 0
            for first, starts, neighbours, _ in row_blocks(graph):
                within += loops.assign_rows(first, starts, neighbours, owner, load, per_edge, limit)
                advance(len(neighbours))
            if within - before < GAIN * graph.entries:
                break
    return owner


def _fill_empty(owner: Array, parts: int) -> None:
    """Give every part without a node one of the largest part."""
    sizes = np.bincount(owner, minlength=parts)
    for part in np.flatnonzero(sizes == 0):
        largest = int(sizes.argmax())
        owner[np.flatnonzero(owner == largest)[-1]] = part
        sizes[largest], sizes[part] = sizes[largest] - 1, 1


def _cut(graph: SortedEdges, owner: Array) -> int:
    entries = 0
    for first, starts, neighbours, _ in row_blocks(graph):
        own = np.repeat(owner[first : first + len(starts) - 1], np.diff(starts))
        entries += int((own != owner[neighbours]).sum())
    return entries // 2
