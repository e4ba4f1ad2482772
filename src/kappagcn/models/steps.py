"""A network as a list of steps, each with at most one product with the adjacency matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from kappagcn.nn.inputs import Features
from kappagcn.sparse import SparseMatrix

__all__ = ["Step"]


@dataclass(frozen=True)
class Step:
    """A part of a network: rows in, rows out, and between them the graph or not.

    Attributes:
        run: From rows (N, D), and a matrix (M, N) where it aggregates, to rows (M, E).
        aggregates: Whether it multiplies with the adjacency matrix.
        needs_all_neighbors: Whether its result is wrong for a sample of the neighbours.

    >>> import torch
    >>> Step(torch.relu, aggregates=False)(torch.tensor([[-1.0]]))
    tensor([[0.]])
    """

    run: Callable[..., Tensor]
    aggregates: bool
    needs_all_neighbors: bool = False

    def __call__(self, v: Features, *graph: SparseMatrix) -> Tensor:
        """The rows after it."""
        return self.run(v, *graph)
