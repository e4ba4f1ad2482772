"""Where to start from: curvatures and a scale at which the graph fits into the space."""

from __future__ import annotations

import math

from torch_geometric.data import Data

from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.graphs import hyperbolicity

__all__ = ["fitting_space", "in_units", "scaled", "starting_point"]

PLANE_DELTA = math.log(2.0)  # Gromov's δ of the hyperbolic plane of curvature −1
MOST_CURVED = 2.0  # beyond which a hyperbolic factor helps no tree and takes longer to train


def in_units(graph: Data) -> tuple[Data, float]:
    """The graph with lengths of edges in units of their mean, and that mean; 1 where edges have no lengths."""
    if graph.get("edge_weight") is None or not graph.num_edges:
        return graph, 1.0
    lengths, scaled_graph = graph.edge_weight.double(), graph.clone()
    unit = float(lengths.mean())
    scaled_graph.edge_weight = (
        None if (lengths == lengths[0]).all() else (lengths / unit).float()
    )  # None: all are steps
    return scaled_graph, unit


def scaled(space: str, unit: float) -> str:
    """The space with curvatures that its signature says in such units of length.

    >>> scaled("H2(-1)xH2(-0.5)xS2", 2.0)
    'H2(-4)xH2(-2)xS2'
    """
    if unit == 1:
        return space
    factors = zip(parse_signature(space), _silent(space), strict=True)
    return format_signature([f if silent else f._replace(kappa=f.kappa * unit**2) for f, silent in factors])


def _silent(space: str) -> list[bool]:
    """Which factors say no curvature, so that it depends on the start."""
    pairs = zip(parse_signature(space), parse_signature(space, start=2.0), strict=True)
    return [one != two for one, two in pairs]


def starting_point(space: str, graph: Data, start: str, longest: float) -> tuple[str, float]:
    """The space with the curvatures to start from, and the graph's diameter.

    Args:
        space: The signature.
        graph: The graph.
        start: ``"paper"``: κ = ±1. ``"graph"``: those of `fitting_space`.
        longest: Of the distances that are known.
    """
    measured = hyperbolicity(graph)
    delta, diameter = measured.delta, float(measured.diameter or 1)
    if graph.get("edge_weight") is not None and longest > 0:  # δ counts steps: they are as long as on the longest path
        delta, diameter = delta * longest / diameter, longest
    return space if start == "paper" else fitting_space(space, delta=delta, diameter=diameter), diameter


def fitting_space(space: str, *, delta: float, diameter: float) -> str:
    """The space with curvatures that a graph's diameter and Gromov's δ ask for, where its signature does not say any.

    m spheres whose product is as wide as the graph have κ = m(π/diameter)². The hyperbolic plane has δ = log 2/√−κ, so
    m hyperbolic factors have κ = −m(log 2/δ)², but not below −2, where trees (δ = 0) start.

    >>> fitting_space("S2", delta=4, diameter=8), fitting_space("H2^2", delta=4, diameter=8)
    ('S2(0.154213)', 'H2(-0.0600566)^2')
    >>> fitting_space("H2", delta=0, diameter=8), fitting_space("H2(-1)", delta=0, diameter=8)
    ('H2(-2)', 'H2')
    """
    factors = parse_signature(space)
    count = {letter: sum(f.letter == letter for f in factors) for letter in "HS"}
    steepest = math.inf if delta == 0 else (PLANE_DELTA / delta) ** 2
    kappas = {
        "S": count["S"] * (math.pi / diameter) ** 2,
        "H": -min(MOST_CURVED, max(count["H"], 1) * steepest),
    }
    return format_signature(
        [f._replace(kappa=kappas[f.letter]) if free else f for f, free in zip(factors, _silent(space), strict=True)]
    )
