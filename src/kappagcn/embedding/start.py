"""Where to start from: curvatures and a scale at which the graph fits into the space."""

from __future__ import annotations

import math

import torch
from torch_geometric.data import Data

from kappagcn.embedding.distortion import GraphDistances, measure
from kappagcn.embedding.points import FreePoints, NetworkPoints
from kappagcn.geometry.signature import Factor, format_signature, parse_signature
from kappagcn.graphs import hyperbolicity

__all__ = ["fitting_scale", "fitting_space"]

FINEST, COARSEST = 2.0**-10, 2.0**20
PLANE_DELTA = math.log(2.0)  # Gromov's δ of the hyperbolic plane of curvature −1


def fitting_space(space: str, graph: Data) -> str:
    r"""The space with starting curvatures that a graph asks for, where its signature does not say any.

    m spheres whose product is as wide as the graph have κ = m(π/diameter)². Hyperbolic factors start at −1, or flatter,
    at −m(log 2/δ)², where the graph is less of a tree than the hyperbolic plane is (by Gromov's δ).

    >>> from kappagcn.graphs import cycle, balanced_tree
    >>> fitting_space("S2", cycle(16)), fitting_space("H2", cycle(16)), fitting_space("H2", balanced_tree(2, 4))
    ('S2(0.154213)', 'H2(-0.0300283)', 'H2')
    """
    told, other = parse_signature(space), parse_signature(space, start=2.0)
    silent = [one != two for one, two in zip(told, other, strict=True)]
    if not any(silent):
        return space
    found = hyperbolicity(graph)
    kappas = {
        letter: kappa(sum(f.letter == letter for f in told))
        for letter, kappa in {
            "S": lambda m: m * (math.pi / max(found.diameter, 1)) ** 2,
            "H": lambda m: -min(1.0, m * (PLANE_DELTA / max(found.delta, PLANE_DELTA / 2)) ** 2),
        }.items()
    }
    return format_signature(
        [Factor(f.letter, f.dim, kappas[f.letter]) if free else f for f, free in zip(told, silent, strict=True)]
    )


@torch.no_grad()
def fitting_scale(points: FreePoints | NetworkPoints, distances: GraphDistances) -> float:
    """Multiply the starting points by the power of 2 with the least distortion; that power."""
    tried: dict[float, float] = {}

    def at(factor: float) -> float:
        if factor not in tried:
            points.rescale(factor)
            found = measure(points(), points.manifold, distances).average
            points.rescale(1 / factor)
            tried[factor] = found if math.isfinite(found) else math.inf
        return tried[factor]

    best = 1.0
    while best < COARSEST and at(2 * best) < at(best):
        best *= 2
    while best > FINEST and at(best / 2) < at(best):
        best /= 2
    points.rescale(best)
    return best
