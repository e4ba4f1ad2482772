"""Points of nodes that are added to an embedding, without moving the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import block_height, pair_terms, squares_from
from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.graphs import adjacency
from kappagcn.nn.inputs import factors_of
from kappagcn.training.quasi_newton import SCALE

STEPS, WINDOW = 300, 10
LEAST_GAIN = 1e-3  # relative decrease of the objective over WINDOW steps below which refinement stops
NOISE = 0.01
OUTWARD = (0.0, 1.0)  # how much farther out than its neighbours a new node starts, in units of the shortest distance


def place(v: Tensor, manifold: Manifold, graph: Data, objective: str, random_state: int = 0) -> Tensor:
    """Tangent vectors of M added nodes of a graph whose first N nodes keep theirs: (N, D) → (M, D).

    Args:
        v: Tangent vectors at the origin of the first N nodes, (N, D).
        manifold: The space.
        graph: The graph with N + M nodes; lengths of edges are in the units of the space.
        objective: ``"distortion"``, ``"relative"`` or ``"stress"``.
        random_state: Seed of the initial points.
    """
    known, count = len(v), graph.num_nodes - len(v)
    if count < 1:
        raise GraphError(f"expected more than the {known} nodes that are embedded, found {graph.num_nodes}.")
    new = torch.arange(known, known + count)
    distances = GraphDistances.of(graph, new)
    alone = (distances.weights[:, :known] > 0).any(1).logical_not()
    if alone.any():
        first = known + int(alone.nonzero()[0])
        raise GraphError(f"expected a path from each new node to one that is embedded, found none from node {first}.")
    k, dims = factors_of(v, manifold)
    k = k.detach().double()
    old, weights = v.detach().double(), distances.weights.double()
    unit = float(weights[weights > 0].mean() ** -0.5)

    def backward(position: Tensor) -> float:
        """The objective times SCALE, in blocks of new nodes whose gradients add up."""
        total = 0.0
        for some in torch.arange(count).split(block_height(old)):
            squares = squares_from(torch.cat([old, unit * position]), k, dims, new[some])
            loss = SCALE / distances.pairs * pair_terms(squares, weights[some], objective).sum()
            loss.backward()
            total += float(loss.detach())
        return total

    shortest = float(weights.max() ** -0.5)
    starts = [_beside_neighbours(old, graph, count, random_state, outward * shortest) / unit for outward in OUTWARD]
    minima = [_minimum(backward, start) for start in starts]
    return unit * min(minima, key=lambda minimum: minimum[0])[1]


def _minimum(backward: Callable[[Tensor], float], start: Tensor) -> tuple[float, Tensor]:
    """The least value of an objective, and its position, from a start."""
    position = start.clone().requires_grad_()
    lbfgs = torch.optim.LBFGS([position], max_iter=WINDOW, max_eval=2 * WINDOW, line_search_fn="strong_wolfe")

    def closure() -> float:
        lbfgs.zero_grad()
        return backward(position)

    value = math.inf
    for _ in range(STEPS // WINDOW):
        before, value = value, float(lbfgs.step(closure))
        if not value < (1 - LEAST_GAIN) * before:
            break
    return closure(), position.detach()


def _beside_neighbours(v: Tensor, graph: Data, count: int, random_state: int, outward: float) -> Tensor:
    """Initial points: near the mean of the placed neighbours and farther out, nodes closest to embedded ones first."""
    links: Any = adjacency(graph)
    places = [*v.numpy(), *[None] * count]
    rng, scale = np.random.default_rng(random_state), NOISE * float(v.std())
    waiting = list(range(len(v), len(v) + count))
    while waiting:
        ready = []
        for node in waiting:
            near = [places[j] for j in links.indices[links.indptr[node] : links.indptr[node + 1]]]
            near = [each for each in near if each is not None]
            if near:
                point = np.mean(near, 0) + scale * rng.standard_normal(v.shape[1])
                length = float(np.linalg.norm(point))  # half the distance from the origin
                ready.append((node, point * (1 + outward / (2 * length)) if length else point))
        for node, point in ready:
            places[node] = point
        waiting = [node for node in waiting if places[node] is None]
    return torch.from_numpy(np.stack(places[len(v) :]))
