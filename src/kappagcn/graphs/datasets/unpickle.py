"""A restricted unpickler for dataset files: only a list of harmless constructors can be called."""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from kappagcn.errors import GraphFileError

__all__ = ["NETWORKX", "PLANETOID", "restricted_load"]


class _State:
    """Placeholder for a foreign class: keeps the state that a pickle sets, and does nothing."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


_ARRAY = object()  # placeholder for the array class, which a pickle names but must not call


def _reconstruct(kind: Any, shape: Any, code: Any) -> Any:
    """An empty array, to be filled by its state; the shape in the pickle is not trusted."""
    return np.empty(0, "b")


_NUMPY: Mapping[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
}
# Names in the eight Planetoid files.
PLANETOID: Mapping[tuple[str, str], Any] = {
    **_NUMPY,
    ("scipy.sparse.csr", "csr_matrix"): _State,
    ("scipy.sparse._csr", "csr_matrix"): _State,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}
# Names in HGCN's airport graph.
NETWORKX: Mapping[tuple[str, str], Any] = {
    **_NUMPY,
    ("networkx.classes.graph", "Graph"): _State,
    ("networkx.classes.reportviews", "NodeView"): _State,
    ("builtins", "dict"): dict,
}


class _Restricted(pickle.Unpickler):
    def __init__(self, content: bytes, allowed: Mapping[tuple[str, str], Any]) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._allowed[module, name]
        except KeyError:
            raise GraphFileError(f"it mentions {module}.{name}, which no graph needs; nothing of it was run.") from None


def restricted_load(content: bytes, allowed: Mapping[tuple[str, str], Any], source: str) -> Any:
    """The object in a pickle, if the pickle uses `allowed` names only; sparse matrices become SciPy's.

    Args:
        content: The pickle.
        allowed: Replacement of each (module, name) that the pickle may use.
        source: Name of the file, for messages.
    """
    try:
        return _unwrapped(_Restricted(content, allowed).load())
    except GraphFileError as error:
        raise GraphFileError(f"{source}: refused to read this pickle: {error}") from None
    except Exception as error:  # a damaged pickle may fail in any way; none of its code has run
        raise GraphFileError(
            f"{source}: expected a pickle, found something damaged ({type(error).__name__})."
        ) from None


def _unwrapped(value: Any) -> Any:
    """The sparse matrix in a placeholder, also inside an array without dimensions; other values unchanged."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    state = getattr(value, "state", None)
    if not (isinstance(state, dict) and {"indices", "indptr", "data"} <= set(state)):
        return value
    shape = state.get("_shape", state.get("shape"))
    return sp.csr_array((state["data"], state["indices"], state["indptr"]), shape=shape)
