"""Neighbour sampling for mini-batches, with weights that make sums over sampled neighbours unbiased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import get_worker_info
from torch_geometric.data import Data
from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput

from kappagcn.errors import GraphError, described
from kappagcn.sparse.matrix import SparseMatrix, check_range

__all__ = ["NeighbourSampler", "Sample", "SparseRows"]


class RowStarts:
    """Rows of entries in order, given by the start of each.

    Args:
        starts: Index of the first entry of each row, and the number of entries, (N + 1,).
    """

    def __init__(self, starts: Tensor) -> None:
        self.starts = starts

    def counts(self, rows: Tensor) -> Tensor:
        """Number of entries of each of these rows, (R,)."""
        return self.starts[rows + 1] - self.starts[rows]

    def entries(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """All entries of these rows: for each the position of its row in `rows`, and the entry's index, both (E,)."""
        counts = self.counts(rows)
        local = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
        within = torch.arange(len(local), device=rows.device) - (counts.cumsum(0) - counts)[local]
        return local, self.starts[rows][local] + within


class SparseRows(RowStarts):
    """Rows of a sparse matrix by index, at a cost that depends on these rows and not on the matrix.

    Args:
        matrix: The matrix (M, N); repeated entries add up.

    >>> rows = SparseRows(SparseMatrix(torch.tensor([2, 0]), torch.tensor([1, 0]), torch.ones(2), (3, 2)))
    >>> rows.take(torch.tensor([2, 2, 1])).to_dense()
    tensor([[0., 1.],
            [0., 1.],
            [0., 0.]])
    """

    def __init__(self, matrix: SparseMatrix) -> None:
        if matrix.values.requires_grad:
            raise GraphError("expected a matrix whose entries need no gradient, found one whose entries do.")
        entries = matrix.to_coo()
        rows, self.cols = entries.indices().clone()
        self.values, self.shape = entries.values().clone(), matrix.shape
        self.starts = torch.searchsorted(rows, torch.arange(matrix.shape[0] + 1, device=rows.device))

    def columns_at(self, entries: Tensor) -> Tensor:
        """Columns of these entries."""
        columns: Tensor = self.cols[entries]
        return columns

    def values_at(self, rows: Tensor, entries: Tensor) -> Tensor:
        """Values of these entries, which lie in these rows."""
        return self.values[entries]

    def take(self, rows: Tensor) -> SparseMatrix:
        """These rows as a matrix (R, N)."""
        local, indices = self.entries(rows)
        return SparseMatrix(local, self.cols[indices], self.values[indices], (len(rows), self.shape[1]))

    def find(self, rows: Tensor, cols: Tensor) -> Tensor:
        """Indices of existing entries by row and column, (E,), by bisection in all rows at once."""
        low, high = self.starts[rows], self.starts[rows + 1]
        while bool((high - low > 1).any()):
            middle = (low + high) // 2
            above = self.cols[middle.clamp(max=len(self.cols) - 1)] > cols
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
        return low


class RowsWithLoops(SparseRows):
    """Rows of a square matrix off its diagonal, and its diagonal.

    Args:
        matrix: The matrix (N, N).
    """

    def __init__(self, matrix: SparseMatrix) -> None:
        loop = matrix.rows == matrix.cols
        nodes, loop_rows = matrix.shape[0], matrix.rows[loop]
        self._loops = matrix.values.detach().new_zeros(nodes).index_add(0, loop_rows, matrix.values[loop])
        self._has_loop = torch.zeros(nodes, dtype=torch.bool, device=loop_rows.device).index_fill(0, loop_rows, True)
        rows, cols, values = (part[~loop] for part in (matrix.rows, matrix.cols, matrix.values))
        super().__init__(SparseMatrix(rows, cols, values, matrix.shape))

    def has_loops(self, nodes: Tensor) -> Tensor:
        """Whether these nodes have an entry on the diagonal, (R,)."""
        return self._has_loop[nodes]

    def loop_values(self, nodes: Tensor) -> Tensor:
        """Values on the diagonal, (R,)."""
        return self._loops[nodes]


@dataclass(frozen=True, repr=False)
class Sample:
    """A sampled neighbourhood of some seed nodes.

    Attributes:
        nodes: All nodes, the seeds first, (M,).
        blocks: One matrix per hop in the order of multiplication, (number of output nodes, number of input nodes); the
            output nodes are the first of the input nodes.

    >>> from kappagcn.graphs import star
    >>> from kappagcn.sparse import normalized_adjacency
    >>> NeighbourSampler(normalized_adjacency(star(5).edge_index), (2, 2)).sample(torch.tensor([0])).blocks[-1].shape
    (1, 3)
    """

    nodes: Tensor
    blocks: list[SparseMatrix]

    def __repr__(self) -> str:
        return f"Sample({len(self.nodes)} nodes, blocks={self.blocks})"


