"""KappaNeighborLoader: mini-batches of a graph as PyG's ``NeighborLoader`` makes them, without compiled packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, FeatureStore, GraphStore
from torch_geometric.data.data import BaseData
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import NodeSamplerInput, SamplerOutput

from kappagcn.errors import GraphError
from kappagcn.sparse.matrix import SparseMatrix, check_range
from kappagcn.sparse.sampler import HopSampler, RowStarts, SparseRows

__all__ = ["EdgeSampler", "KappaNeighborLoader"]

COLUMN_LISTS = ("class_names", "attr_names")  # lists that do not belong to nodes, also if there are as many


class EdgeSampler(HopSampler):
    """Sampler for ``NodeLoader``: at most k of the edges that end in each node, uniformly and without replacement.

    Args:
        edge_index: Edges, (2, E).
        num_nodes: Number of nodes N.
        num_neighbors: k for each hop; −1 for all.
        seed: Seed of the draws.

    >>> sampler = EdgeSampler(torch.tensor([[1, 2, 3], [0, 0, 0]]), 4, [2], seed=0)
    >>> sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([0]))).node.shape
    torch.Size([3])
    """

    def __init__(self, edge_index: Tensor, num_nodes: int, num_neighbors: Sequence[int], *, seed: int) -> None:
        super().__init__(num_neighbors, seed)
        self.num_nodes = num_nodes
        check_range(edge_index, num_nodes, "expected edges between nodes")
        source, target = edge_index.unbind()
        order = target.argsort(stable=True)
        self.edges: Tensor | None = order  # None where edges are numbered in the order of targets
        self.sources = source[order]
        self.rows = RowStarts(torch.searchsorted(target[order], torch.arange(num_nodes + 1)))

    @classmethod
    def of_sorted(cls, sources: Tensor, starts: Tensor, num_neighbors: Sequence[int], *, seed: int) -> EdgeSampler:
        """A sampler of edges in CSC form, which need not be in memory: sources (E,), start of each target (N + 1,)."""
        sampler = cls(torch.zeros(2, 0, dtype=torch.long), len(starts) - 1, num_neighbors, seed=seed)
        sampler.sources, sampler.rows, sampler.edges = sources, RowStarts(starts), None
        return sampler

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        """Sample a subgraph; neighbours are drawn once for each node, in the hop after it was reached."""
        check_range(index.node, self.num_nodes, "expected nodes")
        output, edges = self._reach(index)
        output.edge = edges
        return output

    def _hop(self, nodes: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """Drawn edges into `nodes`: position of the target in `nodes`, source, edge."""
        rows, places = self._drawn(self.rows, nodes, k)
        return rows, self.sources[places].long(), places if self.edges is None else self.edges[places]


class KappaNeighborLoader(NodeLoader):
    """Mini-batches by neighbour sampling, in place of PyG's ``NeighborLoader``, which needs compiled packages.

    Batches are ``Data`` with the seeds first, `batch_size`, `n_id`, `e_id`, `input_id`, `num_sampled_nodes` and
    `num_sampled_edges`; attributes of nodes and edges, lists of names too, are restricted to those of the batch. Sparse
    features stay sparse. For weights that make sums over sampled neighbours unbiased use `NeighbourSampler`.

    Args:
        data: A graph with `edge_index`; or one of a single type of nodes that is both a feature store and a graph store
            of PyG, such as `kappagcn.graphs.MappedGraph`.
        num_neighbors: Number of neighbours per hop, from the seeds outwards; −1 for all.
        input_nodes: Seeds, as indices or a mask; None for all nodes.
        seed: Seed of the draws; None to take it from torch's generator.
        **kwargs: `batch_size`, `shuffle`, `num_workers`, `transform` and others of ``NodeLoader`` and ``DataLoader``.

    >>> from torch_geometric.data import Data
    >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[1, 2, 3, 0], [0, 0, 0, 1]]))
    >>> batch = next(iter(KappaNeighborLoader(data, num_neighbors=[2, 2], batch_size=1)))
    >>> batch.batch_size, batch.n_id[0].item(), batch.x.shape[0] >= 3
    (1, 0, True)
    """

    transform: Callable[[Data], Data] | None

    def __init__(
        self,
        data: Data | FeatureStore,
        num_neighbors: Sequence[int],
        input_nodes: Tensor | None = None,
        *,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        draws = int(torch.randint(2**62, ())) if seed is None else seed
        self.sparse_x: SparseRows | None = None
        self.lists: dict[str, Any] = {}
        if isinstance(data, FeatureStore) and isinstance(data, GraphStore) and not isinstance(data, BaseData):
            (edges,) = data.get_all_edge_attrs()
            sources, starts = data.get_edge_index(edges.edge_type, layout="csc")
            stored = EdgeSampler.of_sorted(sources, starts, num_neighbors, seed=draws)
            nodes = torch.arange(len(starts) - 1) if input_nodes is None else input_nodes
            super().__init__((data, data), stored, input_nodes=(edges.edge_type[0], nodes), **kwargs)
            return
        edges = data.get("edge_index") if isinstance(data, Data) else None
        if not isinstance(edges, Tensor):
            raise GraphError(f"data: expected a Data with edge_index, found {type(data).__name__} {data!r}.")
        sampler = EdgeSampler(edges, data.num_nodes, num_neighbors, seed=draws)
        self.lists = {key: value for key, value in data if isinstance(value, list | tuple)}
        self.node_lists = [key for key in self.lists if data.is_node_attr(key) and key not in COLUMN_LISTS]
        self.edge_lists = [key for key in self.lists if data.is_edge_attr(key) and key not in self.node_lists]
        nodes, data, x = data.num_nodes, copy(data), data.get("x")
        for key in self.lists:  # NodeLoader cannot take rows of lists and sparse matrices
            del data[key]
        if isinstance(x, Tensor) and x.layout != torch.strided:
            self.sparse_x = SparseRows(SparseMatrix.from_tensor(x))
            del data.x
        data.num_nodes = nodes
        super().__init__(data, sampler, input_nodes=input_nodes, **kwargs)

    def filter_fn(self, out: SamplerOutput) -> Data:
        """A batch from the result of the sampler."""
        if self.sparse_x is None and not self.lists:
            return super().filter_fn(out)
        transform, self.transform = self.transform, None
        try:
            batch: Data = super().filter_fn(out)
        finally:
            self.transform = transform
        if self.sparse_x is not None:
            batch.x = self.sparse_x.take(out.node).to_csr()
        for key, values in self.lists.items():
            taken = out.node if key in self.node_lists else out.edge if key in self.edge_lists else None
            batch[key] = values if taken is None else [values[place] for place in taken.tolist()]
        return batch if transform is None else transform(batch)
