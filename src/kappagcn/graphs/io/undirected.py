"""From raw edges to one clean undirected PyG graph, with a line that says what was done.

What happens to what is found, always the same:

| found | done |
|---|---|
| directed edges | made undirected: an edge either way is an edge |
| the same pair several times | one edge; its weight is the mean of those given |
| self-loops | removed (layers add their own) |
| weights all equal to 1 | dropped: the graph is unweighted |
| weights that are zero, negative, NaN or infinite | refused |
| isolated nodes, several components | kept |
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse import csgraph
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError

__all__ = [
    "Report",
    "adjacency",
    "as_features",
    "as_labels",
    "assemble",
    "components",
    "counted",
    "from_tensor",
    "one_hot",
    "places",
]

Array = NDArray[Any]
MANY, FEW_EDGES = 10**6, 100  # so many nodes need at least a hundredth as many edges, features or labels
DENSE_LIMIT = 8 * 2**30  # bytes of a dense feature matrix that is made without being asked twice


@dataclass(frozen=True)
class Report:
    """What a graph is and what was done to make it so; ``str()`` is one line."""

    nodes: int
    edges: int
    one_way: int
    repeated: int
    loops: int
    isolated: int
    components: int
    weighted: bool
    directed: bool
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}"]
        if self.directed:
            parts.append(f"made undirected ({self.one_way:,} one-way)")
        elif 0 < self.one_way < self.edges:
            parts.append(f"{counted(self.one_way, 'edge')} given in one direction only, made undirected")
        if self.repeated:
            parts.append(f"{counted(self.repeated, 'repeated edge')} merged" + (", weights averaged" * self.weighted))
        if self.loops:
            parts.append(f"{counted(self.loops, 'self-loop')} removed")
        if self.weighted:
            parts.append("weighted")
        if self.components > 1:
            parts.append(f"{self.components:,} components")
        if self.isolated:
            parts.append(counted(self.isolated, "isolated node"))
        return "; ".join([*parts, *self.notes])


def counted(number: int, noun: str) -> str:
    """The number and its noun, in the plural where it is not one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def assemble(
    rows: Array,
    cols: Array,
    num_nodes: int,
    *,
    weights: Array | None = None,
    x: Tensor | None = None,
    y: Tensor | None = None,
    directed: bool = False,
    notes: Sequence[str] = (),
    **attributes: Any,
) -> Data:
    """One clean undirected graph from E raw edges.

    Args:
        rows: Nodes the edges start at, integers in [0, N), (E,).
        cols: Nodes they end at, (E,).
        num_nodes: N.
        weights: Positive numbers, (E,).
        x: Features, (N, D), dense or sparse CSR.
        y: Classes from 0, −1 where unknown, (N,).
        directed: Whether the source says that its edges have directions.
        notes: Further words for the report.
        **attributes: Further attributes of the graph, such as ``node_names``; None is left out.

    Returns:
        A ``Data`` with ``edge_index`` (both directions, sorted), ``edge_weight`` if there are weights, ``x``, ``y``,
        ``num_nodes``, the further attributes, and ``report``, one line.

    >>> import numpy as np
    >>> data = assemble(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 2]), 3)
    >>> data.edge_index.tolist()
    [[0, 1], [1, 0]]
    >>> data.report
    '3 nodes, 1 edge; 1 repeated edge merged; 1 self-loop removed; 2 components; 1 isolated node'
    """
    told = max(len(rows), *(len(v) for v in (x, y) if v is not None), 0)
    if num_nodes > MANY and num_nodes > FEW_EDGES * told:
        raise GraphError(
            f"expected nodes that edges, features or labels speak of, found {num_nodes:,} nodes for {told:,} of those. "
            "Number the nodes without gaps."
        )
    rows, cols = _endpoints(rows, num_nodes), _endpoints(cols, num_nodes)
    if rows.shape != cols.shape:
        raise GraphError(f"expected as many edge starts as ends, found {len(rows)} and {len(cols)}.")
    weights = _positive(weights, len(rows))
    straight = rows != cols
    loops = int(len(rows) - straight.sum())
    if loops:
        rows, cols = rows[straight], cols[straight]
        weights = None if weights is None else weights[straight]
    shape = (num_nodes, num_nodes)
    times = sp.csr_array((np.ones(len(rows), np.int32), (rows, cols)), shape=shape)
    both = (times + times.T).tocsr()
    both.sort_indices()
    edges = both.nnz // 2
    mean = None
    if weights is not None:
        total = sp.csr_array((weights, (rows, cols)), shape=shape)
        total = (total + total.T).tocsr()
        total.sort_indices()
        mean = torch.from_numpy((total.data / both.data).astype(np.float32))
    degrees = np.diff(both.indptr)
    data = Data(edge_index=_edge_index(both, degrees), num_nodes=num_nodes)
    for name, value in {"edge_weight": mean, "x": x, "y": y, **attributes}.items():
        if value is not None:
            data[name] = value
    _agree(data)
    data.report = str(
        Report(
            nodes=num_nodes,
            edges=edges,
            one_way=2 * edges - times.nnz,
            repeated=len(rows) - times.nnz,
            loops=loops,
            isolated=int((degrees == 0).sum()),
            components=int(csgraph.connected_components(both, directed=False)[0]),
            weighted=mean is not None,
            directed=directed and 2 * edges > times.nnz,
            notes=tuple(notes),
        )
    )
    return data


