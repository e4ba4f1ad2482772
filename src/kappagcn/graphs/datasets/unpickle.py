"""Pickles from elsewhere, read without giving them the power to call anything but a list of harmless constructors."""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from kappagcn.errors import GraphFileError

__all__ = ["NETWORKX", "PLANETOID", "restricted_load"]


class _State:
    """Stands in for a foreign class: keeps the state a pickle sets, and does nothing."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


_ARRAY = object()  # stands in for the array class, which a pickle names but must not call


def _reconstruct(kind: Any, shape: Any, code: Any) -> Any:
    """An empty array for its state to fill; the pickle's own shape is not believed."""
    return np.empty(0, "b")


# Names the eight Planetoid files mention.
PLANETOID: Mapping[tuple[str, str], Any] = {
    ("scipy.sparse.csr", "csr_matrix"): _State,
    ("scipy.sparse._csr", "csr_matrix"): _State,
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}
# Names HGCN's airport graph mentions.
NETWORKX: Mapping[tuple[str, str], Any] = {
    ("networkx.classes.graph", "Graph"): _State,
    ("networkx.classes.reportviews", "NodeView"): _State,
    ("builtins", "dict"): dict,
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
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


def restricted_load(content: bytes, allowed: Mapping[tuple[str, str], Any], what: str) -> Any:
    """The object a pickle describes, if it mentions only `allowed` names; sparse matrices come as SciPy's.

    Args:
        content: The pickle.
        allowed: What (module, name) may stand for.
        what: The file, for messages.
    """
    try:
        return _unwrapped(_Restricted(content, allowed).load())
    except GraphFileError as error:
        raise GraphFileError(f"{what}: refused to read this pickle: {error}") from None
    except Exception as error:  # a damaged pickle may fail in any way; none of its code has run
        raise GraphFileError(f"{what}: expected a pickle, found something damaged ({type(error).__name__}).") from None


def _unwrapped(found: Any) -> Any:
    state = getattr(found, "state", None)
    if not (isinstance(state, dict) and {"indices", "indptr", "data"} <= set(state)):
        return found
    import scipy.sparse as sp

    shape = state.get("_shape", state.get("shape"))
    return sp.csr_array((state["data"], state["indices"], state["indptr"]), shape=shape)
