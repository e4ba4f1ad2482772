"""What is done to a graph before anything learns from it: the largest component, rows of features made comparable."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import as_features, assemble, components, from_tensor

__all__ = ["column_statistics", "induced", "largest_component", "normalize_rows", "standardize", "standardize_columns"]

NAMES = ("name", "attr_names", "class_names")  # not of nodes, however many there are
FLOOR = 1e-12  # PPNP's: rows without features stay zero


def largest_component(data: Data) -> Data:
    """The nodes of the largest component, in their old order, with everything that belongs to them.

    >>> from kappagcn.graphs import assemble
    >>> two = assemble(np.array([0, 2, 3]), np.array([1, 3, 4]), num_nodes=5)
    >>> largest_component(two).num_nodes
    3
    """
    inside = components(data) == 0
    return data if inside.all() else induced(data, np.flatnonzero(inside))


def induced(data: Data, nodes: NDArray[Any]) -> Data:
    """The subgraph on some nodes, in the order given; what has one entry per node follows, other attributes stay.

    >>> from kappagcn.graphs import cycle
    >>> induced(cycle(5), np.array([1, 2, 4])).edge_index.tolist()
    [[0, 1], [1, 0]]
    """
    n = data.num_nodes
    place = np.full(n, -1)
    place[nodes] = np.arange(len(nodes))
    rows, cols = place[data.edge_index.numpy()]
    inner = (rows >= 0) & (cols >= 0)
    own = {k: v for k, v in data.to_dict().items() if k not in ("edge_index", "edge_weight", "num_nodes", "report")}
    weights = data.get("edge_weight")
    return assemble(
        rows[inner],
        cols[inner],
        len(nodes),
        weights=None if weights is None else weights.numpy()[inner],
        notes=[f"cut from a graph of {data.get('report') or f'{n:,} nodes'}"],
        **{name: value if name in NAMES else _rows(value, nodes, n) for name, value in own.items()},
    )


def _rows(value: Any, nodes: NDArray[Any], n: int) -> Any:
    if isinstance(value, Tensor) and value.layout == torch.sparse_csr and value.shape[0] == n:
        return as_features(from_tensor(value)[nodes], sparse=True)
    if isinstance(value, Tensor) and value.dim() and value.shape[0] == n:
        return value[torch.from_numpy(nodes)]
    if isinstance(value, list) and len(value) == n:
        return [value[i] for i in nodes]
    return value


def standardize(data: Data) -> Data:
    """PPNP's preparation: unweighted, undirected, without self-loops (as all our graphs are), the largest component.

    >>> from kappagcn.graphs import assemble
    >>> weighted = assemble(np.array([0, 2, 3]), np.array([1, 3, 4]), num_nodes=5, weights=np.array([1.0, 2.0, 3.0]))
    >>> print(standardize(weighted).report)
    3 nodes, 2 edges; cut from a graph of 5 nodes, 3 edges; weighted; 2 components
    """
    plain = data.clone() if "edge_weight" in data else data
    if "edge_weight" in data:
        del plain.edge_weight
    return largest_component(plain)


def normalize_rows(x: Tensor, *, order: int = 1) -> Tensor:
    """Each row of the features divided by its L¹ norm, or its length (order 2), floored at 1e-12; sparse stays sparse.

    >>> normalize_rows(torch.tensor([[1.0, -3.0], [0.0, 0.0]])).tolist()
    [[0.25, -0.75], [0.0, 0.0]]
    >>> normalize_rows(torch.tensor([[3.0, -4.0]]), order=2)
    tensor([[ 0.6000, -0.8000]])
    """
    if order not in (1, 2):
        raise GraphError(f"order: expected 1 or 2, found {order!r}.")
    if x.layout == torch.sparse_csr:
        matrix = from_tensor(x)
        sums = (np.abs(matrix) if order == 1 else matrix.power(2)).sum(axis=1)
        norms = np.maximum(sums if order == 1 else np.sqrt(sums), FLOOR).astype(np.float32)
        return as_features(sp.diags_array(1 / norms) @ matrix, sparse=True)
    lengths: Tensor = torch.linalg.vector_norm(x, ord=order, dim=1, keepdim=True)
    return x / lengths.clamp_min(FLOOR)


def _check_dense(x: Tensor) -> None:
    if x.layout != torch.strided:
        raise GraphError("standardize: expected dense features, found sparse ones, which would become dense.")


def column_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column of dense features; 0 and 1 for those that hold only zeros and ones.

    A constant column counts as one of those, whatever its value.
    """
    _check_dense(x)
    spread = x.std(dim=0, correction=0)
    kept = (spread == 0) | ((x == 0) | (x == 1)).all(dim=0)
    return torch.where(kept, 0, x.mean(dim=0)), torch.where(kept, 1, spread)


def standardize_columns(x: Tensor, statistics: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Each column of dense features brought to mean 0 and standard deviation 1; columns of zeros and ones stay.

    Args:
        x: Features, (N, D).
        statistics: What `column_statistics` said of the features a network was trained on; by default of x.

    >>> standardize_columns(torch.tensor([[1.0, 1.0], [3.0, 0.0]])).tolist()
    [[-1.0, 1.0], [1.0, 0.0]]
    """
    _check_dense(x)
    mean, spread = column_statistics(x) if statistics is None else statistics
    return (x - mean) / spread
