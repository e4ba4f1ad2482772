"""Matrix Market files (``.mtx``): an adjacency matrix as coordinates or as an array."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kappagcn.graphs.io.text import read_content
from kappagcn.graphs.io.undirected import name_source_in_errors

__all__ = ["matrix_market_bytes", "read_matrix_market"]


def read_matrix_market(path: Path) -> sp.coo_array:
    """The matrix of a file; one that is declared symmetric has both halves."""
    from scipy.io import mmread

    content = read_content(path)
    with name_source_in_errors(path, "a Matrix Market file"):
        return sp.coo_array(mmread(io.BytesIO(content)))


def matrix_market_bytes(rows: Any, cols: Any, weights: Any, num_nodes: int) -> bytes:
    """A symmetric matrix, its edges given once, in the format; without weights as a pattern."""
    from scipy.io import mmwrite

    values = np.ones(len(rows), np.float32) if weights is None else weights
    matrix = sp.coo_array((values, (np.maximum(rows, cols), np.minimum(rows, cols))), shape=(num_nodes, num_nodes))
    content = io.BytesIO()
    field = "pattern" if weights is None else "real"
    mmwrite(content, matrix + sp.tril(matrix, -1).T, field=field, symmetry="symmetric", precision=9)
    return content.getvalue()