class HopSampler(BaseSampler):
    """Base of samplers for ``NodeLoader``, hop by hop from nodes.

    Draws are reproducible, pickled with the sampler, and different in each worker of a loader.

    Args:
        neighbours: Number of neighbours k per hop, from the seeds outwards; −1 for all.
        seed: Seed of the draws.
    """

    def __init__(self, neighbours: Sequence[int], seed: int) -> None:
        self.neighbours, self.seed = checked_neighbours(neighbours), seed
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Restart the draws with a seed."""
        self.generator = torch.Generator().manual_seed(seed)
        self._worker: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "generator": self.generator.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, generator=torch.Generator())
        self.generator.set_state(state["generator"])

    def _offsets(self, degree: Tensor, k: int) -> Tensor:
        """k different integers below each degree, (B, k), by Floyd's algorithm: its cost does not depend on degrees."""
        offsets = degree.new_empty(len(degree), k)
        uniform = torch.rand(len(degree), k, dtype=torch.float64, generator=self._generator()).to(degree.device)
        for i in range(k):
            last = degree - k + i
            offset = (uniform[:, i] * (last + 1)).long()
            taken = (offsets[:, :i] == offset.unsqueeze(1)).any(1)
            offsets[:, i] = torch.where(taken, last, offset)
        return offsets

    def _generator(self) -> torch.Generator:
        """The random generator; a loader's workers have different seeds, and new ones in each epoch."""
        worker = get_worker_info()
        if worker is not None and worker.seed != self._worker:
            self.generator.manual_seed((self.seed + worker.seed) % 2**63)
            self._worker = worker.seed
        return self.generator

    def _drawn(self, rows: RowStarts, nodes: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """All entries of rows with at most k, and k of longer ones: positions of the rows in `nodes`, and entries."""
        degree = rows.counts(nodes)
        sampled = degree > (k if k >= 0 else degree)
        many, few, k = sampled.nonzero().flatten(), (~sampled).nonzero().flatten(), max(k, 0)
        local, entries = rows.entries(nodes[few])
        drawn = rows.starts[nodes[many]].unsqueeze(1) + self._offsets(degree[many], k)
        return torch.cat([few[local], many.repeat_interleave(k)]), torch.cat([entries, drawn.flatten()])

    def _hop(self, nodes: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """Drawn edges into `nodes`: position of the target in `nodes`, source, and the edge or its weight."""
        raise NotImplementedError

    def _reach(self, index: NodeSamplerInput) -> tuple[SamplerOutput, Tensor]:
        """A subgraph, with neighbours drawn once for each node, in the hop after it was reached; edges or weights."""
        nodes, done, hops = index.node, 0, []
        counts: tuple[list[int], list[int]] = [len(nodes)], []
        for k in self.neighbours:
            rows, cols, edges = self._hop(nodes[done:], k)
            wider, positions = extended(nodes, cols, rows + done)
            hops.append((positions, rows + done, edges))
            done = len(nodes)
            counts[0].append(len(wider) - done)
            counts[1].append(len(rows))
            nodes = wider
        source, target, edges = (torch.cat(part) for part in zip(*hops, strict=True))
        seeds = torch.arange(len(index.node)) if index.input_id is None else index.input_id
        return SamplerOutput(nodes, source, target, None, None, *counts, metadata=(seeds, index.time)), edges

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> SamplerOutput:
        """Raise an error: this sampler starts from nodes."""
        raise GraphError("expected nodes to start from, as NodeLoader gives them, found edges.")


class NeighbourSampler(HopSampler):
    r"""Sampler of at most k entries of each node's row, uniformly and without replacement.

    Of the d entries off the diagonal k are drawn and multiplied by d/k; the diagonal is kept. So Σ_j Ã_ij E_j is an
    unbiased estimate of Σ_j Â_ij E_j for any E, with the degrees of the whole graph in Â: of the sums of lifted points
    in midpoints, and of the row sums. The cost depends on the batch, not on the size of the graph or of its hubs.

    It is also a sampler for PyG's ``NodeLoader``, which draws once per node and not once per layer. With
    ``transform=sampler.weigh`` its batches have the corrected `edge_weight`, self-loops included, for layers with
    ``normalize="none", add_self_loops=False``.

    Args:
        adjacency: Normalised adjacency Â, (N, N), such as that of `normalized_adjacency`.
        neighbours: Number of neighbours k per hop, from the seeds outwards; −1 for all.
        seed: Seed of the draws.

    >>> from kappagcn.graphs import star
    >>> from kappagcn.sparse import normalized_adjacency
    >>> sampler = NeighbourSampler(normalized_adjacency(star(100).edge_index), (10, -1))
    >>> sampler.sample(torch.tensor([0]))
    Sample(101 nodes, blocks=[SparseMatrix(11 × 101, 121 entries), SparseMatrix(1 × 11, 11 entries)])
    """

    def __init__(self, adjacency: SparseMatrix | RowsWithLoops, neighbours: Sequence[int], *, seed: int = 0) -> None:
        square = isinstance(adjacency, SparseMatrix | RowsWithLoops) and adjacency.shape[0] == adjacency.shape[1]
        if not square:
            value = adjacency.shape if isinstance(adjacency, SparseMatrix) else type(adjacency).__name__
            raise GraphError(f"expected an adjacency as a square SparseMatrix, found {value}.")
        super().__init__(neighbours, seed)
        self.rows = RowsWithLoops(adjacency) if isinstance(adjacency, SparseMatrix) else adjacency

    def sample(self, seeds: Tensor, neighbours: Sequence[int] | None = None) -> Sample:
        """Sample the neighbourhood of some nodes, with new draws for each hop.

        Args:
            seeds: Nodes, (B,); a repeated node gets separate draws.
            neighbours: Number of neighbours per hop; None for that of the sampler.
        """
        self._check_nodes(seeds)
        nodes, blocks = seeds.to(self.rows.starts.device), []
        for k in self.neighbours if neighbours is None else checked_neighbours(neighbours):
            rows, cols, weights = self._hop(nodes, k)
            wider, positions = extended(nodes, cols, rows)
            blocks.append(SparseMatrix(rows, positions, weights, (len(nodes), len(wider))))
            nodes = wider
        return Sample(nodes, blocks[::-1])

    def _check_nodes(self, nodes: Tensor) -> None:
        if not isinstance(nodes, Tensor) or nodes.dim() != 1 or nodes.dtype != torch.int64:
            raise GraphError(f"expected nodes as a tensor (B,) of int64, found {described(nodes)}.")
        check_range(nodes, self.rows.shape[0], "expected nodes")

    def _hop(self, nodes: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """Sampled entries of the rows of `nodes`: position in `nodes`, column, weight; self-loops come last."""
        rows, entries = self._drawn(self.rows, nodes, k)
        weights = self.rows.values_at(nodes[rows], entries)
        if k >= 0:  # d/k where k of d entries were drawn
            weights = weights * (self.rows.counts(nodes[rows]) / k).clamp(min=1).to(weights.dtype)
        loops = self.rows.has_loops(nodes).nonzero().flatten()
        cols = torch.cat([self.rows.columns_at(entries), nodes[loops]])
        return torch.cat([rows, loops]), cols, torch.cat([weights, self.rows.loop_values(nodes[loops])])

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        """Sample a subgraph for ``NodeLoader``: neighbours are drawn once per node; `metadata` holds the weights."""
        self._check_nodes(index.node)
        output, weights = self._reach(index)
        output.metadata = (*output.metadata, weights)
        return output

    def weigh(self, batch: Data) -> Data:
        """Set the corrected `edge_weight` of a ``NodeLoader``'s batch."""
        source, target = batch.n_id[batch.edge_index]
        loop = source == target
        weight = self.rows.loop_values(target)
        drawn = torch.bincount(batch.edge_index[1][~loop], minlength=len(batch.n_id))[batch.edge_index[1][~loop]]
        share = (self.rows.counts(target[~loop]) / drawn).to(weight.dtype)
        weight[~loop] = share * self.rows.values_at(target[~loop], self.rows.find(target[~loop], source[~loop]))
        batch.edge_weight = weight
        return batch


def checked_neighbours(neighbours: Sequence[int]) -> tuple[int, ...]:
    """Numbers of neighbours per hop, after a check."""
    sequence = isinstance(neighbours, Sequence) and not isinstance(neighbours, str)
    whole = sequence and all(isinstance(k, Integral) and not isinstance(k, bool) for k in neighbours)
    if not whole or not all(k == -1 or k >= 1 for k in neighbours):
        raise GraphError(f"neighbours: expected a number from 1 for each hop, or -1 for all, found {neighbours!r}.")
    return tuple(int(k) for k in neighbours)


def extended(nodes: Tensor, cols: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """`nodes` followed by new nodes of `cols`, and the position of each of `cols`; that of a self-loop is its row."""
    distinct, inverse = torch.cat([nodes, cols]).unique(return_inverse=True)
    position = torch.full_like(distinct, len(nodes))
    position.scatter_reduce_(0, inverse[: len(nodes)], torch.arange(len(nodes), device=nodes.device), "amin")
    new = position == len(nodes)
    position[new] = torch.arange(len(nodes), len(nodes) + int(new.sum()), device=nodes.device)
    loops = nodes[rows] == cols
    return torch.cat([nodes, distinct[new]]), torch.where(loops, rows, position[inverse[len(nodes) :]])
