"""Graphs as square matrices, of distances or adjacency, in tables, .npy files or Matrix Market files (``.mtx``).

A table is a matrix where it has as many rows as columns, all numbers, and more than three of them, or three that are
symmetric around zeros. It may have a first row of names, a first column of names, or both. A heading with a source and
a target is that of an edge list; other tables have to be symmetric or have a diagonal of zeros, or it is a doubt, and
an error that says how to settle it. A matrix whose entries are all positive, except zeros on the diagonal, holds
distances, the same in both directions; any other is an adjacency matrix: 0 is no edge, and an edge in either direction
is an edge. The report of the graph names the kind.
"""

import io
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.headings import names_ends
from kappagcn.graphs.io.tables import Table, read_numbers
from kappagcn.graphs.io.text import read_content
from kappagcn.graphs.io.undirected import Array, assemble, name_source_in_errors

__all__ = ["Matrix", "graph_of_matrix", "matrix_market_bytes", "matrix_of_table", "read_matrix", "read_matrix_market"]

Matrix = tuple[Array, list[str] | None]
"""A matrix, and the names of its nodes."""
LEAST_COLUMNS = 4  # an edge list has two or three
ASYMMETRY = 1e-6  # relative difference of the two directions that counts as rounding


def read_matrix(path: Path) -> Data:
    """The graph of a square matrix in a .npy file."""
    with name_source_in_errors(path, "a matrix that numpy.save wrote"):
        matrix = np.load(path, allow_pickle=False)
    with name_source_in_errors(path):
        return graph_of_matrix(matrix, None, path.stem)


def read_matrix_market(path: Path) -> sp.coo_array:
    """The matrix of a file; one that is declared symmetric has both halves."""
    from scipy.io import mmread

    content = read_content(path)
    with name_source_in_errors(path, "a Matrix Market file"):
        return sp.coo_array(mmread(io.BytesIO(content)))


def matrix_market_bytes(rows: Array, cols: Array, weights: Array | None, num_nodes: int) -> bytes:
    """A symmetric matrix, its edges given once, in the format; without weights as a pattern."""
    from scipy.io import mmwrite

    values = np.ones(len(rows), np.float32) if weights is None else weights
    matrix = sp.coo_array((values, (np.maximum(rows, cols), np.minimum(rows, cols))), shape=(num_nodes, num_nodes))
    content = io.BytesIO()
    field = "pattern" if weights is None else "real"
    mmwrite(content, matrix + sp.tril(matrix, -1).T, field=field, symmetry="symmetric", precision=9)
    return content.getvalue()


def matrix_of_table(table: Table, wanted: bool | None = None) -> Matrix | None:
    """The matrix that a table holds, and the names of its nodes; None if it is none.

    Args:
        table: A table, whose first column may name the nodes.
        wanted: Whether it is a matrix; None to detect it.
    """
    size = table.columns.num_rows
    named = size == table.width - 1
    matrix = None
    if size and (named or size == table.width):
        with suppress(GraphError):
            matrix = np.stack([read_numbers(table, i, "a number") for i in range(named, table.width)], axis=1)
    if matrix is None:
        if wanted:
            raise GraphError("expected a square matrix of numbers, found another table.")
        return None
    names = None if table.heading is None else table.heading[named:]
    if names == [str(i) for i in range(size)]:  # numbers of columns, as data frames have them
        names = None
    elif names is None and named:
        names = table.columns.column(0).cast(pa.utf8()).to_pylist()
    if wanted is False or (wanted is None and names is not None and names_ends(names)):
        return None
    hollow, symmetric = not np.diag(matrix).any(), _uneven(matrix) is None
    if not wanted and size < LEAST_COLUMNS:
        return (matrix, names) if size == LEAST_COLUMNS - 1 and hollow and symmetric else None
    if wanted is None and not (hollow or symmetric):
        raise GraphError(
            f"expected a square matrix, or edges with a source and a target, found {size} × {size} numbers that may be "
            "either. Say which with --matrix or --no-matrix (matrix=True or False in Python)."
        )
    return matrix, names


def graph_of_matrix(matrix: Array, names: list[str] | None, name: str) -> Data:
    """The graph of a matrix of distances or of an adjacency matrix, its nodes with these names or numbered."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise GraphError(f"expected a square matrix of numbers, found {matrix.dtype} of shape {matrix.shape}.")
    matrix = matrix.astype(np.float64)
    label = (lambda i: str(i)) if names is None else (lambda i: names[i])
    wrong = ~(np.isfinite(matrix) & (matrix >= 0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise GraphError(f"expected numbers from 0, found {matrix[i, j]} between nodes {label(i)} and {label(j)}.")
    diagonal = np.eye(len(matrix), dtype=bool)
    distances = not matrix[diagonal].any() and bool((matrix[~diagonal] > 0).all())
    distances = distances and bool((matrix[~diagonal] != 1).any())  # only ones: a complete graph
    if distances and (uneven := _uneven(matrix)):
        i, j = uneven
        raise GraphError(
            f"expected the same number in both directions, found {matrix[i, j]:g} and {matrix[j, i]:g} between "
            f"nodes {label(i)} and {label(j)}."
        )
    kind = "a matrix of distances" if distances else "an adjacency matrix"
    rows, cols = np.nonzero(np.triu(matrix, 1) if distances else matrix)
    weights = matrix[rows, cols]
    return assemble(
        rows, cols, len(matrix), weights=weights, node_names=names, name=name, directed=not distances, notes=[kind]
    )


def _uneven(matrix: Array) -> tuple[int, int] | None:
    """The first pair whose numbers differ by more than rounding in both directions."""
    uneven = np.argwhere(np.abs(matrix - matrix.T) > ASYMMETRY * np.maximum(matrix, matrix.T))
    return (int(uneven[0][0]), int(uneven[0][1])) if len(uneven) else None
