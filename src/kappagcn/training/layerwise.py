"""A network step by step: over the blocks of a batch, or exactly and layer by layer over a whole graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral

import torch
from torch import Tensor, nn

from kappagcn.errors import TrainingError
from kappagcn.models import NodeClassifier
from kappagcn.sparse import SparseMatrix
from kappagcn.sparse.sampler import NeighbourSampler, SparseRows
from kappagcn.training.tasks import Features

__all__ = ["Inference", "layerwise", "take_rows", "through"]

BATCH = 4096
KEPT_BLOCKS = 4


def through(model: NodeClassifier, x: Features, blocks: Sequence[SparseMatrix]) -> Tensor:
    """Logits of a batch's seeds, (B, C).

    Args:
        model: The network.
        x: Features of the batch's nodes, (M, D).
        blocks: A matrix for each step that aggregates, as in `kappagcn.graphs.Sample`.

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> sample = NeighbourSampler(model.adjacency(data.x, data.edge_index), (5, 5)).sample(torch.tensor([7, 8]))
    >>> through(model, data.x[sample.nodes], sample.blocks).shape
    torch.Size([2, 2])
    """
    v: Features = x
    every, left = model.steps(), list(blocks)
    if sum(step.aggregates for step in every) != len(left):
        wanted = sum(step.aggregates for step in every)
        raise TrainingError(f"blocks: expected {wanted}, one for each product with the graph, found {len(left)}.")
    for step in every:
        v = step(v, left.pop(0)) if step.aggregates else step(v)
    assert isinstance(v, Tensor)
    return v


def take_rows(x: Tensor | SparseRows, nodes: Tensor) -> Features:
    """Rows of features by number, (R, D)."""
    return x.take(nodes) if isinstance(x, SparseRows) else x[nodes]


class Inference:
    """Exact logits from all neighbours, one layer after the other, each in blocks of rows.

    Args:
        model: The network.
        x: Features (N, D), their rows ready to be taken.
        sampler: Of the graph; None for a network that looks at no neighbours.
        batch_size: Rows in a block.

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4")
    >>> sampler = NeighbourSampler(model.adjacency(data.x, data.edge_index), (5, 5))
    >>> Inference(model, data.x, sampler).scores(torch.arange(3)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        model: NodeClassifier,
        x: Tensor | SparseRows,
        sampler: NeighbourSampler | None,
        *,
        batch_size: int = BATCH,
    ) -> None:
        self.model, self.x, self.sampler, self.batch_size = model, x, sampler, batch_size
        self.steps = model.steps()
        self._nodes: Tensor | None = None
        self._wanted: list[Tensor | None] = []
        self._kept: dict[tuple[int, int], tuple[Tensor, Features | None, list[SparseMatrix]]] = {}

    @torch.no_grad()
    def scores(self, nodes: Tensor | None = None) -> Tensor:
        """Logits of these nodes, or of all, as a network in evaluation gives them; only what they need is computed."""
        if nodes is None or self._nodes is None or not torch.equal(nodes, self._nodes):
            self._nodes, self._wanted, self._kept = nodes, self._needed(nodes), {}
        with _evaluation(self.model):
            v: Tensor | SparseRows = self.x
            for number in range(len(self.steps)):
                v = self._step(number, v)
        assert isinstance(v, Tensor)
        last = self._wanted[-1]
        return v if nodes is None or last is None else v[torch.searchsorted(last, nodes)]

    def _needed(self, nodes: Tensor | None) -> list[Tensor | None]:
        """The nodes, sorted, whose rows are needed after each step; None for all."""
        if nodes is None:
            return [None] * len(self.steps)
        wanted = [nodes.unique()]
        for step in self.steps[:0:-1]:
            own = wanted[0]
            wanted.insert(0, self._around(own) if step.aggregates else own)
        return list(wanted)

    def _around(self, nodes: Tensor) -> Tensor:
        assert self.sampler is not None
        neighbours: Tensor = self.sampler.sample(nodes, (-1,)).nodes.sort().values
        return neighbours

    def _step(self, number: int, v: Tensor | SparseRows) -> Tensor:
        """All rows needed after a step from those before it."""
        wanted = self._wanted[number]
        every = torch.arange(self.x.shape[0]) if wanted is None else wanted
        rows_after: Tensor | None = None
        for place in range(0, max(len(every), 1), self.batch_size):
            rows = every[place : place + self.batch_size]
            inputs, features, blocks = self._prepared(number, place, rows)
            block = self.steps[number](take_rows(v, inputs) if features is None else features, *blocks)
            if rows_after is None:
                rows_after = block.new_empty(len(every), block.shape[1])
            rows_after[place : place + len(rows)] = block
        assert rows_after is not None
        return rows_after

    def _prepared(self, number: int, place: int, rows: Tensor) -> tuple[Tensor, Features | None, list[SparseMatrix]]:
        """Which rows go into a block, these rows where they are sparse features, and its matrix.

        Kept for the next time where it is not much: the same nodes are asked for after each epoch.
        """
        if (number, place) in self._kept:
            return self._kept[number, place]
        nodes, blocks = rows, []
        if self.steps[number].aggregates:
            assert self.sampler is not None
            sample = self.sampler.sample(rows, (-1,))
            nodes, blocks = sample.nodes, sample.blocks
        before = self._wanted[number - 1] if number else None
        inputs = nodes if before is None else torch.searchsorted(before, nodes)
        features = self.x.take(nodes) if number == 0 and isinstance(self.x, SparseRows) else None
        prepared = inputs, features, blocks
        if self._nodes is not None and place < KEPT_BLOCKS * self.batch_size:
            self._kept[number, place] = prepared
        return prepared


@contextmanager
def _evaluation(model: nn.Module) -> Iterator[None]:
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)


def layerwise(
    model: NodeClassifier,
    x: Features,
    edge_index: Tensor | SparseMatrix,
    edge_weight: Tensor | None = None,
    *,
    batch_size: int = BATCH,
    nodes: Tensor | None = None,
) -> Tensor:
    """What ``model(x, edge_index, edge_weight)`` gives in evaluation, layer by layer in blocks of rows, (N, C).

    It takes the memory of one layer's rows and of a block. For nodes that are new, give the graph with them and their
    numbers.

    Args:
        model: The network.
        x: Features of all nodes, (N, D), dense or sparse.
        edge_index: Edges (2, E), or the matrix that ``model.adjacency`` makes.
        edge_weight: Weights of edges, (E,).
        batch_size: Rows in a block.
        nodes: Nodes wanted, (R,), for a result (R, C) that takes only what they need; all by default.

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4").eval()
    >>> torch.allclose(layerwise(model, data.x, data.edge_index, batch_size=50), model(data.x, data.edge_index))
    True
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise TrainingError(f"batch_size: expected a whole number from 1, found {batch_size!r}.")
    if nodes is not None and not (isinstance(nodes, Tensor) and nodes.dtype == torch.int64 and nodes.dim() == 1):
        raise TrainingError("nodes: expected numbers of nodes as a tensor (R,) of int64, found otherwise.")
    if nodes is not None and len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < x.shape[0]:
        raise TrainingError(f"nodes: expected 0 to {x.shape[0] - 1}, found {int(nodes.min())} to {int(nodes.max())}.")
    if not any(step.aggregates for step in model.steps()):
        sampler = None
    else:
        sampler = NeighbourSampler(model.adjacency(x, edge_index, edge_weight), (-1,))
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = SparseMatrix.from_tensor(x)
    rows = SparseRows(x) if isinstance(x, SparseMatrix) else x
    return Inference(model, rows, sampler, batch_size=int(batch_size)).scores(nodes)