def _edge_index(pattern: sp.csr_array, degrees: Array) -> Tensor:
    edge_index = torch.empty(2, pattern.nnz, dtype=torch.long)
    edge_index[0] = torch.from_numpy(np.repeat(np.arange(len(degrees), dtype=np.int32), degrees))
    edge_index[1] = torch.from_numpy(pattern.indices)
    return edge_index


def _endpoints(nodes: Array, num_nodes: int) -> Array:
    nodes = np.asarray(nodes)
    if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
        raise GraphError(f"expected nodes as a list of integers, found {nodes.dtype} of shape {nodes.shape}.")
    if nodes.size and not 0 <= int(nodes.min()) <= int(nodes.max()) < num_nodes:
        raise GraphError(f"expected nodes from 0 to {num_nodes - 1}, found {int(nodes.min())} to {int(nodes.max())}.")
    if num_nodes >= 2**31:
        raise GraphError(f"expected fewer than {2**31:,} nodes, found {num_nodes:,}.")
    return nodes.astype(np.int32, copy=False)


def _positive(weights: Array | None, count: int) -> Array | None:
    if weights is None:
        return None
    weights = np.asarray(weights)
    if weights.dtype.kind not in "biuf":
        raise GraphError(f"expected weights that are numbers, found {weights.dtype}.")
    weights = weights.astype(np.float64)
    if weights.shape != (count,):
        raise GraphError(f"expected one weight per edge ({count}), found shape {weights.shape}.")
    with np.errstate(over="ignore", under="ignore"):
        kept = weights.astype(np.float32)
    bad = ~(np.isfinite(kept) & (kept > 0))
    if bad.any():
        where = int(bad.argmax())
        raise GraphError(
            f"expected weights that are positive and finite, found {weights[where]} at edge {where} "
            f"({counted(int(bad.sum()), 'such edge')}; weights are float32). Remove them or scale the weights."
        )
    return None if (weights == 1).all() else weights


def _agree(data: Data) -> None:
    for name in ("x", "y", "node_names"):
        if name in data and len(data[name]) != data.num_nodes:
            raise GraphError(f"expected {name} for {data.num_nodes} nodes, found {len(data[name])}.")


def places(data: Data) -> dict[str, int]:
    """Which node a name stands for; nodes without names are called by their number. Names given twice are refused."""
    names = data.get("node_names") or [str(i) for i in range(data.num_nodes)]
    found = {name: i for i, name in enumerate(names)}
    if len(found) != len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise GraphError(f"expected a name of its own for every node to find it by, found {twice!r} twice.")
    return found


def as_features(matrix: Any, *, sparse: bool = False) -> Tensor:
    """Features as a float32 tensor, dense or CSR; NaN and infinity are refused.

    Args:
        matrix: SciPy sparse matrix, torch tensor of any layout, or anything NumPy takes, (N, D).
        sparse: Whether to keep a sparse tensor.
    """
    if isinstance(matrix, Tensor):
        matrix = from_tensor(matrix.detach().cpu())
    matrix = sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)
    if matrix.dtype.kind not in "biuf":
        raise GraphError(f"expected features that are numbers, found {matrix.dtype}.")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    values = matrix.data if sp.issparse(matrix) else matrix
    if matrix.ndim != 2:
        raise GraphError(f"expected features of shape (nodes, features), found {matrix.shape}.")
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise GraphError(
            f"expected finite features, found {bad:,} {'entry' if bad == 1 else 'entries'} that are NaN, "
            "infinite or too large for float32. Fill them in or drop the column."
        )
    if sparse:
        return _sparse_tensor(sp.csr_array(matrix))
    if matrix.shape[0] * matrix.shape[1] * 4 > DENSE_LIMIT:
        raise GraphError(
            f"expected features that fit in {DENSE_LIMIT >> 30} GiB, found {matrix.shape[0]:,} × {matrix.shape[1]:,}. "
            "Keep them sparse with sparse=True."
        )
    return torch.from_numpy(np.ascontiguousarray(matrix.toarray() if sp.issparse(matrix) else matrix))


