"""The symmetric adjacency of an edge stream of any size, sorted on disk with bounded memory.

Edges become keys, source · 2³² + target, in both directions. Keys that fit into the buffer are sorted and written as a
run; then the runs are merged range by range: the slices of all runs that lie in a range of keys are read, sorted
together, and freed of repeated edges and self-loops. Memory is the buffer and 8 bytes per node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kappagcn.errors import GraphError
from kappagcn.graphs.io.array_file import ArrayFile, ArrayWriter
from kappagcn.graphs.io.edge_stream import EdgeStream
from kappagcn.graphs.io.undirected import Array, counted

__all__ = ["SortedEdges", "sort_edges"]

NODE_LIMIT = 2**31
SHIFT = np.uint64(32)
TARGET = np.uint64(2**32 - 1)
SAMPLES = 4096  # sampled keys of a run, by which the ranges are chosen
MAX_NODES_PER_EDGE = 100


@dataclass(frozen=True)
class SortedEdges:
    """The neighbours of all nodes, in the order of nodes, on disk.

    Attributes:
        folder: Folder with ``indices.npy``, ``degrees.npy`` and, with weights, ``weights.npy`` and ``strengths.npy``.
        nodes: Number of nodes N.
        entries: Number of entries, twice that of edges.
        report: One line on the graph and what was changed.
    """

    folder: Path
    nodes: int
    entries: int
    weighted: bool
    report: str

    def indices(self) -> ArrayFile:
        """Neighbours, int32, (entries,)."""
        return ArrayFile(self.folder / "indices.npy")

    def weights(self) -> ArrayFile | None:
        """Weights of the entries, float32; None without weights."""
        return ArrayFile(self.folder / "weights.npy") if self.weighted else None

    def degrees(self) -> Array:
        """Number of neighbours of each node, int32, (N,)."""
        return ArrayFile(self.folder / "degrees.npy").all()

    def strengths(self) -> Array:
        """Sum of the weights of each node's edges, float64, (N,): its number of neighbours without weights."""
        return ArrayFile(self.folder / ("strengths.npy" if self.weighted else "degrees.npy")).all()


