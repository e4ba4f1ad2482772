"""npz files of other projects."""

import numpy as np
import pytest
import scipy.sparse as sp

from kappagcn.classification.cross_validation import splits_of
from kappagcn.errors import GraphFileError
from kappagcn.graphs import adjacency, read_graph

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
MATRIX = sp.csr_array((np.ones(4, np.float32), EDGES.T), shape=(5, 5))
X = np.arange(15, dtype=np.float32).reshape(5, 3)
Y = np.array([0, 1, 0, 1, 1])
RING = (MATRIX + MATRIX.T).toarray()


class Evil:
    ran = False

    def __reduce__(self):
        return (setattr, (Evil, "ran", True))


class _DtypeWithState:
    """Pickled, it sets the state of a dtype: a reader that allows it crashes Python."""

    def __reduce__(self):
        return (np.dtype, ("f8",), (3, "<", None, None, None, -1, -1, 63))


DTYPE_WITH_STATE = _DtypeWithState()


def pickled(value):
    array = np.empty((), object)
    array[()] = value
    return array


FORMS = {
    "heterophilous-graphs": {"edges": EDGES, "node_features": X, "node_labels": Y},
    "edges in two rows": {"edges": np.concatenate([EDGES, EDGES[:1]]).T, "node_features": X, "node_labels": Y},
    "gnn-benchmark": {
        **{f"adj_matrix.{part}": getattr(MATRIX, part) for part in ("data", "indices", "indptr", "shape")},
        **{f"attr_matrix.{part}": getattr(sp.csr_array(X), part) for part in ("data", "indices", "indptr", "shape")},
        "labels": Y,
    },
    "whole": {"adjacency": RING, "X": X, "y": Y},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_graph_from_every_form(tmp_path, form):
    np.savez(tmp_path / "g.npz", **FORMS[form])
    data = read_graph(tmp_path / "g.npz")
    assert np.array_equal(adjacency(data).toarray(), RING)
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_matrices_that_scipy_saved(tmp_path, form):
    sp.save_npz(tmp_path / "g.npz", MATRIX.asformat(form))
    assert np.array_equal(adjacency(read_graph(tmp_path / "g.npz")).toarray(), RING)


def test_masks_become_splits(tmp_path):
    masks = {f"{part}_masks": np.eye(5, dtype=bool)[[i, i + 1]] for i, part in enumerate(("train", "val", "test"))}
    np.savez(tmp_path / "g.npz", **FORMS["heterophilous-graphs"], **masks)
    data = read_graph(tmp_path / "g.npz")
    assert data.train_mask.shape == (5, 2)
    splits = splits_of(str(tmp_path / "g.npz"), data, 2)
    assert [split.train.tolist() for split in splits] == [[0], [1]]
    indices = {f"idx_{part}": np.array([i]) for i, part in enumerate(("train", "val", "test"))}
    np.savez(tmp_path / "g.npz", **FORMS["heterophilous-graphs"], **indices)
    data = read_graph(tmp_path / "g.npz")
    assert splits_of(str(tmp_path / "g.npz"), data, 1)[0].final_test_nodes().tolist() == [2]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"edges": EDGES.astype(float)}, r"expected edges as integers \(E, 2\), found float64"),
        ({"edges": np.zeros((3, 4), int)}, r"expected edges as integers \(E, 2\)"),
        ({"edges": EDGES + 3, "node_labels": Y}, "expected nodes from 0 to 4"),
        ({"edges": EDGES, "node_labels": Y, "train_masks": np.ones((2, 4), bool)}, "expected train_masks as booleans"),
        ({"edges": EDGES, "node_labels": Y, "idx_val": np.array([9])}, "expected idx_val as nodes from 0 to 4"),
        ({"graph": pickled({"a": 1})}, r"pickled objects \(graph\), which are not read"),
        ({"adj_matrix": pickled(Evil())}, r"pickled objects \(adj_matrix\), which are not read"),
        (
            {"edges": EDGES, "node_attr": pickled(sp.csr_matrix(X))},
            r"pickled objects \(node_attr\), which are not read",
        ),
        ({"edges": EDGES, "labels": pickled(DTYPE_WITH_STATE)}, r"pickled objects \(labels\), which are not read"),
        ({"names": np.array(["a"])}, "edge_index, edges or adjacency, found names"),
    ],
)
def test_wrong_files_are_named_and_no_code_runs(tmp_path, arrays, words):
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(GraphFileError, match=words):
        read_graph(tmp_path / "g.npz")
    assert not Evil.ran
