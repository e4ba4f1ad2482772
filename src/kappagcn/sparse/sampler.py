"""Some neighbours of some nodes, drawn so that sums over them are right on average."""

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

from kappagcn.errors import GraphError
from kappagcn.sparse.matrix import SparseMatrix

__all__ = ["NeighbourSampler", "Sample", "SparseRows"]


class SparseRows:
    """Rows of a sparse matrix by their numbers, at the cost of the rows taken and not of the matrix.

    Args:
        matrix: The matrix (M, N); entries given several times add up.

    >>> rows = SparseRows(SparseMatrix(torch.tensor([2, 0]), torch.tensor([1, 0]), torch.ones(2), (3, 2)))
    >>> rows.take(torch.tensor([2, 2, 1])).to_dense()
    tensor([[0., 1.],
            [0., 1.],
            [0., 0.]])
    """

    def __init__(self, matrix: SparseMatrix) -> None:
        if matrix.values.requires_grad:
            raise GraphError("expected a matrix whose entries need no gradient, found one whose entries do.")
        places = torch.stack([matrix.rows, matrix.cols])
        found = torch.sparse_coo_tensor(places, matrix.values, matrix.shape, check_invariants=False).coalesce()
        rows, self.cols = found.indices().clone()
        self.values, self.shape = found.values().clone(), matrix.shape
        self.starts = torch.searchsorted(rows, torch.arange(matrix.shape[0] + 1, device=rows.device))

    def counts(self, rows: Tensor) -> Tensor:
        """How many entries each of these rows has, (R,)."""
        return self.starts[rows + 1] - self.starts[rows]

    def entries(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """All entries of these rows: for each the place of its row among them, and its own number, both (E,)."""
        counts = self.counts(rows)
        local = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
        within = torch.arange(len(local), device=rows.device) - (counts.cumsum(0) - counts)[local]
        return local, self.starts[rows][local] + within

    def take(self, rows: Tensor) -> SparseMatrix:
        """These rows as a matrix (R, N)."""
        local, numbers = self.entries(rows)
        return SparseMatrix(local, self.cols[numbers], self.values[numbers], (len(rows), self.shape[1]))

    def find(self, rows: Tensor, cols: Tensor) -> Tensor:
        """Numbers of the entries at these places, (E,), which must be there: bisection in all rows at once."""
        low, high = self.starts[rows], self.starts[rows + 1]
        while bool((high - low > 1).any()):
            middle = (low + high) // 2
            above = self.cols[middle.clamp(max=len(self.cols) - 1)] > cols
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
        return low


@dataclass(frozen=True, repr=False)
class Sample:
    """What it takes to compute the rows of some nodes.

    Attributes:
        nodes: All nodes needed, the seeds first, (M,).
        blocks: A matrix for each hop, the one to multiply with first at the front, (rows needed after it, rows needed
            before it); the nodes of the rows are the first ones of the columns.

    >>> from kappagcn.graphs import star
    >>> from kappagcn.sparse import normalized_adjacency
    >>> NeighbourSampler(normalized_adjacency(star(5).edge_index), (2, 2)).sample(torch.tensor([0])).blocks[-1].shape
    (1, 3)
    """

    nodes: Tensor
    blocks: list[SparseMatrix]

    def __repr__(self) -> str:
        return f"Sample({len(self.nodes)} nodes, blocks={self.blocks})"


class NeighbourSampler(BaseSampler):
    r"""For each node at most k of its row's entries, without replacement, each subset as likely as any other.

    Of d entries off the diagonal k are drawn and multiplied by d/k; the diagonal stays as it is. So Σ_j Ã_ij E_j is an
    unbiased estimate of Σ_j Â_ij E_j whatever E, with the degrees of the whole graph in Â: of the lifts' sums of which
    midpoints are made, and of the rows' sums. What it costs depends on the batch, not on the graph nor on its hubs.

    It is also a sampler for PyG's ``NodeLoader``, which draws once for each node and not anew for each layer. With
    ``transform=sampler.weigh`` its batches have the corrected `edge_weight`, self-loops included, for layers with
    ``normalize="none", add_self_loops=False``.

    Args:
        adjacency: Â, (N, N), such as `normalized_adjacency` makes.
        neighbours: k for each hop, that next to the seeds first; −1 for all.
        seed: Of the draws.

    >>> from kappagcn.graphs import star
    >>> from kappagcn.sparse import normalized_adjacency
    >>> sampler = NeighbourSampler(normalized_adjacency(star(100).edge_index), (10, -1))
    >>> sampler.sample(torch.tensor([0]))
    Sample(101 nodes, blocks=[SparseMatrix(11 × 101, 121 entries), SparseMatrix(1 × 11, 11 entries)])
    """

    def __init__(self, adjacency: SparseMatrix, neighbours: Sequence[int], *, seed: int = 0) -> None:
        if not isinstance(adjacency, SparseMatrix) or adjacency.shape[0] != adjacency.shape[1]:
            found = adjacency.shape if isinstance(adjacency, SparseMatrix) else type(adjacency).__name__
            raise GraphError(f"expected an adjacency as a square SparseMatrix, found {found}.")
        self.neighbours, self.seed = _checked(neighbours), seed
        loop = adjacency.rows == adjacency.cols
        own, nodes = adjacency.rows[loop], adjacency.shape[0]
        self.loops = adjacency.values.detach().new_zeros(nodes).index_add(0, own, adjacency.values[loop])
        self.has_loop = torch.zeros(nodes, dtype=torch.bool, device=own.device).index_fill(0, own, True)
        rows, cols, values = (part[~loop] for part in (adjacency.rows, adjacency.cols, adjacency.values))
        self.rows = SparseRows(SparseMatrix(rows, cols, values, adjacency.shape))
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Draw from this seed from now on."""
        self.generator = torch.Generator().manual_seed(seed)
        self._worker: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "generator": self.generator.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, generator=torch.Generator())
        self.generator.set_state(state["generator"])

    def sample(self, seeds: Tensor, neighbours: Sequence[int] | None = None) -> Sample:
        """Nodes and matrices for the rows of `seeds` (B,), drawn anew for each hop.

        Args:
            seeds: Nodes; one that is given twice is drawn for twice.
            neighbours: Other numbers of neighbours than the sampler's own.
        """
        self._check_nodes(seeds)
        nodes, blocks = seeds, []
        for k in self.neighbours if neighbours is None else _checked(neighbours):
            rows, cols, weights = self._hop(nodes, k)
            wider, places = _numbered(nodes, cols, rows)
            blocks.append(SparseMatrix(rows, places, weights, (len(nodes), len(wider))))
            nodes = wider
        return Sample(nodes, blocks[::-1])

    def _check_nodes(self, nodes: Tensor) -> None:
        count = self.rows.shape[0]
        if not isinstance(nodes, Tensor) or nodes.dim() != 1 or nodes.dtype != torch.int64:
            raise GraphError("expected nodes as a tensor (B,) of int64, found otherwise.")
        if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < count:
            raise GraphError(f"expected nodes 0 to {count - 1}, found {int(nodes.min())} to {int(nodes.max())}.")

    def _hop(self, nodes: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """Entries for the rows of `nodes`: row among them, column in the graph, weight; self-loops come last."""
        degree = self.rows.counts(nodes)
        many = (degree > k).nonzero().flatten() if k >= 0 else degree.new_empty(0)
        few = (degree <= k).nonzero().flatten() if k >= 0 else torch.arange(len(nodes), device=nodes.device)
        local, numbers = self.rows.entries(nodes[few])
        drawn = self.rows.starts[nodes[many]].unsqueeze(1) + self._places(degree[many], max(k, 0))
        some = self.rows.values[drawn] * (degree[many] / max(k, 1)).to(self.loops.dtype).unsqueeze(1)
        loops = self.has_loop[nodes].nonzero().flatten()
        rows = torch.cat([few[local], many.repeat_interleave(max(k, 0)), loops])
        cols = torch.cat([self.rows.cols[numbers], self.rows.cols[drawn].flatten(), nodes[loops]])
        return rows, cols, torch.cat([self.rows.values[numbers], some.flatten(), self.loops[nodes[loops]]])

    def _places(self, degree: Tensor, k: int) -> Tensor:
        """k different places below each degree, (B, k): Floyd's way, which never looks at all of a hub's neighbours."""
        found = degree.new_empty(len(degree), k)
        uniform = torch.rand(len(degree), k, dtype=torch.float64, generator=self._generator()).to(degree.device)
        for i in range(k):
            last = degree - k + i
            place = (uniform[:, i] * (last + 1)).long()
            taken = (found[:, :i] == place.unsqueeze(1)).any(1)
            found[:, i] = torch.where(taken, last, place)
        return found

    def _generator(self) -> torch.Generator:
        """The sampler's own; in a loader's worker one that differs between workers and between epochs."""
        worker = get_worker_info()
        if worker is not None and worker.seed != self._worker:
            self.generator.manual_seed((self.seed + worker.seed) % 2**63)
            self._worker = worker.seed
        return self.generator

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        """For ``NodeLoader``: a subgraph in which each node's neighbours are drawn once; weights in `metadata` too."""
        self._check_nodes(index.node)
        nodes, done, edges = index.node, 0, []
        counts: tuple[list[int], list[int]] = [len(nodes)], []
        for k in self.neighbours:
            rows, cols, weights = self._hop(nodes[done:], k)
            wider, places = _numbered(nodes, cols, rows + done)
            edges.append((places, rows + done, weights))
            done = len(nodes)
            counts[0].append(len(wider) - done)
            counts[1].append(len(rows))
            nodes = wider
        source, target, weight = (torch.cat(part) for part in zip(*edges, strict=True))
        kept = (torch.arange(len(index.node)) if index.input_id is None else index.input_id, index.time, weight)
        return SamplerOutput(nodes, source, target, None, None, *counts, metadata=kept)

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> SamplerOutput:
        """Refused: this sampler starts from nodes."""
        raise GraphError("expected nodes to start from, as NodeLoader gives them, found edges.")

    def weigh(self, batch: Data) -> Data:
        """A ``NodeLoader``'s batch with the corrected weights of its edges as `edge_weight`."""
        source, target = batch.n_id[batch.edge_index]
        loop = source == target
        weight = self.loops[target]
        drawn = torch.bincount(batch.edge_index[1][~loop], minlength=len(batch.n_id))[batch.edge_index[1][~loop]]
        share = (self.rows.counts(target[~loop]) / drawn).to(weight.dtype)
        weight[~loop] = share * self.rows.values[self.rows.find(target[~loop], source[~loop])]
        batch.edge_weight = weight
        return batch


def _checked(neighbours: Sequence[int]) -> tuple[int, ...]:
    found = tuple(neighbours) if isinstance(neighbours, Sequence) and not isinstance(neighbours, str) else None
    whole = found is not None and all(isinstance(k, Integral) and not isinstance(k, bool) for k in found)
    if found is None or not whole or not all(k == -1 or k >= 1 for k in found):
        raise GraphError(f"neighbours: expected a number from 1 for each hop, or -1 for all, found {neighbours!r}.")
    return tuple(int(k) for k in found)


def _numbered(nodes: Tensor, cols: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """`nodes` and behind them what else is in `cols`; and the places of `cols` in that, self-loops' at their rows."""
    found, places = torch.cat([nodes, cols]).unique(return_inverse=True)
    number = torch.full_like(found, len(nodes))
    number.scatter_reduce_(0, places[: len(nodes)], torch.arange(len(nodes), device=nodes.device), "amin")
    new = number == len(nodes)
    number[new] = torch.arange(len(nodes), len(nodes) + int(new.sum()), device=nodes.device)
    own = nodes[rows] == cols
    return torch.cat([nodes, found[new]]), torch.where(own, rows, number[places[len(nodes) :]])
