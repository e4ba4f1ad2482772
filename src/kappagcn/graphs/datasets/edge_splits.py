"""Splits of the edges for link prediction, without leaks: training sees no validation or test edge in any direction.

`edge_split` is HGCN's protocol: 85/5/10 % of the undirected edges, and as many pairs without an edge for validation and
test. Pairs are stored once, lower number first; test pairs have one explicit accessor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError, described
from kappagcn.graphs.datasets.preprocess import count_degrees
from kappagcn.graphs.datasets.splits import VISIBLE
from kappagcn.graphs.negatives import NegativeSampler, checked_pairs, pair_keys

__all__ = ["EdgeSplit", "LabelledPairs", "edge_split", "time_split"]


class LabelledPairs(NamedTuple):
    """Edges and pairs without an edge, (2, P) each.

    >>> pairs = LabelledPairs(torch.tensor([[0], [1]]), torch.tensor([[0, 1], [2, 2]]))
    >>> pairs.both.shape, pairs.labels.tolist()
    (torch.Size([2, 3]), [1.0, 0.0, 0.0])
    """

    edges: Tensor
    others: Tensor

    @property
    def both(self) -> Tensor:
        """Edges, followed by the pairs without an edge, (2, P)."""
        return torch.cat((self.edges, self.others), 1)

    @property
    def labels(self) -> Tensor:
        """1 for edges, 0 for pairs without an edge, (P,)."""
        return torch.cat((torch.ones(self.edges.shape[1]), torch.zeros(self.others.shape[1])))


class EdgeSplit:
    """A split of a graph's edges.

    `train` and `validation` are for training and the choice of settings; test pairs come only from `final_test_pairs`.

    Args:
        train: Training edges, along which messages pass, (2, P).
        validation: Edges, and pairs without an edge, for early stopping and the choice of settings.
        test: Edges, and pairs without an edge, for the final evaluation.
        num_nodes: Number of nodes N.
        name: Name of the split, for records.

    >>> from kappagcn.graphs import disease
    >>> split = edge_split(disease(), seed=0)
    >>> split
    EdgeSplit(random 0: 851 train, 49 validation, 99 test)
    >>> split.training_view(disease()).num_edges
    1702
    """

    def __init__(
        self, train: Any, validation: LabelledPairs, test: LabelledPairs, num_nodes: int, *, name: str = "edge split"
    ) -> None:
        self.name, self.num_nodes = name, num_nodes
        self.train = _pairs(train, num_nodes, name)
        self.validation, self._test = (
            LabelledPairs(*(_pairs(pairs, num_nodes, name) for pairs in part)) for part in (validation, test)
        )
        if not self.train.shape[1]:
            raise GraphError(f"{name}: expected edges to train on, found none left. Use less for validation and test.")
        parts = {
            "train": self.train,
            "validation": self.validation.edges,
            "test": self._test.edges,
            "validation non-edges": self.validation.others,
            "test non-edges": self._test.others,
        }
        keys = {part: pair_keys(pairs, num_nodes) for part, pairs in parts.items()}
        every, owners = torch.cat(list(keys.values())), list(keys)
        if len(every.unique()) != len(every):
            for i, one in enumerate(owners):
                if len(keys[one].unique()) != len(keys[one]):
                    raise GraphError(f"{name}: expected every pair once in {one}, found some twice.")
                for other in owners[i + 1 :]:
                    shared = int(torch.isin(keys[one], keys[other]).sum())
                    if shared:
                        raise GraphError(f"{name}: expected {one} and {other} to differ, found {shared} in both.")

    def final_test_pairs(self) -> LabelledPairs:
        """The test pairs, for the one evaluation that is reported. Do not choose settings by its results."""
        return self._test

    @property
    def test(self) -> LabelledPairs:
        """Raises an error: test pairs come from `final_test_pairs` only."""
        raise GraphError("test pairs are for the final evaluation alone; ask for final_test_pairs() there.")

    def training_view(self, data: Data) -> Data:
        """The graph for training code: only training edges, in both directions, with their weights.

        Only attributes that do not reveal other edges are kept: features and names. Degrees among Airport's features
        are counted from training edges (`count_degrees`). Other features computed from the whole graph would reveal
        hidden edges; compute them from this view.
        """
        if data.num_nodes != self.num_nodes:
            raise GraphError(
                f"{self.name}: expected {self.num_nodes} nodes, found {data.num_nodes}: the split is of another graph."
            )
        view = Data(**{key: data[key] for key in VISIBLE if key in data and not key.startswith("edge")})
        view.num_nodes = self.num_nodes
        keys = pair_keys(data.edge_index, self.num_nodes)
        trained = pair_keys(self.train.to(keys.device), self.num_nodes)
        kept = torch.isin(keys, trained)
        if len(keys[kept].unique()) != len(trained):
            missing = len(trained) - len(keys[kept].unique())
            raise GraphError(f"{self.name}: expected edges of the graph, found {missing} that it does not have.")
        view.edge_index = data.edge_index[:, kept]
        weight = data.get("edge_weight")
        if weight is not None:
            view.edge_weight = weight[kept]
        if view.get("x") is not None and view.get("attr_names") is not None:
            view.x = count_degrees(view.x, view.attr_names, view.edge_index)
        return view

    def __repr__(self) -> str:
        counts = {"train": self.train, "validation": self.validation.edges, "test": self._test.edges}
        return f"EdgeSplit({self.name}: {', '.join(f'{pairs.shape[1]} {part}' for part, pairs in counts.items())})"


def _pairs(pairs: Any, num_nodes: int, name: str) -> Tensor:
    """Pairs of different nodes, lower number first, (2, P)."""
    array = torch.as_tensor(pairs)
    array = checked_pairs(array if array.numel() else torch.empty(2, 0, dtype=torch.int64), num_nodes, name)
    return torch.stack((array.min(0).values, array.max(0).values))


def undirected_edges(data: Data) -> Tensor:
    """Each edge once, lower number first, sorted, without self-loops, (2, E)."""
    edges = data.edge_index[:, data.edge_index[0] != data.edge_index[1]]
    keys = pair_keys(edges, data.num_nodes).unique()
    return torch.stack((keys // data.num_nodes, keys % data.num_nodes))


def _counts(edges: int, validation: float, test: float) -> tuple[int, int]:
    """Numbers of validation and test edges; at least one of each unless its share is 0."""
    if min(validation, test) < 0 or not 0 <= validation + test < 1:
        raise GraphError(f"expected shares from 0 that sum to less than 1, found {validation} and {test}.")
    counts = [max(1, int(share * edges)) if share else 0 for share in (validation, test)]
    if edges - sum(counts) < 1:
        raise GraphError(
            f"expected edges left to train on, found {edges} in all, of which validation and test take "
            f"{sum(counts)}. Link prediction needs a graph with more edges."
        )
    return counts[0], counts[1]


def with_negatives(data: Data, train: Tensor, validation: Tensor, test: Tensor, seed: int, name: str) -> EdgeSplit:
    """A split of these edges, with as many pairs that are no edge of the graph, drawn with the seed."""
    generator = torch.Generator().manual_seed(seed)
    counts = [validation.shape[1], test.shape[1]]
    edges = torch.cat((undirected_edges(data), train, validation, test), 1)
    others = NegativeSampler(edges, data.num_nodes).distinct(sum(counts), generator).split(counts, 1)
    pairs = [LabelledPairs(*part) for part in zip((validation, test), others, strict=True)]
    return EdgeSplit(train, pairs[0], pairs[1], data.num_nodes, name=name)


def edge_split(data: Data, seed: int, *, validation: float = 0.05, test: float = 0.1) -> EdgeSplit:
    """A random split of the undirected edges, and as many pairs without an edge for validation and test.

    Args:
        data: The graph; edges in both directions or duplicated count once, self-loops do not count.
        seed: Seed of edges and non-edges.
        validation: Share of validation edges.
        test: Share of test edges.

    >>> from kappagcn.graphs import classic
    >>> edge_split(classic("karate"), seed=1)
    EdgeSplit(random 1: 68 train, 3 validation, 7 test)
    """
    edges = undirected_edges(data)
    counts = _counts(edges.shape[1], validation, test)
    order = torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(seed))
    first, second, rest = edges[:, order].split([*counts, edges.shape[1] - sum(counts)], 1)
    return with_negatives(data, rest, first, second, seed + 1, f"random {seed}")


def time_split(
    data: Data,
    pairs: Tensor | None = None,
    times: Tensor | None = None,
    *,
    seed: int = 0,
    validation: float = 0.05,
    test: float = 0.1,
) -> EdgeSplit:
    """The latest edges for test, those before them for validation, the others for training.

    Args:
        data: The graph.
        pairs: Edges of the graph, (2, P); an edge that is listed twice has its first time. None for all edges.
        times: Time of each edge, (P,); None for ``data.edge_time``, which `read_graph` reads from a column.
        seed: Seed of the non-edges.
        validation: Share of validation edges.
        test: Share of test edges.

    >>> from kappagcn.graphs import path
    >>> data, times = path(5), torch.tensor([3.0, 1.0, 2.0, 4.0])
    >>> time_split(data, torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]), times, test=0.25).final_test_pairs().edges.tolist()
    [[3], [4]]
    """
    if pairs is None or times is None:
        if data.get("edge_time") is None:
            raise GraphError("expected times of edges, found none. Name their column with --time (time= in Python).")
        once = data.edge_index[0] < data.edge_index[1]
        pairs, times = data.edge_index[:, once], data.edge_time[once]
    pairs = _pairs(pairs, data.num_nodes, "time split")
    if times.shape != pairs.shape[1:] or not torch.isfinite(times.double()).all():
        raise GraphError(
            f"expected a finite time for each of {pairs.shape[1]} edges, found {described(times)}, of which "
            f"{int(torch.isfinite(times.double()).sum())} finite."
        )
    order = torch.argsort(times.double(), stable=True)
    keys = pair_keys(pairs, data.num_nodes)[order]
    _, inverse = keys.unique(return_inverse=True)
    places = torch.full((int(inverse.max()) + 1,), len(keys)).scatter_reduce_(
        0, inverse, torch.arange(len(keys)), reduce="amin"
    )
    ordered = pairs[:, order[places.sort().values]]
    counts = _counts(ordered.shape[1], validation, test)
    train, second, third = ordered.split([ordered.shape[1] - sum(counts), *counts], 1)
    return with_negatives(data, train, second, third, seed, "by time")
