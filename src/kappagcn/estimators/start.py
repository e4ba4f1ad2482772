"""Where an embedding starts: curvatures and points from the graph's distances, by multidimensional scaling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.estimators.mds import Array, classical_mds, landmark_mds, spherical_mds
from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.training.graph_distances import GraphDistances

__all__ = ["Start", "in_units", "scaled", "starts"]

FLAT, CURVED = 0.01, 10.0  # |κ|R² at the start, with R half the diameter: nearly flat, and clearly curved
NOISE = 0.01  # of the distance to the nearest node: coordinates that scaling leaves at 0 have to begin to move
RANDOM = 0.1  # standard deviation of the points of the paper's start


@dataclass(frozen=True)
class Start:
    """Points and curvatures to train from.

    Args:
        space: Signature with curvatures.
        points: Tangent vectors at the origin, (N, D).
    """

    space: str
    points: Tensor


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


def starts(space: str, distances: GraphDistances, start: str, random_state: int) -> list[Start]:
    """Starts to try; the best after a few steps is the one to train from.

    Curvatures that the signature names are where they start. Others start nearly flat, with the sign of their letter:
    from there training finds its way to either side. Two more starts are tried where a graph may need them: clearly
    curved hyperbolic factors, and for a single sphere the points of spherical scaling.

    Args:
        space: The signature.
        distances: From all nodes, or from some that then serve as landmarks.
        start: ``"graph"``, or ``"paper"``: κ = ±1 and small random points.
        random_state: Seed of the noise.
    """
    rng, factors, silent = np.random.default_rng(random_state), parse_signature(space), _silent(space)
    n, dim = len(distances), sum(f.dim for f in factors)
    if start == "paper" or distances.pairs == 0:
        return [Start(space, torch.from_numpy(RANDOM * rng.standard_normal((n, dim))))]
    lengths = _lengths(distances)
    radius = distances.longest / 2
    flat = _dealt(_scaled_points(lengths, distances, dim), [f.dim for f in factors])
    noise = NOISE * _nearest(lengths, distances) * rng.standard_normal((n, dim))

    def with_curvatures(hyperbolic: float) -> str:
        kappa = {"H": -hyperbolic / radius**2, "S": FLAT / radius**2}
        chosen = [
            f._replace(kappa=kappa[f.letter]) if free and f.letter in kappa else f
            for f, free in zip(factors, silent, strict=True)
        ]
        return format_signature(chosen)

    candidates = [Start(with_curvatures(FLAT), torch.from_numpy(flat + noise))]
    free = [f.letter for f, each in zip(factors, silent, strict=True) if each]
    if "H" in free:
        candidates.append(Start(with_curvatures(CURVED), torch.from_numpy(flat + noise)))
    if free == ["S"] and len(factors) == 1 and distances.sources is None:
        kappa = (math.pi / distances.longest) ** 2
        points = spherical_mds(lengths, dim, kappa)
        candidates.append(Start(format_signature([factors[0]._replace(kappa=kappa)]), torch.from_numpy(points + noise)))
    return candidates


def _lengths(distances: GraphDistances) -> Array:
    """All distances; nodes without a path are as far apart as the farthest with one."""
    lengths = distances.lengths().numpy()
    rows = np.arange(len(lengths))
    apart = lengths == 0
    apart[rows, rows if distances.sources is None else distances.sources.numpy()] = False
    lengths[apart] = distances.longest
    return lengths


def _nearest(lengths: Array, distances: GraphDistances) -> Array:
    """The distance of each node to the nearest other one, of those that are known, (N, 1)."""
    nearest: Array = np.where(lengths > 0, lengths, np.inf).min(0, initial=distances.longest)[:, None]
    return nearest


def _scaled_points(lengths: Array, distances: GraphDistances, dim: int) -> Array:
    """Tangent vectors at the origin, whose length is half the distance from it."""
    if distances.sources is None:
        return classical_mds(lengths, dim) / 2
    return landmark_mds(lengths, distances.sources.numpy(), dim) / 2


def _dealt(columns: Array, dims: list[int]) -> Array:
    """Columns given out to factors one by one, so that each gets its share of the important ones, (N, D)."""
    own: list[list[int]] = [[] for _ in dims]
    place = 0
    for turn in range(max(dims)):
        for factor, dim in enumerate(dims):
            if turn < dim:
                own[factor].append(place)
                place += 1
    return columns[:, [column for each in own for column in each]]
