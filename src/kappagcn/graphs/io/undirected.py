"""From raw edges to one clean undirected PyG graph, with a one-line report of what was changed.

| input | result |
|---|---|
| directed edges | undirected: an edge in either direction is an edge |
| the same pair several times | one edge with the mean of the weights |
| self-loops | removed (layers add their own) |
| weights all equal to 1 | dropped: the graph is unweighted |
| weights that are zero, negative, NaN or infinite | an error |
| isolated nodes, several components | kept |
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse import csgraph
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError

Array = NDArray[Any]
INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?", re.ASCII)
ROUNDING = 1e-12  # relative error of a sum of squares in float64
LARGE, MAX_NODES_PER_ENTRY = 10**6, 100  # a larger graph needs an edge, feature or label for every 100 nodes


def counted(number: int, noun: str) -> str:
    """A number and its noun, plural unless the number is one."""
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
    """Build one clean undirected graph from E raw edges.

    Args:
        rows: Source of each edge, integers in [0, N), (E,).
        cols: Target of each edge, (E,).
        num_nodes: Number of nodes N.
        weights: Positive weights, (E,).
        x: Features, (N, D), dense or sparse CSR.
        y: Classes from 0, −1 where unknown, (N,).
        directed: Whether the source declares its edges as directed.
        notes: Further remarks for the report.
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
    entries = max(len(rows), *(len(values) for values in (x, y) if values is not None), 0)
    if num_nodes > LARGE and num_nodes > MAX_NODES_PER_ENTRY * entries:
        raise GraphError(
            f"expected nodes that have edges, features or labels, found {num_nodes:,} nodes for {entries:,} of those. "
            "Number the nodes without gaps."
        )
    if num_nodes >= 2**31:
        raise GraphError(f"expected fewer than {2**31:,} nodes, found {num_nodes:,}.")
    rows, cols = (checked_nodes(ends, num_nodes).astype(np.int32, copy=False) for ends in (rows, cols))
    if rows.shape != cols.shape:
        raise GraphError(f"expected as many edge starts as ends, found {len(rows)} and {len(cols)}.")
    weights = _checked_weights(weights, rows, cols, attributes.get("node_names"))
    kept = rows != cols
    loops = int(len(rows) - kept.sum())
    if loops:
        rows, cols = rows[kept], cols[kept]
        weights = None if weights is None else weights[kept]
    counts, distinct = _symmetric_sum(rows, cols, np.ones(len(rows), np.int32), num_nodes)
    mean_weights, averaged = None, False
    if weights is not None:
        total, _ = _symmetric_sum(rows, cols, weights, num_nodes)
        means = total.data / counts.data
        mean_weights = torch.from_numpy(means.astype(np.float32))
        squares = 2 * (weights**2).sum()  # equal to that of the means if no pair has different weights
        averaged = bool(squares - (counts.data * means**2).sum() > ROUNDING * squares)
    sources = np.repeat(np.arange(num_nodes, dtype=np.int32), np.diff(counts.indptr))
    data = Data(edge_index=torch.from_numpy(np.stack([sources, counts.indices], dtype=np.int64)), num_nodes=num_nodes)
    for name, value in {"edge_weight": mean_weights, "x": x, "y": y, **attributes}.items():
        if value is not None:
            data[name] = value
    for name in ("x", "y", "node_names"):
        if name in data and len(data[name]) != num_nodes:
            raise GraphError(f"expected {name} for {num_nodes} nodes, found {len(data[name])}.")
    data.report = _report(counts, len(rows), distinct, loops, weights is not None, averaged, directed, notes)
    return data


def _report(
    graph: sp.csr_array,
    entries: int,
    distinct: int,
    loops: int,
    weighted: bool,
    averaged: bool,
    directed: bool,
    notes: Sequence[str],
) -> str:
    """One line on a graph with `entries` raw edges, `distinct` of them different, and on what was changed."""
    edges, one_way = graph.nnz // 2, graph.nnz - distinct
    isolated, components = int((np.diff(graph.indptr) == 0).sum()), connected_components(graph)[0]
    repeated = f"{counted(entries - distinct, 'repeated edge')} merged"
    half_given = f"{counted(one_way, 'edge')} given in one direction only, made undirected"
    remarks = {
        f"{counted(graph.shape[0], 'node')}, {counted(edges, 'edge')}": True,
        f"made undirected ({one_way:,} one-way)": directed and one_way,
        half_given: 0 < one_way < edges and not directed,
        repeated: entries > distinct,
        f"{counted(loops, 'self-loop')} removed": loops,
        "weighted" + ", different weights of one pair averaged" * averaged: weighted,
        f"{components:,} components": components > 1,
        counted(isolated, "isolated node"): isolated,
    }
    return "; ".join([*(remark for remark, applies in remarks.items() if applies), *notes])


def connected_components(symmetric: sp.csr_array) -> tuple[int, Array]:
    """Number of connected components of a symmetric matrix, and the component of each node, (N,)."""
    # Strongly connected components are the same here, and SciPy then makes no transpose.
    count, labels = csgraph.connected_components(symmetric, directed=True, connection="strong")
    return int(count), labels


def _symmetric_sum(rows: Array, cols: Array, values: Array, num_nodes: int) -> tuple[sp.csr_array, int]:
    """A + Aᵀ with sorted indices, equal entries added up, and the number of distinct entries of A."""
    one_way = sp.csr_array((values, (rows, cols)), shape=(num_nodes, num_nodes))
    one_way.sum_duplicates()  # older versions of SciPy leave duplicates
    both = (one_way + one_way.T).tocsr()
    both.sort_indices()
    return both, one_way.nnz


