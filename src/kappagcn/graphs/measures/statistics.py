"""Statistics of a graph: size, degrees, distances, curvature, hyperbolicity, and the space they suggest."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn.graphs.io.undirected import Array, counted
from kappagcn.graphs.measures.advice import Advice, advise
from kappagcn.graphs.measures.components import components, largest_component
from kappagcn.graphs.measures.curvature import GraphCurvature, clustering, parallelogram_curvature
from kappagcn.graphs.measures.homophily import LOW, homophily
from kappagcn.graphs.measures.hyperbolicity import Hyperbolicity, hyperbolicity
from kappagcn.graphs.measures.paths import path_blocks, second_sweep

ALL_SOURCES = 5000  # number of nodes up to which distances are measured from every node
SOURCES = 64
EXACT_CURVATURE = 20_000  # number of nodes up to which the curvature is exact


@dataclass(frozen=True)
class Degrees:
    """Statistics of the node degrees; ``histogram[d]`` nodes have degree d."""

    least: int
    mean: float
    median: float
    most: int
    deviation: float
    histogram: list[int]


@dataclass(frozen=True)
class Distances:
    """Statistics of the distances in steps between nodes of the largest component.

    If not `exact`, they are measured from 64 nodes; `diameter` is then a lower bound and `radius` (the smallest
    eccentricity) an upper bound.
    """

    mean: float
    radius: int
    diameter: int
    exact: bool


@dataclass(frozen=True)
class GraphStatistics:
    """Result of `describe`. Curvature, hyperbolicity and distances are those of the largest component.

    >>> from kappagcn.graphs import cycle
    >>> statistics = describe(cycle(8))
    >>> statistics.nodes, statistics.degrees.mean, statistics.distances.diameter
    (8, 2.0, 4)
    """

    name: str
    nodes: int
    edges: int
    components: int
    largest: int
    isolated: int
    degrees: Degrees
    clustering: float
    distances: Distances
    curvature: GraphCurvature
    hyperbolicity: Hyperbolicity
    features: int
    classes: int
    homophily: float
    adjusted_homophily: float
    advice: Advice

    def record(self) -> dict[str, Any]:
        """The statistics as numbers and text for JSON; NaN becomes None."""
        record = asdict(self)
        per_node = self.curvature.per_node.numpy()
        record["curvature"]["per_node"] = [None if np.isnan(v) else round(float(v), 6) for v in per_node]
        record["hyperbolicity"]["relative"] = self.hyperbolicity.relative
        plain: dict[str, Any] = _without_nan(record)
        return plain

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of each line of the printed table."""
        d, paths, bound = self.degrees, self.distances, "" if self.distances.exact else "at least "
        largest = f"the largest with {counted(self.largest, 'node')}; {self.isolated:,} isolated"
        rows = [
            ("size", f"{counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}"),
            ("components", f"{self.components:,}, {largest}"),
            ("degrees", f"{d.least} to {d.most}, mean {d.mean:.2f}, median {d.median:g}, deviation {d.deviation:.2f}"),
            ("clustering", f"{self.clustering:.3f}"),
            ("distances", f"mean {paths.mean:.2f}, diameter {bound}{paths.diameter}"),
            ("curvature", str(self.curvature)),
            ("hyperbolicity", str(self.hyperbolicity)),
        ]
        if self.features:
            rows.append(("features", f"{self.features:,}"))
        if self.classes:
            same = "" if np.isnan(self.homophily) else f"; {self.homophily:.0%} of edges join nodes of one class"
            rows.append(("classes", f"{self.classes}{same}"))
        if self.adjusted_homophily < LOW:
            rows.append(("heterophily", self._heterophily()))
        return [*rows, ("advice", str(self.advice))]

    def _heterophily(self) -> str:
        """Advice for graphs whose neighbours are mostly of other classes."""
        measured = f"neighbours share a class hardly more than by chance (adjusted {self.adjusted_homophily:+.2f})"
        tip = "--set self-features=on, which keeps own features apart, or --model mlp, which leaves the graph out"
        return f"{measured}: for classify try {tip}" if self.features else measured

    def __str__(self) -> str:
        return "\n".join(f"{name:<14} {value}" for name, value in self.rows())


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def describe(data: Data, *, dim: int = 16, seed: int = 0, progress: bool = False) -> GraphStatistics:
    """Measure a graph, and suggest a space for it.

    Results are exact for graphs up to a few thousand nodes; larger ones are measured from sampled nodes, and the result
    says so.

    Args:
        data: A graph.
        dim: Dimension of the suggested space.
        seed: Seed of the sampling.
        progress: Show bars on a terminal.

    >>> from kappagcn.graphs import balanced_tree
    >>> describe(balanced_tree(4, 3)).advice.signature
    'H16'
    """
    part = components(data)
    main = largest_component(data)
    degree = np.bincount(data.edge_index[0].numpy(), minlength=data.num_nodes)
    distances = _distances(main, seed)
    anchors = None if main.num_nodes <= EXACT_CURVATURE else SOURCES
    closed = clustering(data)
    curvature = parallelogram_curvature(
        main, anchors=anchors, known_clustering=closed[part == 0], seed=seed, progress=progress
    )
    per_node = torch.full((data.num_nodes,), torch.nan, dtype=torch.float64)
    per_node[torch.from_numpy(part == 0)] = curvature.per_node
    y = data.get("y")
    same, adjusted, _ = (math.nan, math.nan, 0) if y is None else homophily(data)
    return GraphStatistics(
        name=data.get("name") or "graph",
        nodes=data.num_nodes,
        edges=data.num_edges // 2,
        components=len(np.unique(part)),
        largest=main.num_nodes,
        isolated=int((degree == 0).sum()),
        degrees=_degrees(degree),
        clustering=float(closed.mean()) if data.num_nodes else 0.0,
        distances=distances,
        curvature=replace(curvature, per_node=per_node),
        hyperbolicity=hyperbolicity(main, seed=seed, progress=progress),
        features=0 if data.get("x") is None else data.x.shape[1],
        classes=0 if y is None or not y.numel() else int(y.max()) + 1,
        homophily=same,
        adjusted_homophily=adjusted,
        advice=advise(
            nodes=main.num_nodes,
            edges=main.num_edges // 2,
            most_neighbours=int(degree[part == 0].max(initial=0)),
            curvature=curvature.mean,
            radius=distances.radius,
            diameter=distances.diameter,
            mean_distance=distances.mean,
            dim=dim,
        ),
    )


def _degrees(degree: Array) -> Degrees:
    histogram = np.bincount(degree).tolist()
    degree = degree if len(degree) else np.zeros(1, np.int64)
    least, most, median = int(degree.min()), int(degree.max()), float(np.median(degree))
    return Degrees(least, float(degree.mean()), median, most, float(degree.std()), histogram)


def _distances(main: Data, seed: int) -> Distances:
    n = main.num_nodes
    exact = n <= ALL_SOURCES
    sources = None if exact else np.random.default_rng(seed).choice(n, SOURCES, replace=False)
    total, ends, reach = 0, [0] * (n == 0), np.zeros(n, np.int64)
    for _, steps in path_blocks(main, sources):
        total += int(steps.sum(dtype=np.int64))
        ends += steps.max(axis=0, initial=0).tolist()
        np.maximum(reach, steps.max(axis=1, initial=0), out=reach)
    diameter = max(ends) if exact else second_sweep(main, reach)
    return Distances(total / max(len(ends) * (n - 1), 1), min(ends), diameter, exact)
