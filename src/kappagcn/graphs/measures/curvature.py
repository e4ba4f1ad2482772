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
    *,
    anchors: int | None = None,
    known_clustering: Array | None = None,
    seed: int = 0,
    progress: bool = False,
) -> GraphCurvature:
    """The graph's curvature: exact, at the cost of a breadth-first search from every node, or from some nodes a.

    Args:
        data: A graph.
        anchors: Number of nodes a to draw from the largest component; the mean over b and c is exact. Nodes outside
            this component then have no value. None for all nodes a.
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
    if anchors is not None and anchors < 1:
        raise GraphError(f"expected anchors of at least 1, found {anchors}.")
    graph = adjacency(data, weighted=False).astype(np.float64)
    with bar("curvature", data.num_nodes if anchors is None else anchors, shown=progress) as advance:
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
