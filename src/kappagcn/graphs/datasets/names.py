"""Graphs by name or path, or from any object."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.datasets.graph_dataset import GraphDataset
from kappagcn.graphs.datasets.sources import catalogue, suggestion
from kappagcn.graphs.generators import BUILT_IN
from kappagcn.graphs.io.edges import from_edges
from kappagcn.graphs.io.graphml import from_networkx
from kappagcn.graphs.io.pyg import from_pyg
from kappagcn.graphs.io.reading import from_scipy, read_graph, without_weights
from kappagcn.graphs.io.tables import is_frame


def load_graph(
    name: str | Path,
    *,
    root: str | Path | None = None,
    sparse: bool = False,
    download: bool = True,
    progress: bool = False,
    **options: Any,
) -> Data:
    """A graph by name or path: `BUILT_IN`, `catalogue()`, or a file that `read_graph` takes.

    A built-in name takes precedence over a file of the same name; write ``./tree`` for the file.

    Args:
        name: Name or path.
        root: Folder to search for datasets first.
        sparse: Whether to keep features as a sparse tensor.
        download: Whether datasets may be downloaded.
        progress: Show a bar on a terminal while downloading.
        **options: For a graph from a file, arguments of `read_graph`: ``features``, ``labels``, ``nodes``, ``label``,
            ``source``, ``target``, ``weight``, ``time``, ``header``, ``matrix``; ``weight=False`` for any graph.

    >>> load_graph("tree").num_nodes
    1365
    """
    built_in = [*BUILT_IN, *catalogue()]
    given = [key for key, value in options.items() if value and key != "weight"]
    if name in built_in and given:
        raise GraphError(f"expected {' and '.join(given)} only beside a file, found them for the built-in {name!r}.")
    if isinstance(name, str) and name in built_in:
        data = GraphDataset(name, root, sparse=sparse, download=download, progress=progress)[0]
        return without_weights(data) if options.get("weight") is False else data
    if not Path(name).suffix and not Path(name).exists():
        raise GraphError(f"expected a file or a built-in name, found {str(name)!r}. {suggestion(str(name), built_in)}")
    return read_graph(name, sparse=sparse, **options)


def as_graph(graph: Any, *, num_nodes: int | None = None, nodes: Sequence[str] = ()) -> Data:
    """A graph from an object of any supported type.

    Args:
        graph: PyG's ``Data``; a SciPy or NumPy adjacency matrix; a NetworkX graph; edges as `from_edges` takes them,
            such as a data frame or a list of pairs; a path or a name that `load_graph` takes.
        num_nodes: Number of nodes, for edges between numbered nodes; None if only nodes with edges count.
        nodes: Names of further nodes without an edge, for a graph that is given by its edges.

    >>> import networkx as nx
    >>> as_graph(nx.path_graph(4)).num_nodes
    4
    """
    if isinstance(graph, Data):
        return from_pyg(graph)
    if isinstance(graph, nx.Graph):
        return from_networkx(graph)
    if isinstance(graph, str | Path):
        return load_graph(graph, sparse=True)
    if is_edges(graph):
        return from_edges(graph, num_nodes=num_nodes, nodes=nodes)
    if sp.issparse(graph) or isinstance(graph, np.ndarray):
        return from_scipy(graph)
    raise GraphError(
        "expected PyG's Data, a SciPy or NumPy adjacency matrix, a NetworkX graph, a data frame or list of edges, or a "
        f"path, found {type(graph).__name__}."
    )


def is_edges(graph: Any) -> bool:
    """Whether an object holds edges alone, so that a node may be missing from it: a data frame, list or array of pairs.

    >>> is_edges([(0, 1)]), is_edges(np.eye(3))
    (True, False)
    """
    pairs = isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape[1] == 2 != graph.shape[0]
    return is_frame(graph) or isinstance(graph, list | tuple | Tensor) or pairs
