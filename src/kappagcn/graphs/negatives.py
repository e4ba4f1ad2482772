"""Pairs of nodes without an edge: drawn at random, uniformly or by degree, never a known edge."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kappagcn.errors import GraphError

__all__ = ["NegativeSampler", "checked_pairs", "pair_keys"]

DISTRIBUTIONS = ("uniform", "degree")
DEGREE_POWER = 0.75  # exponent of degrees as weights: hubs are drawn more often, less than in proportion
DENSE = 0.5  # share of pairs that are edges, from which the other pairs are listed
MANY = 2**18  # draws of at least this many pairs are sorted, so that later look-ups read memory in order
ROUNDS = 50  # rounds of drawing by degree, before the rest is drawn uniformly


def pair_keys(pairs: Tensor, num_nodes: int) -> Tensor:
    """One number for each unordered pair, (2, P) → (P,).

    >>> pair_keys(torch.tensor([[3, 0], [1, 2]]), 5).tolist()
    [8, 2]
    """
    return pairs.min(0).values * num_nodes + pairs.max(0).values


def checked_pairs(pairs: Any, num_nodes: int, name: str = "pairs") -> Tensor:
    """Pairs of different nodes, (2, P) int64; errors call them by a name."""
    array = torch.as_tensor(pairs)
    if array.dim() != 2 or array.shape[0] != 2 or array.is_floating_point() or array.dtype == torch.bool:
        raise GraphError(f"{name}: expected pairs of nodes as integers, found {array.dtype} {tuple(array.shape)}.")
    if array.numel() and not 0 <= int(array.min()) <= int(array.max()) < num_nodes:
        raise GraphError(
            f"{name}: expected nodes from 0 to {num_nodes - 1}, found {int(array.min())} to {int(array.max())}."
        )
    if loops := array[0, array[0] == array[1]].tolist():
        raise GraphError(f"{name}: expected two different nodes in each pair, found node {loops[0]} with itself.")
    return array.to(torch.int64).contiguous()


class NegativeSampler:
    """Sampler of unordered pairs of different nodes that are not known edges.

    The keys of the edges are sorted once; a draw looks its pairs up by binary search and repeats those that are edges.

    Args:
        edges: Known edges in one direction or both, (2, E).
        num_nodes: Number of nodes N.
        distribution: ``"uniform"`` over all pairs without an edge; ``"degree"`` draws each end with a probability that
            grows as degree^0.75.

    >>> sampler = NegativeSampler(torch.tensor([[0, 1, 2], [1, 2, 3]]), 4)
    >>> sorted(map(tuple, sampler.sample(50).unique(dim=1).t().tolist()))
    [(0, 2), (0, 3), (1, 3)]
    """

    def __init__(self, edges: Tensor, num_nodes: int, distribution: str = "uniform") -> None:
        if distribution not in DISTRIBUTIONS:
            raise GraphError(f"distribution: expected {' or '.join(DISTRIBUTIONS)}, found {distribution!r}.")
        self.num_nodes, self.distribution = num_nodes, distribution
        edges = edges[:, edges[0] != edges[1]]
        self.keys = pair_keys(edges, num_nodes).unique()
        self.available = num_nodes * (num_nodes - 1) // 2 - len(self.keys)
        if self.available <= 0:
            raise GraphError(
                f"expected pairs of nodes without an edge, found none among {num_nodes} nodes: every two are linked."
            )
        self._others: Tensor | None = None
        if len(self.keys) > DENSE * (self.available + len(self.keys)):
            first, second = torch.triu_indices(num_nodes, num_nodes, 1)
            keys = first * num_nodes + second
            self._others = keys[~torch.isin(keys, self.keys, assume_unique=True)]
        self._bounds: Tensor | None = None
        if distribution == "degree" and len(self.keys):
            degree = torch.bincount(edges.flatten(), minlength=num_nodes)
            self._bounds = degree.double().pow(DEGREE_POWER).cumsum(0)

    def contains(self, pairs: Tensor) -> Tensor:
        """Whether pairs are known edges, (P,)."""
        keys = pair_keys(pairs, self.num_nodes)
        places = torch.searchsorted(self.keys, keys).clamp(max=max(len(self.keys) - 1, 0))
        return self.keys[places] == keys if len(self.keys) else torch.zeros_like(keys, dtype=torch.bool)

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """`count` pairs, the lower number first, (2, count); some may be equal. Large samples are sorted."""
        return self._sample(count, generator, in_order=count >= MANY)

    def _sample(self, count: int, generator: torch.Generator | None, *, in_order: bool) -> Tensor:
        drawn: list[Tensor] = []
        missing, rounds = count, 0
        while missing:
            uniform = self._bounds is None or rounds >= ROUNDS
            pairs = self._draw(missing, generator, uniform=uniform, in_order=in_order)
            drawn.append(pairs)
            missing, rounds = missing - pairs.shape[1], rounds + 1
        return torch.cat(drawn, 1) if drawn else torch.empty(2, 0, dtype=torch.int64)

    def _draw(self, count: int, generator: torch.Generator | None, *, uniform: bool, in_order: bool) -> Tensor:
        """Up to `count` pairs without an edge."""
        if uniform and self._others is not None:
            keys = self._others[torch.randint(len(self._others), (count,), generator=generator)]
            return torch.stack((keys // self.num_nodes, keys % self.num_nodes))
        if uniform or self._bounds is None:
            ends = torch.randint(self.num_nodes, (2, count), generator=generator)
        else:
            marks = torch.rand(2, count, dtype=torch.float64, generator=generator) * self._bounds[-1]
            ends = torch.searchsorted(self._bounds, marks, right=True).clamp(max=self.num_nodes - 1)
        if in_order:
            keys = pair_keys(ends, self.num_nodes).sort().values
            pairs = torch.stack((keys // self.num_nodes, keys % self.num_nodes))
        else:
            pairs = torch.stack((ends.min(0).values, ends.max(0).values))
        return pairs[:, (pairs[0] != pairs[1]) & ~self.contains(pairs)]

    def distinct(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """`count` different pairs, (2, count).

        Raises:
            GraphError: There are not that many pairs without an edge.
        """
        if count > self.available:
            raise GraphError(
                f"expected {count} pairs of nodes without an edge, found {self.available}. The graph is too dense to "
                "compare edges with as many other pairs; use smaller shares for validation and test."
            )
        keys = torch.empty(0, dtype=torch.int64)
        if self._others is not None:
            keys = self._others[torch.randperm(len(self._others), generator=generator)[:count]]
        while len(keys) < count:
            pairs = self._sample(2 * (count - len(keys)) + 16, generator, in_order=False)
            more = torch.cat((keys, pair_keys(pairs, self.num_nodes)))
            values, inverse = more.unique(return_inverse=True)
            first = torch.full_like(values, len(more)).scatter_reduce_(
                0, inverse, torch.arange(len(more)), reduce="amin"
            )
            keys = more[first.sort().values][:count]  # in the order in which they were drawn
        return torch.stack((keys // self.num_nodes, keys % self.num_nodes))
