import io
import os
import pickle
import struct
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from kappagcn.errors import GraphFileError
from kappagcn.graphs.io.unpickle import restricted_load


class Evil:
    ran = False

    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return self.how


@pytest.mark.parametrize(
    "how",
    [
        (os.system, ("true",)),
        (eval, ("1",)),
        (getattr, (1, "real")),
        (np.ndarray, ((10**12,),)),
        (sys.exit, ()),
        (np.load, ("x",)),
        (np.fromfile, ("x",)),
    ],
)
def test_a_pickle_with_a_foreign_name_is_refused(how):
    content = pickle.dumps({"graph": Evil(how)}, protocol=2)
    words = r"^evil: (refused to read this pickle: it uses .*; no code of it was run|expected a pickle)"
    with pytest.raises(GraphFileError, match=words):
        restricted_load(content, "evil")


class Python2Pickler(pickle._Pickler):
    """Writes byte strings as Python 2 did, and classes under the names they had."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def __init__(self, file):
        super().__init__(file, protocol=2, fix_imports=True)

    def save_bytes(self, content):
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(content)

    dispatch[bytes] = save_bytes


PYTHON_2_NAMES = {b"scipy.sparse._csr": b"scipy.sparse.csr", b"numpy._core": b"numpy.core"}


def python2_pickle(thing):
    file = io.BytesIO()
    Python2Pickler(file).dump(thing)
    content = file.getvalue()
    for new, old in PYTHON_2_NAMES.items():
        content = content.replace(b"c" + new, b"c" + old)
    return content


def planetoid_files():
    from collections import defaultdict

    graph = defaultdict(list, {0: [1, 1], 1: [0, 2], 2: [1], 3: [3], 4: [0]})
    one_hot = np.eye(2, dtype=np.int32)
    things = {
        "x": sp.csr_matrix(np.array([[1, 0]], np.float32)),
        "y": one_hot[[0]],
        "allx": sp.csr_matrix(np.array([[1, 0], [0, 2.5], [0, 0]], np.float32)),
        "ally": np.array([[1, 0], [0, 1], [0, 1]], np.int32),
        "tx": sp.csr_matrix(np.array([[0, 7.0], [9, 0]], np.float32)),
        "ty": one_hot[[1, 0]],
        "graph": graph,
    }
    files = {f"ind.mini.{key}": python2_pickle(thing) for key, thing in things.items()}
    return files | {"ind.mini.test.index": b"5\n3\n"}


def test_damaged_pickles_give_one_error():
    content = planetoid_files()["ind.mini.allx"]
    for length in range(len(content)):
        with pytest.raises(GraphFileError, match=r"^file: "):
            restricted_load(content[:length], "file")
