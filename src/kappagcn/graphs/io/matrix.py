"""Graphs as square matrices: distances or weights between all pairs of nodes, in .npy files or delimited text.

A text file is a matrix where it has as many rows as columns and more than three of them. A first row of names, a first
column of names, or both may be there. An entry of 0 is no edge.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.graphs.io.delimited import DelimitedFile
from kappagcn.graphs.io.undirected import assemble, name_source_in_errors

__all__ = ["graph_of_matrix", "read_matrix", "read_matrix_table"]

Array = NDArray[Any]
LEAST_COLUMNS = 4  # an edge list has two or three
ASYMMETRY = 1e-6  # relative difference of both directions that is rounding


def read_matrix(path: Path) -> Data:
    """The graph of a square matrix in a .npy file."""
    with name_source_in_errors(path, "a matrix that numpy.save wrote"):
        matrix = np.load(path, allow_pickle=False)
    with name_source_in_errors(path):
        return graph_of_matrix(matrix, None, path.stem)


def read_matrix_table(path: Path) -> Data | None:
    """The graph of a square matrix in a text file; None if the file is no such matrix."""
    file = DelimitedFile(path)
    if not file.head or len(file.head[-1][1]) < LEAST_COLUMNS:
        return None
    rows = [[cell.strip() for cell in cells] for _, cells in file.rows()]
    names = None
    if not any(map(_is_number, rows[0][1:])):
        names, rows = rows[0], rows[1:]
    if rows and all(len(row) == len(rows) + 1 for row in rows):
        first = [row[0] for row in rows]
        names, rows = (first if names is None else names[-len(rows) :]), [row[1:] for row in rows]
    if not rows or any(len(row) != len(rows) for row in rows) or not all(map(_is_number, (c for r in rows for c in r))):
        return None
    with name_source_in_errors(path):
        return graph_of_matrix(np.array(rows, dtype=np.float64), names, path.stem)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def graph_of_matrix(matrix: Array, names: list[str] | None, name: str) -> Data:
    """The graph of a symmetric matrix of distances or weights, its nodes with these names or numbered."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise GraphError(f"expected a square matrix of numbers, found {matrix.dtype} of shape {matrix.shape}.")
    matrix = matrix.astype(np.float64)
    label = (lambda i: str(i)) if names is None else (lambda i: names[i])
    wrong = ~(np.isfinite(matrix) & (matrix >= 0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise GraphError(f"expected numbers from 0, found {matrix[i, j]} between nodes {label(i)} and {label(j)}.")
    uneven = np.abs(matrix - matrix.T) > ASYMMETRY * np.maximum(matrix, matrix.T)
    if uneven.any():
        i, j = np.argwhere(uneven)[0]
        raise GraphError(
            f"expected the same number in both directions, found {matrix[i, j]:g} and {matrix[j, i]:g} between "
            f"nodes {label(i)} and {label(j)}."
        )
    rows, cols = np.nonzero(np.triu(matrix, 1))
    return assemble(
        rows, cols, len(matrix), weights=matrix[rows, cols], node_names=names, name=name, notes=["a matrix"]
    )
