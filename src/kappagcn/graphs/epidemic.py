"""An epidemic on a tree: the built-in graph for node classification, after HGCN's disease data."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.undirected import assemble

__all__ = ["disease"]

READINGS = 5  # of each kind
FRAIL = 0.8  # share of the nodes that fall ill easily
FRAIL_CHANCE, HARDY_CHANCE = 0.9, 0.02  # of catching it from an infected neighbour in one step


def disease(num_nodes: int = 1000, seed: int = 0, *, recovery: float = 0.3, noise: float = 4.0) -> Data:
    """A susceptible–infected–recovered epidemic from the root of a random tree; which nodes fall ill is the label.

    The tree grows level by level, each node with 1 to 6 children; four nodes in five are frail by nature, one is hardy.
    At each step an infected node infects each neighbour that was never ill with a chance of 0.9 where that one is frail
    and 0.02 where it is hardy, and recovers with chance `recovery`; the epidemic runs until nobody is ill. Features
    are five readings of the node's nature and five of its symptoms, ±1 each under much noise: a node's own say little,
    but whole branches were spared together, so those of its neighbours help.

    Args:
        num_nodes: Nodes.
        seed: Of tree, epidemic and noise.
        recovery: Chance per step that an infected node recovers.
        noise: Standard deviation of the noise on a reading.

    >>> graph = disease()
    >>> graph.num_nodes, graph.num_edges // 2, graph.x.shape
    (1000, 999, torch.Size([1000, 10]))
    """
    if num_nodes < 2:
        raise GraphError(f"expected at least 2 nodes, found {num_nodes}.")
    if not 0 < recovery <= 1:
        raise GraphError(f"expected a recovery between 0 and 1, found {recovery}.")
    rng = np.random.default_rng(seed)
    parents = _tree(num_nodes, rng)
    frail = rng.random(num_nodes) < FRAIL
    ill = _epidemic(parents, np.where(frail, FRAIL_CHANCE, HARDY_CHANCE), recovery, rng)
    signal = np.where(np.repeat(np.stack([frail, ill], axis=1), READINGS, axis=1), 1.0, -1.0)
    readings = signal + noise * rng.standard_normal(signal.shape)
    return assemble(
        parents[1:],
        np.arange(1, num_nodes),
        num_nodes,
        x=torch.from_numpy(readings).float(),
        y=torch.from_numpy(ill.astype(np.int64)),
        class_names=["spared", "infected"],
        name="disease",
    )


def _tree(num_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Parents of a tree grown level by level; the root is its own."""
    children = rng.integers(1, 7, num_nodes)
    return np.concatenate([[0], np.repeat(np.arange(num_nodes), children)])[:num_nodes]


def _epidemic(parents: np.ndarray, chance: np.ndarray, recovery: float, rng: np.random.Generator) -> np.ndarray:
    """Who was ever infected. On a tree the disease only moves away from the root."""
    n = len(parents)
    infected, ever = np.zeros(n, bool), np.zeros(n, bool)
    infected[0] = ever[0] = True
    while infected.any():
        caught = infected[parents] & ~ever & (rng.random(n) < chance)
        infected &= rng.random(n) >= recovery
        infected |= caught
        ever |= caught
    return ever