def sort_edges(
    stream: EdgeStream,
    folder: Path,
    *,
    num_nodes: int | None = None,
    memory: int = 2**30,
    advance: Callable[[int], None] = lambda edges: None,
) -> SortedEdges:
    """Write the symmetric adjacency of a stream, without self-loops and repeated edges, whose weights are averaged.

    Args:
        stream: The edges.
        folder: An existing folder for the result; runs are written there too, and removed.
        num_nodes: Number of nodes; None for one more than the largest number.
        memory: Bytes for the buffer.
        advance: Called with the number of edges done, in two passes.
    """
    entry = 64 if stream.weighted else 32  # bytes while it is sorted: key, weight, copies
    size = max(memory // entry, 1024)
    runs = _Runs(folder, size, stream.weighted)
    largest, edges, loops = -1, 0, 0
    for sources, targets, weights in stream.blocks():
        largest = max(largest, _checked(sources, targets, num_nodes, stream.name))
        if weights is not None and not (np.isfinite(weights).all() and (weights > 0).all()):
            raise GraphError(f"{stream.name}: expected weights that are positive and finite, found others.")
        kept = sources != targets
        edges, loops = edges + len(sources), loops + int(len(sources) - kept.sum())
        sources, targets = sources[kept].astype(np.uint64), targets[kept].astype(np.uint64)
        weights = None if weights is None else weights[kept]
        runs.add(sources << SHIFT | targets, weights)
        runs.add(targets << SHIFT | sources, weights)
        advance(len(kept))
    runs.flush()
    nodes = largest + 1 if num_nodes is None else num_nodes
    if nodes > max(10**6, MAX_NODES_PER_EDGE * edges):
        raise GraphError(
            f"{stream.name}: expected nodes numbered without gaps, found {nodes:,} for {counted(edges, 'edge')}."
        )
    entries, isolated = runs.merge(nodes, advance)
    kept_edges = edges - loops
    remarks = {
        f"{counted(nodes, 'node')}, {counted(entries // 2, 'edge')}": True,
        f"{counted(kept_edges - entries // 2, 'repeated or reversed edge')} merged": kept_edges > entries // 2,
        f"{counted(loops, 'self-loop')} removed": loops,
        "weighted": stream.weighted,
        counted(isolated, "isolated node"): isolated,
    }
    report = "; ".join(remark for remark, applies in remarks.items() if applies)
    return SortedEdges(folder, nodes, entries, stream.weighted, report)


def _checked(sources: Array, targets: Array, num_nodes: int | None, name: str) -> int:
    """The largest node of a block."""
    if not len(sources):
        return -1
    low, high = min(int(sources.min()), int(targets.min())), max(int(sources.max()), int(targets.max()))
    limit = NODE_LIMIT if num_nodes is None else num_nodes
    if low < 0 or high >= limit:
        raise GraphError(f"{name}: expected nodes from 0 to {limit - 1}, found {low} to {high}.")
    return high


class _Runs:
    """Sorted runs of keys, and perhaps weights, on disk."""

    def __init__(self, folder: Path, size: int, weighted: bool) -> None:
        self.folder, self.weighted, self.count, self.filled = folder, weighted, 0, 0
        self.keys = np.empty(size, np.uint64)
        self.values = np.empty(size if weighted else 0, np.float64)
        self.samples: list[Array] = []

    def add(self, keys: Array, weights: Array | None) -> None:
        """Append keys to the buffer, which becomes a run whenever it is full."""
        done = 0
        while done < len(keys):
            some = min(len(keys) - done, len(self.keys) - self.filled)
            place, part = slice(self.filled, self.filled + some), slice(done, done + some)
            self.keys[place] = keys[part]
            if weights is not None:
                self.values[place] = weights[part]
            done, self.filled = done + some, self.filled + some
            if self.filled == len(self.keys):
                self.flush()

    def _path(self, what: str, number: int) -> Path:
        return self.folder / f"run-{number}-{what}.npy"

    def flush(self) -> None:
        """Sort the buffer and write it as a run."""
        if not self.filled:
            return
        keys = self.keys[: self.filled]
        if self.weighted:
            order = keys.argsort(kind="stable")
            np.save(self._path("values", self.count), self.values[: self.filled][order])
            keys[:] = keys[order]
        else:
            keys.sort()
        np.save(self._path("keys", self.count), keys)
        self.samples.append(keys[:: max(1, len(keys) // SAMPLES)].copy())
        self.count, self.filled = self.count + 1, 0

    def merge(self, nodes: int, advance: Callable[[int], None]) -> tuple[int, int]:
        """Write the sorted entries of all runs; returns the numbers of entries and of nodes without any."""
        size = len(self.keys)
        self.keys, self.values = self.keys[:0], self.values[:0]
        files = [ArrayFile(self._path("keys", run)) for run in range(self.count)]
        cuts = self._cuts(sum(map(len, files)), size)
        positions = [
            np.concatenate([[0], np.searchsorted(np.load(file.path, mmap_mode="r"), cuts), [len(file)]])
            for file in files
        ]
        degrees, strengths = np.zeros(nodes, np.int32), np.zeros(nodes if self.weighted else 0)
        indices = ArrayWriter(self.folder / "indices.npy", np.int32)
        written = ArrayWriter(self.folder / "weights.npy", np.float32) if self.weighted else None
        for i in range(len(cuts) + 1):
            spans = [(int(borders[i]), int(borders[i + 1])) for borders in positions]
            keys, weights = self._merged(files, spans)
            rows = (keys >> SHIFT).astype(np.int64)
            if len(rows):
                low = int(rows[0])
                degrees[low : int(rows[-1]) + 1] += np.bincount(rows - low).astype(np.int32)
            indices.write((keys & TARGET).astype(np.int32))
            if written is not None:
                single = weights.astype(np.float32)
                if len(rows):
                    strengths[low : int(rows[-1]) + 1] += np.bincount(rows - low, single)
                written.write(single)
            advance(sum(stop - start for start, stop in spans) // 2)
        for writer in (indices, written):
            if writer is not None:
                writer.close()
        np.save(self.folder / "degrees.npy", degrees)
        if self.weighted:
            np.save(self.folder / "strengths.npy", strengths)
        for run in self.folder.glob("run-*.npy"):
            run.unlink()
        return indices.count, int((degrees == 0).sum())

    def _cuts(self, total: int, size: int) -> Array:
        """Keys that separate the ranges, so that the slices of all runs in one range nearly fill the buffer."""
        ranges = -(-total // max(size, 1))
        if ranges <= 1:
            return np.empty(0, np.uint64)
        samples = np.sort(np.concatenate(self.samples))
        cuts: Array = samples[np.arange(1, ranges) * len(samples) // ranges]
        return np.unique(cuts)

    def _merged(self, files: list[ArrayFile], spans: list[tuple[int, int]]) -> tuple[Array, Array]:
        """Distinct keys of a slice of each run, sorted, and the means of their weights."""
        keys = np.concatenate([f.read(*span) for f, span in zip(files, spans, strict=True)] or [np.empty(0, np.uint64)])
        if not self.weighted:
            keys.sort()
            first = np.ones(len(keys), bool)
            np.not_equal(keys[1:], keys[:-1], out=first[1:])
            return keys[first], np.empty(0)
        values = [ArrayFile(self._path("values", run)).read(*span) for run, span in enumerate(spans)]
        order = keys.argsort(kind="stable")
        keys, weights = keys[order], np.concatenate(values or [np.empty(0)])[order]
        first = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        if not len(starts):
            return keys, weights
        return keys[first], np.add.reduceat(weights, starts) / np.diff(np.append(starts, len(keys)))
