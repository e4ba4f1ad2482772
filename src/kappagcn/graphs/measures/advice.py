"""The space to try first, by a rule of thumb from measures of the graph, with its reasons."""

import math
from dataclasses import dataclass

from kappagcn.errors import GraphError

CURVED = 0.02  # smaller |curvature| counts as flat
CLOSED = 0.65  # a larger radius/diameter means that all nodes have others almost a diameter away
SLOW = 1.8  # balls grow slowly if the mean distance is more than this many times that of a random graph


@dataclass(frozen=True)
class Advice:
    """A signature to try first, and the reasons.

    >>> print(Advice("H16", ("a tree",)))
    try H16 first: a tree
    """

    signature: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"try {self.signature} first: {'; '.join(self.reasons)}"


def advise(
    *,
    nodes: int,
    edges: int,
    most_neighbours: int,
    curvature: float,
    radius: int,
    diameter: int,
    mean_distance: float,
    dim: int = 16,
) -> Advice:
    """The space to try first for a connected graph.

    - E for complete graphs, such as a table of distances: steps say nothing about them.
    - H for trees and graphs of negative curvature.
    - If balls grow slowly, as in meshes: S for a graph that closes on itself (radius near the diameter), otherwise E.
    - If balls grow fast, as in most social and citation networks, but the curvature is positive (triangles, shared
      hubs): one factor of each sign.

    Args:
        nodes: Number of nodes.
        edges: Number of undirected edges.
        most_neighbours: Largest degree.
        curvature: Mean curvature by the parallelogram law.
        radius: Smallest eccentricity.
        diameter: Largest distance.
        mean_distance: Mean distance.
        dim: Dimension of the space.

    >>> str(advise(nodes=8, edges=8, most_neighbours=2, curvature=1 / 7, radius=4, diameter=4, mean_distance=16 / 7))
    'try S16 first: a cycle: it closes on itself'
    """
    if dim < 1:
        raise GraphError(f"expected a dimension of at least 1, found {dim}.")
    if nodes < 3:
        return Advice(f"E{dim}", ("too small to tell spaces apart",))
    if nodes > 3 and edges == nodes * (nodes - 1) // 2:
        return Advice(f"E{dim}", ("complete: in steps all nodes are alike, and only lengths of edges could tell",))
    if edges == nodes - 1 and most_neighbours > 2:
        return Advice(f"H{dim}", ("a tree: δ = 0, and balls grow exponentially",))
    if most_neighbours <= 2:
        closed = edges == nodes
        return Advice(f"{'S' if closed else 'E'}{dim}", ("a cycle: it closes on itself" if closed else "a line: flat",))
    if curvature < -CURVED:
        return Advice(f"H{dim}", (f"negative curvature ({curvature:+.2f}): geodesics spread as in a tree",))
    growth = mean_distance * math.log(2 * edges / nodes) / math.log(nodes)
    slow, closed = growth > SLOW, radius / diameter >= CLOSED
    pace = f"mean distance {growth:.1f} times that of a random graph: balls grow {'slowly' if slow else 'fast'}"
    if slow:
        shape = "it closes on itself" if closed else "open, with a middle and a rim"
        return Advice(f"{'S' if closed else 'E'}{dim}", (pace, f"radius/diameter {radius / diameter:.2f}: {shape}"))
    if curvature <= CURVED:
        return Advice(f"H{dim}", (pace, f"and neighbourhoods are flat ({curvature:+.2f}), like a tree with few cycles"))
    return Advice(
        f"H{dim - dim // 2}xS{dim // 2}" if dim > 1 else f"U{dim}",
        (pace, f"but curvature is positive ({curvature:+.2f}): neighbourhoods close in triangles and shared hubs"),
    )
