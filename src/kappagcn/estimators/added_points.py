"""Points for nodes that come later, without moving the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs import adjacency
from kappagcn.nn.functional import Manifold, factors_of
from kappagcn.training import GraphDistances
from kappagcn.training.lbfgs import LBFGS
from kappagcn.training.pair_objectives import block_height, pair_terms, squares_from

__all__ = ["place"]

STEPS = 100
LEAST_GAIN = 1e-4  # of the objective in a step, below which further ones do not matter
NOISE = 0.01


def place(v: Tensor, manifold: Manifold, graph: Data, objective: str, random_state: int = 0) -> Tensor:
    """Tangent vectors of the nodes of a graph after the first N, whose own are known and stay: (N, D) → (M, D).

    Args:
        v: Tangent vectors at the origin of the first N nodes, (N, D).
        manifold: The space.
        graph: All nodes, with N + M of them; lengths of edges in the units of the space.
        objective: ``"distortion"``, ``"relative"`` or ``"stress"``.
        random_state: Seed of the start.
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

    def evaluate(position: Tensor) -> tuple[float, Tensor]:
        moving = (unit * position.view(count, -1)).requires_grad_()
        total, gradient = 0.0, torch.zeros_like(moving)
        for some in torch.arange(count).split(block_height(old)):
            with torch.enable_grad():
                squares = squares_from(torch.cat([old, moving]), k, dims, new[some])
                loss = pair_terms(squares, weights[some], objective).sum() / distances.pairs
            gradient += torch.autograd.grad(loss, moving)[0]
            total += float(loss.detach())
        return total, (unit * gradient).flatten()

    start = _beside_neighbours(old, graph, count, random_state) / unit
    minimum = LBFGS(evaluate, start.flatten(), largest_step=0.2)
    for _ in range(STEPS):
        before = minimum.value
        if not minimum.step() or minimum.value > (1 - LEAST_GAIN) * before:
            break
    return unit * minimum.position.view(count, -1)


def _beside_neighbours(v: Tensor, graph: Data, count: int, random_state: int) -> Tensor:
    """Near the mean of each node's neighbours that have a place, in order of their distance from those that had one."""
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
                ready.append((node, np.mean(near, 0) + scale * rng.standard_normal(v.shape[1])))
        for node, point in ready:
            places[node] = point
        waiting = [node for node in waiting if places[node] is None]
    return torch.from_numpy(np.stack(places[len(v) :]))
