"""Algorithm 1 of the paper, corrected: a graph's curvature from triples (b, c, a) that are drawn for every node m.

The library gives the exact mean over all triples (`kappagcn.graphs.parallelogram_curvature`); this is what it is
compared with.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.graphs import adjacency, components, path_blocks

Array = NDArray[Any]


def sampled_curvature(data: Data, samples: int, seed: int = 0) -> tuple[float, float, Array]:
    """Mean curvature, its standard error, and ψ(m), (N,), NaN for nodes with fewer than two neighbours.

    Triples are drawn for one block of nodes a at a time.
    """
    rng = np.random.default_rng(seed)
    graph = adjacency(data, weighted=False)
    n, edges = data.num_nodes, graph.indices
    degree, first = np.diff(graph.indptr), graph.indptr[:-1]
    lookup = sp.csr_matrix(graph)
    total, squares = np.zeros(n), np.zeros(n)
    for (_, steps), (m, a) in anchored(data, degree >= 2, samples, rng):
        b = (rng.random(len(m)) * degree[m]).astype(np.int64)
        c = (rng.random(len(m)) * (degree[m] - 1)).astype(np.int64)
        c += c >= b
        b, c = edges[first[m] + b], edges[first[m] + c]
        joined = np.asarray(lookup[b, c]).ravel() > 0
        am, ab, ac = (steps[x, a].astype(np.float64) for x in (m, b, c))
        psi = am / 2 + (np.where(joined, 1, 4) / 2 - ab**2 - ac**2) / (4 * am)
        total += np.bincount(m, psi, n)
        squares += np.bincount(m, psi**2, n)
    drawn = degree >= 2
    per_node = np.where(drawn, total / samples, np.nan)
    variance = np.maximum(squares / samples - np.where(drawn, per_node, 0) ** 2, 0)[drawn] / max(samples - 1, 1)
    error = float(np.sqrt(variance.sum()) / max(drawn.sum(), 1))
    return float(np.nanmean(per_node)), error, per_node


def anchored(
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
