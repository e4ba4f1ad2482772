"""A restricted unpickler: only a list of harmless constructors can be called."""

import io
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from kappagcn.errors import GraphError
from kappagcn.graphs.io.undirected import name_source_in_errors


class _State:
    """Placeholder for a foreign class: keeps the state that a pickle sets, and does nothing."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _reconstruct(kind: Any, shape: Any, code: Any) -> Any:
    """An empty array, to be filled by its state; the shape in the pickle is not trusted."""
    return np.empty(0, "b")


# Replacements of the names in Planetoid's files and in HGCN's airport graph.
ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): object(),  # a pickle may name it but not call it
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): _State,
    ("scipy.sparse._csr", "csr_matrix"): _State,
    ("networkx.classes.graph", "Graph"): _State,
    ("networkx.classes.reportviews", "NodeView"): _State,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("builtins", "dict"): dict,
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise GraphError(f"refused to read this pickle: it uses {module}.{name}; no code of it was run.")
        return ALLOWED[module, name]


def restricted_load(content: bytes, source: str) -> Any:
    """The object in a pickle that uses `ALLOWED` names only, a sparse matrix as SciPy's."""
    with name_source_in_errors(source, "a pickle"):
        value = _RestrictedUnpickler(io.BytesIO(content), encoding="latin1").load()
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        state = getattr(value, "state", None)
        if not (isinstance(state, dict) and {"indices", "indptr", "data"} <= set(state)):
            return value
        shape = state.get("_shape", state.get("shape"))
        return sp.csr_array((state["data"], state["indices"], state["indptr"]), shape=shape)
