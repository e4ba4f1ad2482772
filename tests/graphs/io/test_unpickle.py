import os
import pickle
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


def test_damaged_pickles_give_one_error():
    content = pickle.dumps(sp.csr_matrix(np.array([[1, 0], [0, 2.5]], np.float32)), protocol=4)
    assert restricted_load(content, "file")[1, 1] == 2.5
    for length in range(len(content)):
        with pytest.raises(GraphFileError, match=r"^file: "):
            restricted_load(content[:length], "file")