def one_hot(nodes: int) -> Tensor:
    """Each node as a feature of its own, (N, N), sparse."""
    return as_features(sp.eye_array(nodes, format="csr"), sparse=True)


def from_tensor(x: Tensor) -> Any:
    """SciPy's or NumPy's form of a tensor."""
    if x.layout == torch.strided:
        return x.float().numpy() if x.is_floating_point() else x.numpy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        x = x.float().to_sparse_csr()
    return sp.csr_array((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=tuple(x.shape))


def _sparse_tensor(matrix: sp.csr_array) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
            check_invariants=False,
        )


def as_labels(labels: Any, classes: int | None = None) -> Tensor:
    """Classes 0 … C − 1, with −1 for unknown, as a tensor of integers.

    Args:
        labels: Integers, (N,); floats that are integers are taken.
        classes: C, where it is known.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "biuf":
        raise GraphError(f"expected labels as a list of integers, found {labels.dtype} of shape {labels.shape}.")
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.round(labels))).all():
        raise GraphError("expected labels that are integers, found fractions or NaN.")
    whole = labels.astype(np.int64)
    top = (len(labels) if classes is None else classes) - 1
    if len(whole) and not -1 <= int(whole.min()) <= int(whole.max()) <= top:
        raise GraphError(
            f"expected labels from 0 to {top}, or −1 for unknown, found {int(whole.min())} to {int(whole.max())}. "
            "Number the classes from 0."
        )
    return torch.from_numpy(whole)


def adjacency(data: Data) -> sp.csr_array:
    """The adjacency matrix of a graph in SciPy's form: weights, or ones, in float64, (N, N).

    A graph that is directed, or has self-loops or repeated edges, is refused: measured, it would give wrong numbers.

    >>> from kappagcn.graphs import path
    >>> adjacency(path(3)).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if not isinstance(data, Data):
        raise GraphError(
            f"expected a PyG Data, found {type(data).__name__}. Files go through load_graph, NetworkX's through "
            "from_networkx, matrices through from_scipy."
        )
    rows, cols = data.edge_index.numpy().astype(np.int32)
    weights = np.ones(len(rows)) if data.get("edge_weight") is None else data.edge_weight.numpy().astype(np.float64)
    matrix = sp.csr_array((weights, (rows, cols)), shape=(data.num_nodes, data.num_nodes))
    matrix.sort_indices()
    faults = {
        "repeated edges": matrix.nnz < len(rows),
        "self-loops": bool((rows == cols).any()),
        "edges in one direction only": _signature(rows, cols, weights) != _signature(cols, rows, weights),
    }
    if any(faults.values()):
        found = " and ".join(name for name, there in faults.items() if there)
        raise GraphError(
            f"expected an undirected graph without self-loops, found {found}. Pass it through kappagcn.graphs.from_pyg."
        )
    return matrix


def _signature(rows: Array, cols: Array, weights: Array) -> int:
    """A sum over the edges that does not depend on their order, and is another for another set of them."""
    with np.errstate(over="ignore"):
        key = rows.astype(np.uint64) << np.uint64(32) | cols.astype(np.uint64)
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # splitmix64
            key = (key ^ (key >> np.uint64(30))) * np.uint64(factor)
        return int((key * np.ascontiguousarray(weights).view(np.uint64)).sum(dtype=np.uint64))


def components(data: Data) -> Array:
    """The component each node is in, (N,), numbered by size from the largest; ties by their first node.

    >>> two = assemble(np.array([0, 2, 3]), np.array([1, 3, 4]), num_nodes=5)
    >>> components(two)
    array([1, 1, 0, 0, 0])
    """
    _, found = csgraph.connected_components(adjacency(data), directed=False)
    sizes = np.bincount(found)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    ranked: Array = rank[found]
    return ranked
