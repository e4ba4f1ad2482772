"""Exact inference with all neighbours, layer by layer in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from kappagcn.errors import ConfigError, described
from kappagcn.models import NodeClassifier, Step
from kappagcn.nn.inputs import Features
from kappagcn.sparse import SparseMatrix
from kappagcn.sparse.sampler import NeighbourSampler, Sample, SparseRows
from kappagcn.training.setting_field import check_count

BATCH = 4096
CACHED_BLOCKS = 4


def take_rows(x: Tensor | SparseRows, nodes: Tensor) -> Features:
    """Rows of features by index, (R, D)."""
    return x.take(nodes.to(x.cols.device)) if isinstance(x, SparseRows) else x[nodes]


class Inference:
    """Exact logits from all neighbours, layer by layer in blocks of rows.

    Args:
        model: The network.
        x: Features of all nodes, or `kappagcn.graphs.MappedRows`.
        sampler: Sampler of the graph; None for a network without a graph.
        batch_size: Rows in a block.
        steps: The first few of ``model.steps()``; all by default.
        scratch: Folder for the rows of each layer; None to hold them in memory.
    """

    def __init__(
        self,
        model: NodeClassifier,
        x: Tensor | SparseRows,
        sampler: NeighbourSampler | None,
        *,
        batch_size: int = BATCH,
        steps: Sequence[Step] | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.model, self.x, self.sampler, self.batch_size, self.scratch = model, x, sampler, batch_size, scratch
        self.steps = model.steps() if steps is None else steps
        self.device = x.values.device if isinstance(x, SparseRows) else x.device
        self._nodes: Tensor | None = None
        self._needed: list[Tensor] = []
        self._cache: dict[tuple[int, int], tuple[Tensor, Features | None, list[SparseMatrix]]] = {}

    @torch.no_grad()
    def scores(self, nodes: Tensor | None = None) -> Tensor:
        """Logits of these nodes, or of all, in evaluation mode; computes only the rows that they need."""
        nodes = None if nodes is None else nodes.to(self.device)
        if nodes is None or self._nodes is None or not torch.equal(nodes, self._nodes):
            self._nodes, self._needed, self._cache = nodes, self._needed_rows(nodes), {}
        with _evaluation(self.model):
            v: Tensor | SparseRows = self.x
            for i in range(len(self.steps)):
                v = self._step(i, v)
        assert isinstance(v, Tensor)
        return v if nodes is None else v[torch.searchsorted(self._needed[-1], nodes)]

    def _needed_rows(self, nodes: Tensor | None) -> list[Tensor]:
        """Sorted nodes whose rows are needed: those of the features, then those after each step."""
        all_nodes = torch.arange(self.x.shape[0], device=self.device)
        if nodes is None:
            return [all_nodes] * (len(self.steps) + 1)
        needed = [nodes.unique()]
        for step in self.steps[:0:-1]:
            needed.append(self._sample(needed[-1]).nodes.sort().values if step.aggregates else needed[-1])
        return [all_nodes, *reversed(needed)]

    def _sample(self, nodes: Tensor) -> Sample:
        """All neighbours of some nodes."""
        assert self.sampler is not None
        return self.sampler.sample(nodes, (-1,))

    def _step(self, i: int, v: Tensor | SparseRows) -> Tensor:
        """All rows needed after a step from those before it."""
        count, after = len(self._needed[i + 1]), None
        for start in range(0, max(count, 1), self.batch_size):
            rows, features, matrices = self._block(i, start)
            block = self.steps[i].run(take_rows(v, rows) if features is None else features, *matrices)
            after = self._empty(i, block, count) if after is None else after
            after[start : start + len(block)] = block
        assert after is not None
        return after

    def _empty(self, i: int, block: Tensor, count: int) -> Tensor:
        """Room for all rows of a layer, in a file where there is a scratch folder."""
        if self.scratch is None:
            return block.new_empty(count, block.shape[1])
        size = count * block.shape[1]
        rows = torch.from_file(str(self.scratch / f"layer-{i}"), shared=True, size=size, dtype=block.dtype)
        return rows.view(count, block.shape[1])

    def _block(self, i: int, start: int) -> tuple[Tensor, Features | None, list[SparseMatrix]]:
        """Input rows of a block, these rows themselves where they are sparse features, and its matrix.

        The first few are cached: the same nodes are evaluated after each epoch.
        """
        if (i, start) in self._cache:
            return self._cache[i, start]
        nodes, matrices = self._needed[i + 1][start : start + self.batch_size], []
        if self.steps[i].aggregates:
            sample = self._sample(nodes)
            nodes, matrices = sample.nodes, sample.blocks
        features = self.x.take(nodes) if i == 0 and isinstance(self.x, SparseRows) else None
        block = torch.searchsorted(self._needed[i], nodes), features, matrices
        if self._nodes is not None and start < CACHED_BLOCKS * self.batch_size:
            self._cache[i, start] = block
        return block


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
    steps: Sequence[Step] | None = None,
) -> Tensor:
    """``model(x, edge_index, edge_weight)`` in evaluation mode, layer by layer in blocks of rows, (N, C).

    It needs memory for one layer's rows and for a block. For new nodes, pass the graph with them and their indices.

    Args:
        model: The network.
        x: Features of all nodes, (N, D), dense or sparse.
        edge_index: Edges (2, E), or the matrix that ``model.adjacency`` makes.
        edge_weight: Weights of edges, (E,).
        batch_size: Rows in a block.
        nodes: Nodes to compute, (R,), for a result (R, C); all by default.
        steps: The first few of ``model.steps()``, to end in a hidden layer; all by default.

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.models import KappaGCN
    >>> data, model = disease(200), KappaGCN(10, 2, "H4").eval().double()
    >>> x = 0.1 * data.x.double()
    >>> torch.allclose(layerwise(model, x, data.edge_index, batch_size=50), model(x, data.edge_index))
    True
    """
    check_count("batch_size", batch_size)
    if nodes is not None and not (isinstance(nodes, Tensor) and nodes.dtype == torch.int64 and nodes.dim() == 1):
        raise ConfigError(f"nodes: expected numbers of nodes as a tensor (R,) of int64, found {described(nodes)}.")
    if nodes is not None and len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < x.shape[0]:
        raise ConfigError(f"nodes: expected 0 to {x.shape[0] - 1}, found {int(nodes.min())} to {int(nodes.max())}.")
    if model.needs_whole_graph:
        raise ConfigError(f"expected a network that takes blocks of rows, found {model.name}. Call it on the graph.")
    sampler = None
    if any(step.aggregates for step in model.steps()):
        sampler = NeighbourSampler(model.adjacency(x, edge_index, edge_weight), (-1,))
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = SparseMatrix.from_tensor(x)
    rows = SparseRows(x) if isinstance(x, SparseMatrix) else x
    return Inference(model, rows, sampler, batch_size=int(batch_size), steps=steps).scores(nodes)
