"""Initial points and curvatures of an embedding, from the graph's distances by multidimensional scaling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy.fft
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.mds import Array, classical_mds, landmark_mds, spherical_mds
from kappagcn.geometry.signature import format_signature, parse_signature

FLAT, CURVED, STRONG = 0.01, 10.0, 1000.0  # |κ|R² at the start, R half the diameter: nearly flat, clearly, strongly
SETTLED, SETTLING = 100.0, 20  # |κ|R² of all factors of a product, and the epochs in which it stays there
NOISE = 0.01  # noise, relative to the distance to the nearest node: moves coordinates that scaling leaves at 0
RANDOM = 0.1  # standard deviation of the points of the paper's start


@dataclass(frozen=True)
class Start:
    """Initial points and curvatures of an embedding.

    Args:
        space: Signature with curvatures.
        points: Tangent vectors at the origin, (N, D).
        fixed_epochs: First epochs in which curvatures stay as they are.
        if_better: Whether to try it only where its objective is below that of the first start from the outset.
    """

    space: str
    points: Tensor
    fixed_epochs: int = 0
    if_better: bool = False


def in_units(graph: Data) -> tuple[Data, float]:
    """The graph with lengths of edges in units of their mean, and that mean; 1 where edges have no lengths."""
    if graph.get("edge_weight") is None or not graph.num_edges:
        return graph, 1.0
    lengths, scaled_graph = graph.edge_weight.double(), graph.clone()
    unit, equal = float(lengths.mean()), bool((lengths == lengths[0]).all())
    scaled_graph.edge_weight = None if equal else (lengths / unit).float()  # without lengths edges are steps
    return scaled_graph, unit


def scaled(space: str, unit: float) -> str:
    """The space with the curvatures of its signature converted to this unit of length.

    >>> scaled("H2(-1)xH2(-0.5)xS2", 2.0)
    'H2(-4)xH2(-2)xS2'
    """
    if unit == 1:
        return space
    factors = zip(parse_signature(space), _without_number(space), strict=True)
    return format_signature(
        [f if without_number else f._replace(kappa=f.kappa * unit**2) for f, without_number in factors]
    )


def _without_number(space: str) -> list[bool]:
    """Whether the signature of each factor has no initial curvature."""
    pairs = zip(parse_signature(space), parse_signature(space, start=2.0), strict=True)
    return [one != two for one, two in pairs]


class Scaling:
    """Coordinates of a graph's nodes by multidimensional scaling, computed once for each dimension.

    Args:
        distances: Distances from all nodes, or from some, which then serve as landmarks.
    """

    def __init__(self, distances: GraphDistances) -> None:
        self.distances = distances
        self.columns, self.on_sphere = cache(self._columns), cache(self._on_sphere)

    @property
    def round_curvature(self) -> float:
        """κ of the sphere on which the farthest nodes are opposite."""
        return (math.pi / self.distances.longest) ** 2

    @cached_property
    def lengths(self) -> Array:
        """All distances; nodes without a path between them get the largest distance of those with one."""
        lengths: Array = self.distances.lengths.double().numpy().copy()
        lengths[(lengths < 0) | ~np.isfinite(lengths)] = self.distances.longest
        return lengths

    @cached_property
    def nearest(self) -> Array:
        """The smallest known distance of each node to another one, (N, 1)."""
        nearest: Array = self.lengths.min(0, initial=self.distances.longest, where=self.lengths > 0)
        return nearest[:, None]

    def _columns(self, dim: int) -> Array:
        """Tangent vectors at the origin of flat space, whose length is half the distance from it, (N, dim)."""
        sources = self.distances.sources
        if sources is None:
            return classical_mds(self.lengths, dim) / 2
        return landmark_mds(self.lengths, sources.numpy(), dim) / 2

    def _on_sphere(self, dim: int) -> Array:
        """Tangent vectors at a pole of that sphere, from the distances between all nodes, (N, dim)."""
        return spherical_mds(self.lengths, dim, self.round_curvature)


def starts(
    space: str, scaling: Scaling, start: str, random_state: int, *, held: bool = False, network: bool = False
) -> list[Start]:
    """Starts to try; training continues from the one that is best after a few steps.

    Curvatures in the signature are initial values. Other curvatures start near 0, with the sign of their letter: from
    there training can reach either sign. More starts are tried where a graph may need them: clearly and strongly curved
    hyperbolic factors, and for a single factor the points of spherical scaling, since points of a sphere that start in
    flat space stay folded; in a hyperbolic space only if they fit. In a product one factor often becomes flat early,
    although a minimum with all factors curved would be lower; so all factors of two starts are hyperbolic, and stay so
    for some epochs; the factors of one of them share the important coordinates.

    The weights of a network follow a change of curvature more slowly than free points do, and do not train where a
    factor is strongly curved. So its starts are curved less, and in one of them spheres are together as wide as the
    graph: then also curvatures of a small learning rate start where they are needed.

    Args:
        space: The signature.
        scaling: Multidimensional scaling of the graph's distances.
        start: ``"graph"``, or ``"paper"``: κ = ±1 and small random points.
        random_state: Seed of the noise.
        held: Whether curvatures stay where they start: then spheres are as wide as the graph, and hyperbolic factors
            clearly curved.
        network: Whether a network is trained instead of free points.
    """
    distances = scaling.distances
    rng, factors, unset = np.random.default_rng(random_state), parse_signature(space), _without_number(space)
    n, dims = len(distances), [f.dim for f in factors]
    if start == "paper" or distances.pairs == 0:
        return [Start(space, torch.from_numpy(RANDOM * rng.standard_normal((n, sum(dims)))))]
    radius, round_ = distances.longest / 2, scaling.round_curvature
    noise = NOISE * scaling.nearest * rng.standard_normal((n, sum(dims)))

    def points(*, mixed: bool = False) -> Tensor:
        return torch.from_numpy(_dealt(scaling.columns(sum(dims)), dims, mixed=mixed) + noise)

    free = [f.letter for f, each in zip(factors, unset, strict=True) if each]
    has_hyperbolic, is_product = "H" in free, len(free) > 1
    flat = FLAT / radius**2
    curvatures = [(CURVED, round_)] if held else [(FLAT, flat)]  # |κ|R² of hyperbolic factors, κ of spheres
    if has_hyperbolic and not held:
        curvatures.append((CURVED, flat))
        if not (network and is_product):
            curvatures.append((SETTLED if network else STRONG, flat))
    if network and "S" in free and not held:
        curvatures.append((CURVED, free.count("S") * round_))
    candidates = []
    for hyperbolic, spherical in curvatures:
        kappas = {"H": -hyperbolic / radius**2, "S": spherical, "E": 0.0}
        placed = [f._replace(kappa=kappas[f.letter]) if each else f for f, each in zip(factors, unset, strict=True)]
        candidates.append(Start(format_signature(placed), points()))
    if has_hyperbolic and is_product and not held:
        settled = factors[0]._replace(letter="H", kappa=-SETTLED / radius**2)
        placed = [settled._replace(dim=f.dim) if each else f for f, each in zip(factors, unset, strict=True)]
        candidates += [Start(format_signature(placed), points(mixed=mixed), SETTLING) for mixed in (False, True)]
    if (free == ["S"] or (free == ["H"] and not held)) and len(factors) == 1 and distances.sources is None:
        sphere = format_signature([factors[0]._replace(letter="S", kappa=round_)])
        on_sphere = torch.from_numpy(scaling.on_sphere(sum(dims)) + noise)
        candidates.append(Start(sphere, on_sphere, if_better=free == ["H"]))
    return candidates


def _dealt(columns: Array, dims: list[int], *, mixed: bool = False) -> Array:
    """Columns dealt to factors one at a time, so that each factor gets its share of the important ones, (N, D).

    Mixed columns are a cosine transform of those that are dealt in one round, so that each factor has a part of each.
    """
    own: list[list[Array]] = [[] for _ in dims]
    place = 0
    for turn in range(max(dims)):
        takers = [factor for factor, dim in enumerate(dims) if turn < dim]
        given = columns[:, place : place + len(takers)]
        place += len(takers)
        given = scipy.fft.dct(given, axis=1, norm="ortho") if mixed else given
        for k, factor in enumerate(takers):
            own[factor].append(given[:, k])
    return np.stack([column for each in own for column in each], axis=1)
