"""Curvature of a graph around each node: the deviation from the parallelogram law (Gu et al. 2019; Algorithm 1).

For a node m, two of its neighbours b ≠ c and a node a ≠ m of its component,

    ψ(m; b, c; a) = d(a,m)/2 + d(b,c)²/(8 d(a,m)) − (d(a,b)² + d(a,c)²)/(4 d(a,m)),

which is 0 in flat space when m is the midpoint of b and c, negative when geodesics spread (trees) and positive when
they close (cycles). The paper prints twice the last term, with which a line would not be flat. ψ(m) is the mean over
b, c and a, and the curvature of the graph the mean of ψ(m) over nodes with two neighbours or more; others have none.

The mean over b and c needs no sampling: with q(m) the mean of d(b,c)² and s(a,m) the mean of d(a,b)² over neighbours b,

    ψ(m; a) = d(a,m)/2 + q(m)/(8 d(a,m)) − s(a,m)/(2 d(a,m)),

and as neighbours of m are 1 or 2 apart, q(m) = 4 − 3 · clustering(m). So one sparse product per block of nodes a gives
the exact value for every m, without an all-pairs matrix. Distances are in steps: weights are ignored.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import Array, adjacency
from kappagcn.graphs.measures.components import components
from kappagcn.graphs.measures.paths import path_blocks
from kappagcn.progress import bar

MAX_PRODUCTS = 2**24  # products of entries computed at a time
MAX_NUMBERS = 2**24  # nodes times anchors computed at a time


@dataclass(frozen=True)
class GraphCurvature:
    """Curvature by the parallelogram law.

    Attributes:
        mean: Mean over the nodes that have a value; NaN if there are none.
        standard_error: Standard error of the mean due to sampling; 0 for an exact value.
        per_node: ψ(m), (N,), NaN for nodes with fewer than two neighbours.
        how: What was averaged, in words.

    >>> from kappagcn.graphs import star
    >>> curvature = parallelogram_curvature(star(4))
    >>> print(curvature)
    -0.5 (exact)
    >>> curvature.per_node[:2]
    tensor([-0.5000,     nan], dtype=torch.float64)
    """

    mean: float
    standard_error: float
    per_node: Tensor
    how: str

    def __str__(self) -> str:
        if self.mean != self.mean:
            return "none (no node has two neighbours)"
        error = f" ± {self.standard_error:.2g}" if self.standard_error else ""
        return f"{self.mean:+.4g}{error} ({self.how})"


def parallelogram_curvature(
    data: Data,
    samples: int | None = None,
    *,
    anchors: int | None = None,
    known_clustering: Array | None = None,
    seed: int = 0,
    progress: bool = False,
) -> GraphCurvature:
    """The graph's curvature: exact, by Algorithm 1, or, for very large graphs, from some nodes a.

    With neither `samples` nor `anchors` the value is exact; it costs as much as a breadth-first search from every node.

    Args:
        data: A graph.
        samples: Number of triples (b, c, a) to draw per node m: Algorithm 1.
        anchors: Number of nodes a to draw from the largest component; the mean over b and c is exact. Nodes outside
            this component then have no value.
        known_clustering: Result of `clustering(data)`, to save computing it again.
        seed: Seed of the draws.
        progress: Show a bar on a terminal.

    >>> from kappagcn.graphs import balanced_tree, cycle, path
    >>> parallelogram_curvature(path(9)).mean  # a line is flat
    0.0
    >>> round(parallelogram_curvature(cycle(8)).mean, 6)  # 1/(n − 1) for even n
    0.142857
    >>> parallelogram_curvature(balanced_tree(2, 3)).per_node[:2]  # −(degree − 2)/degree in a tree
    tensor([-0.3333, -0.5000], dtype=torch.float64)
    """
    if samples is not None and anchors is not None:
        raise GraphError("expected samples or anchors, found both. Give one of them, or neither for the exact value.")
    for name, value in (("samples", samples), ("anchors", anchors)):
        if value is not None and value < 1:
            raise GraphError(f"expected {name} of at least 1, found {value}.")
    graph = adjacency(data, weighted=False).astype(np.float64)
    with bar("curvature", data.num_nodes if anchors is None else anchors, shown=progress) as advance:
        if samples is not None:
            return _sampled(data, graph, samples, np.random.default_rng(seed), advance)
        closed = clustering(data) if known_clustering is None else known_clustering
        return _averaged(data, graph, closed, anchors, np.random.default_rng(seed), advance)


def _averaged(
    data: Data, graph: sp.csr_array, closed: Array, anchors: int | None, rng: Any, advance: Any
) -> GraphCurvature:
    """The mean over all b and c, and over all nodes a or `anchors` of them."""
    n, degree = data.num_nodes, np.diff(graph.indptr)
    curved = degree >= 2
    q = 4 - 3 * closed
    inverse = sp.diags_array(1 / np.maximum(degree, 1))
    total, terms = np.zeros(n), np.zeros(n)
    by_anchor, columns = [], max(1, MAX_NUMBERS // max(n, 1))
    main = np.flatnonzero(components(data) == 0)
    drawn = None if anchors is None or anchors >= len(main) else rng.choice(main, anchors, replace=False)
    for nodes, block in path_blocks(data, drawn):
        for start in range(0, len(nodes), columns):
            steps = block[:, start : start + columns]
            d = steps.astype(np.float64)
            s = inverse @ (graph @ (d * d))
            defined = curved[:, None] & (steps > 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                psi = np.where(defined, d / 2 + (q[:, None] / 4 - s) / (2 * d), 0.0)
            total += psi.sum(axis=1)
            terms += defined.sum(axis=1)
            by_anchor.append(psi.sum(axis=0) / np.maximum(defined.sum(axis=0), 1))
        advance(len(nodes))
    per_node = np.divide(total, terms, out=np.full(n, np.nan), where=terms > 0)
    if drawn is None:
        return _result(per_node, 0.0, "exact")
    means, count = np.concatenate(by_anchor), len(drawn)
    error = means.std(ddof=1) * np.sqrt((1 - count / len(main)) / count) if count > 1 else np.nan
    return _result(per_node, float(error), f"all pairs of neighbours, a among {count:,} of {len(main):,} nodes")


def _result(per_node: Array, error: float, how: str) -> GraphCurvature:
    known = per_node[~np.isnan(per_node)]
    return GraphCurvature(float(known.mean()) if len(known) else np.nan, error, torch.from_numpy(per_node), how)


def _sampled(data: Data, graph: sp.csr_array, samples: int, rng: Any, advance: Any) -> GraphCurvature:
    """Algorithm 1, with triples drawn for one block of nodes a at a time."""
    n, edges = data.num_nodes, graph.indices
    degree, first = np.diff(graph.indptr), graph.indptr[:-1]
    lookup = sp.csr_matrix(graph)
    total, squares = np.zeros(n), np.zeros(n)
    for (nodes, steps), (m, a) in _anchored(data, degree >= 2, samples, rng):
        b = (rng.random(len(m)) * degree[m]).astype(np.int64)
        c = (rng.random(len(m)) * (degree[m] - 1)).astype(np.int64)
        c += c >= b
        b, c = edges[first[m] + b], edges[first[m] + c]
        joined = np.asarray(lookup[b, c]).ravel() > 0
        am, ab, ac = (steps[x, a].astype(np.float64) for x in (m, b, c))
        psi = am / 2 + (np.where(joined, 1, 4) / 2 - ab**2 - ac**2) / (4 * am)
        total += np.bincount(m, psi, n)
        squares += np.bincount(m, psi**2, n)
        advance(len(nodes))
    drawn = degree >= 2
    per_node = np.where(drawn, total / samples, np.nan)
    variance = np.maximum(squares / samples - np.where(drawn, per_node, 0) ** 2, 0)[drawn] / max(samples - 1, 1)
    error = float(np.sqrt(variance.sum()) / max(drawn.sum(), 1))
    return _result(per_node, error, f"Algorithm 1, {samples:,} samples per node")


def _anchored(
    data: Data, curved: Array, samples: int, rng: Any
) -> Iterator[tuple[tuple[Array, Array], tuple[Array, Array]]]:
    """Blocks of nodes a with the samples in them: for each sample its node m, and the column of its a in the block.

    Each m draws a uniformly from the other nodes of its component. The number of its samples in the next block is
    binomial given those still to draw, so nothing is stored between blocks.
    """
    part = components(data)
    order = np.argsort(part, kind="stable")  # each component is a contiguous range
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    sizes = np.bincount(part, minlength=1)
    start = (np.cumsum(sizes) - sizes)[part]
    end = start + sizes[part]
    m = np.flatnonzero(curved)
    left = np.full(len(m), samples)
    done = 0
    for nodes, steps in path_blocks(data, order):
        low, high = np.maximum(start[m], done), np.minimum(end[m], done + len(nodes))
        has_m = (low <= position[m]) & (position[m] < high)
        candidates = np.maximum(high - low, 0) - has_m
        ahead = np.maximum(end[m] - low, 0) - (position[m] >= low)  # candidates for a from this block on
        share = np.divide(candidates, ahead, out=np.zeros(len(m)), where=(candidates > 0) & (ahead > 0))
        drawn = np.where(share > 0, rng.binomial(left, np.minimum(share, 1)), 0)
        left = left - drawn
        sample = np.repeat(np.arange(len(m)), drawn)
        a = low[sample] + (rng.random(len(sample)) * candidates[sample]).astype(np.int64)
        a += has_m[sample] & (a >= position[m][sample])  # skip m itself
        yield (nodes, steps), (m[sample], a - done)
        done += len(nodes)


def clustering(data: Data) -> Array:
    """Clustering coefficient of each node, (N,): the fraction of its pairs of neighbours that are joined.

    It is 0 for nodes with fewer than two neighbours. Triangles are counted on edges directed to the node of higher
    degree, so hubs cost little.

    >>> from kappagcn.graphs import cycle, star
    >>> clustering(cycle(3)).tolist(), clustering(star(3)).tolist()
    ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0])
    """
    n = data.num_nodes
    graph = adjacency(data, weighted=False)
    degree = np.diff(graph.indptr)
    rows, cols = np.repeat(np.arange(n), degree), graph.indices
    rank = np.empty(n, np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(n)
    up = rank[rows] < rank[cols]
    forward = sp.csr_array((np.ones(int(up.sum()), np.int32), (rows[up], cols[up])), shape=(n, n))
    triangles = np.zeros(n)
    for start, stop, closed in _closed(forward, forward):  # paths m → k → j closed by an edge m → j
        triangles[start:stop] += closed.sum(axis=1)
        triangles += closed.sum(axis=0)
    for start, stop, closed in _closed(forward.T.tocsr(), forward):  # the same triangles, counted at k
        triangles[start:stop] += closed.sum(axis=1)
    pairs = degree * (degree - 1) / 2
    share: Array = np.divide(triangles, pairs, out=np.zeros(n), where=pairs > 0)
    return share


def _closed(left: sp.csr_array, forward: sp.csr_array) -> Iterator[tuple[int, int, sp.csr_array]]:
    """The entries of left · forward at the edges of `forward`: ranges of rows, with few products each."""
    n = forward.shape[0]
    starts = np.repeat(np.arange(n), np.diff(left.indptr))
    work = np.bincount(starts, np.diff(forward.indptr)[left.indices], n)
    cuts = np.unique([0, *np.searchsorted(np.cumsum(work), np.arange(MAX_PRODUCTS, work.sum(), MAX_PRODUCTS)), n])
    for start, stop in itertools.pairwise(cuts):
        yield start, stop, (left[start:stop] @ forward).multiply(forward[start:stop])
