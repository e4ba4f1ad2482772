"""Gromov's δ: how far a graph's distances are from those of a tree.

The two largest of the sums d(x,y) + d(z,w), d(x,z) + d(y,w), d(x,w) + d(y,z) differ by 2δ(x,y,z,w). The graph's δ is
the maximum over all quadruples: 0 for trees, about n/4 for the cycle C_n. δ/diameter, at most 1/2, has no unit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import Array, adjacency
from kappagcn.graphs.measures.components import largest_component
from kappagcn.graphs.measures.paths import path_blocks, second_sweep, shortest_paths
from kappagcn.progress import bar

EXACT_NODES = 2000  # larger graphs have too many pairs
EXACT_PAIRS = 12_000  # all pairs of this many pairs take seconds
LANDMARKS = 256


@dataclass(frozen=True)
class Hyperbolicity:
    """Gromov's δ of the largest component.

    Attributes:
        delta: δ of the graph if `exact`, otherwise a lower bound.
        mean: Mean δ over the sampled quadruples; NaN if `exact`.
        diameter: Diameter of the component if `exact`, otherwise a lower bound.
        exact: Whether all quadruples that can attain the maximum were examined.

    >>> Hyperbolicity(delta=1.0, mean=float("nan"), diameter=4, exact=True).relative
    0.25
    """

    delta: float
    mean: float
    diameter: int
    exact: bool

    @property
    def relative(self) -> float:
        """δ/diameter, between 0 (a tree) and 1/2 (a cycle)."""
        return self.delta / self.diameter if self.diameter else 0.0

    def __str__(self) -> str:
        sign, how = ("=", "exact") if self.exact else ("≥", "sampled")
        return f"δ {sign} {self.delta:g}, δ/diameter = {self.relative:.3g} ({how})"


def hyperbolicity(
    data: Data, *, exact: bool | None = None, samples: int = 200_000, seed: int = 0, progress: bool = False
) -> Hyperbolicity:
    """Gromov's δ of the largest component, with distances in steps.

    Args:
        data: A graph.
        exact: Whether to examine all quadruples that can attain the maximum; None to do so if they are few.
        samples: Number of quadruples to draw among 256 nodes otherwise.
        seed: Seed of the draws.
        progress: Show a bar on a terminal.

    >>> from kappagcn.graphs import balanced_tree, cycle
    >>> str(hyperbolicity(cycle(8)))
    'δ = 2, δ/diameter = 0.5 (exact)'
    >>> hyperbolicity(balanced_tree(3, 2)).delta
    0.0
    """
    if samples < 1:
        raise GraphError(f"expected samples of at least 1, found {samples}.")
    component = largest_component(data)
    if component.num_edges == 2 * (component.num_nodes - 1):  # a tree
        farthest = int(shortest_paths(component, [0], weighted=False)[0].argmax())
        return Hyperbolicity(0.0, np.nan, int(shortest_paths(component, [farthest], weighted=False).max()), True)
    if exact or (exact is None and component.num_nodes <= EXACT_NODES):
        lengths = shortest_paths(component, weighted=False).numpy()
        pairs = _far_apart(component, lengths)
        if exact or len(pairs) <= EXACT_PAIRS:
            return Hyperbolicity(_largest(lengths, pairs, progress), np.nan, int(lengths.max(initial=0)), True)
    return _sampled(component, samples, np.random.default_rng(seed))


def _far_apart(component: Data, lengths: Array) -> Array:
    """Pairs whose distance no step to a neighbour increases, longest first; two of them attain δ."""
    graph = adjacency(component, weighted=False)
    farthest = np.zeros_like(lengths)
    linked = np.flatnonzero(np.diff(graph.indptr))
    if len(linked):
        farthest[linked] = np.maximum.reduceat(lengths[graph.indices], graph.indptr[linked], axis=0)
    ends = farthest <= lengths
    pairs = np.argwhere(np.triu(ends & ends.T, 1))
    return pairs[np.argsort(-lengths[pairs[:, 0], pairs[:, 1]].astype(np.int64), kind="stable")]


def _largest(lengths: Array, pairs: Array, progress: bool) -> float:
    """δ over pairs of pairs, the longest first, until the remaining pairs are too short (at most 2δ) to raise it."""
    lengths = lengths.astype(np.int16)
    between = lengths[pairs[:, 0], pairs[:, 1]]
    twice = 0
    with bar("δ-hyperbolicity", len(pairs), shown=progress) as advance:
        for i, (x, y) in enumerate(pairs):
            if between[i] <= twice:
                break
            z, w = pairs[: i + 1].T
            other = np.maximum(lengths[x, z] + lengths[y, w], lengths[x, w] + lengths[y, z])
            twice = max(twice, int((between[i] + between[: i + 1] - other).max()))
            advance(1)
    return twice / 2


def _sampled(component: Data, samples: int, rng: Any) -> Hyperbolicity:
    n = component.num_nodes
    landmarks = rng.choice(n, min(n, LANDMARKS), replace=False)
    blocks, reach = [], np.zeros(n, np.int64)
    for _, steps in path_blocks(component, landmarks):
        blocks.append(steps[landmarks].T.astype(np.int32))
        np.maximum(reach, steps.max(axis=1), out=reach)
    between = np.concatenate(blocks)
    x, y, z, w = rng.integers(len(landmarks), size=(4, samples))
    sums = np.stack([between[x, y] + between[z, w], between[x, z] + between[y, w], between[x, w] + between[y, z]])
    sums.sort(axis=0)
    delta = (sums[2] - sums[1]) / 2
    return Hyperbolicity(float(delta.max()), float(delta.mean()), second_sweep(component, reach), False)