def checked_nodes(nodes: Any, num_nodes: int | None, name: str = "nodes") -> Array:
    """Numbers of nodes as an array (P,), below `num_nodes` where it is given; errors call them by a name."""
    array: Array = np.asarray(nodes)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphError(f"expected {name} as a list of integers, found {array.dtype} of shape {array.shape}.")
    low, high = (int(array.min()), int(array.max())) if array.size else (0, -1)
    if low < 0 or (num_nodes is not None and high >= num_nodes):
        least = f"{name} from 0" + ("" if num_nodes is None else f" to {num_nodes - 1}")
        raise GraphError(f"expected {least}, found {low} to {high}.")
    return array


def _checked_weights(weights: Array | None, rows: Array, cols: Array, names: Any) -> Array | None:
    """Weights as float64, None if all are 1."""
    if weights is None:
        return None
    weights = np.asarray(weights)
    if weights.dtype.kind not in "biuf":
        raise GraphError(f"expected weights that are numbers, found {weights.dtype}.")
    weights = weights.astype(np.float64)
    if weights.shape != (len(rows),):
        raise GraphError(f"expected one weight per edge ({len(rows)}), found shape {weights.shape}.")
    with np.errstate(over="ignore", under="ignore"):
        stored = weights.astype(np.float32)
    bad = ~(np.isfinite(stored) & (stored > 0))
    if bad.any():
        first = int(bad.argmax())
        ends = " to ".join(str(node if names is None else names[node]) for node in (rows[first], cols[first]))
        raise GraphError(
            f"expected weights that are positive and finite, found {weights[first]} at edge {first}, {ends}, "
            f"({counted(int(bad.sum()), 'such edge')}; weights are float32). {_advice(weights[bad])}"
        )
    return None if (weights == 1).all() else weights


def _advice(weights: Array) -> str:
    """What to do about weights that cannot be used."""
    if (np.isfinite(weights) & (weights > 0)).all():
        return "Scale the weights."
    merge = "merge nodes that are at one place, " if (weights == 0).any() else ""
    return f"Scaling does not help: {merge}give these edges positive weights, leave them out, or read no weights."


@contextmanager
def name_source_in_errors(source: str | Path, expected: str | None = None) -> Iterator[None]:
    """Turn errors about a graph into errors about its file; with `expected`, any error of a parser too."""
    try:
        yield
    except GraphFileError:
        raise
    except GraphError as error:
        raise GraphFileError(f"{source}: {error}") from None
    except OSError as error:
        raise GraphFileError(f"{source}: cannot be read ({error.strerror or error}).") from None
    except Exception as error:  # parsers fail in many ways on a damaged or foreign file
        if expected is None:
            raise
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise GraphFileError(f"{source}: expected {expected}, found something else or damage ({reason}).") from None


def node_id(node: Any) -> str:
    """The text by which a node goes in every table: as it stands, but an integer in any form is the same node.

    >>> node_id(1), node_id(1.0), node_id("+1"), node_id("007")
    ('1', '1', '1', '007')
    """
    text = str(node)
    if not INTEGER.fullmatch(text):
        return text
    text = text.partition(".")[0].removeprefix("+")
    return "0" if text == "-0" else text


def node_index(data: Data) -> dict[str, int]:
    """Number of each node, by `node_id`; nodes without names go by their number. Repeated names are refused."""
    names = [node_id(name) for name in data.get("node_names") or range(data.num_nodes)]
    index = {name: i for i, name in enumerate(names)}
    if len(index) != len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise GraphError(f"expected different names of all nodes, found {repeated!r} twice.")
    return index


def adjacency(data: Data, *, weighted: bool = True) -> sp.csr_array:
    """The adjacency matrix of a graph in SciPy's form: weights, or ones, in float64, (N, N).

    A graph that is directed, or has self-loops or repeated edges, is refused: measures of it would be wrong.

    Args:
        data: A graph.
        weighted: Whether entries are weights; otherwise they are True, in an eighth of the memory.

    >>> from kappagcn.graphs import path
    >>> adjacency(path(3)).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if not isinstance(data, Data):
        raise GraphError(
            f"expected a PyG Data, found {type(data).__name__}. Use load_graph for files, from_networkx for "
            "NetworkX graphs, from_scipy for matrices."
        )
    n, (rows, cols) = data.num_nodes, data.edge_index.numpy()
    has = weighted and data.get("edge_weight") is not None
    entries = data.edge_weight.numpy().astype(np.float64) if has else np.ones(len(rows), float if weighted else bool)
    matrix = sp.csr_array((entries, (rows.astype(np.int32), cols.astype(np.int32))), shape=(n, n))
    matrix.sum_duplicates()
    columns = matrix.tocsc()
    symmetric = all(
        np.array_equal(getattr(matrix, part), getattr(columns, part)) for part in ("indptr", "indices", "data")
    )
    faults = {
        "repeated edges": matrix.nnz < len(rows),
        "self-loops": (rows == cols).any(),
        "edges in one direction only": not symmetric,
    }
    if any(faults.values()):
        names = " and ".join(name for name, present in faults.items() if present)
        raise GraphError(
            f"expected an undirected graph without self-loops, found {names}. Pass it through kappagcn.graphs.from_pyg."
        )
    return matrix
