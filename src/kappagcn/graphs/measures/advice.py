"""Which space to try first, from numbers known before training. A rule of thumb that gives its reasons, not a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kappagcn.errors import GraphError

__all__ = ["Advice", "advise"]

CURVED = 0.02  # |curvature| below this counts as flat
CLOSED = 0.65  # radius/diameter above this: every node has nodes as far away as any has
SLOW = 1.8  # mean distance over that of a random graph of this size and degree: above, balls grow slowly


@dataclass(frozen=True)
class Advice:
    """A signature to try first, and why.

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

    Trees and graphs of negative curvature speak for H. Where balls grow slowly, as in meshes, a graph that closes on
    itself (the radius near the diameter) speaks for S, an open one for E. Where they grow fast, as in most networks of
    people and papers, but neighbourhoods close in triangles and shared hubs, one factor of each sign takes both sides.

    >>> str(advise(nodes=8, edges=8, most_neighbours=2, curvature=1 / 7, radius=4, diameter=4, mean_distance=16 / 7))
    'try S16 first: a cycle: it closes on itself'
    """
    if dim < 1:
        raise GraphError(f"expected a dimension of at least 1, found {dim}.")
    if nodes < 3:
        return Advice(f"E{dim}", ("too small to tell spaces apart",))
    if edges == nodes - 1 and most_neighbours > 2:
        return Advice(f"H{dim}", ("a tree: δ = 0, and balls grow exponentially",))
    if most_neighbours <= 2:
        closed = edges == nodes
        return Advice(f"{'S' if closed else 'E'}{dim}", ("a cycle: it closes on itself" if closed else "a line: flat",))
    growth = mean_distance * math.log(2 * edges / nodes) / math.log(nodes) if nodes > 1 else math.inf
    pace = (
        f"mean distance {growth:.1f} times that of a random graph: balls grow {'slowly' if growth > SLOW else 'fast'}"
    )
    if curvature < -CURVED:
        return Advice(f"H{dim}", (f"negative curvature ({curvature:+.2f}): geodesics spread as in a tree",))
    if growth > SLOW:
        share = f"radius/diameter {radius / diameter:.2f}"
        if radius / diameter >= CLOSED:
            return Advice(f"S{dim}", (pace, f"{share}: it closes on itself"))
        return Advice(f"E{dim}", (pace, f"{share}: open, with a middle and a rim"))
    if curvature <= CURVED:
        return Advice(f"H{dim}", (pace, f"and neighbourhoods are flat ({curvature:+.2f}), like a tree with few cycles"))
    return Advice(
        f"H{dim - dim // 2}xS{dim // 2}" if dim > 1 else f"U{dim}",
        (pace, f"but curvature is positive ({curvature:+.2f}): neighbourhoods close in triangles and shared hubs"),
    )
