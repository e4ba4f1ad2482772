import numpy as np
import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import as_features, as_labels


def test_features_stay_sparse_when_asked():
    import scipy.sparse as sp

    matrix = sp.random_array((20, 30), density=0.1, random_state=np.random.default_rng(0))
    dense, sparse = as_features(matrix), as_features(matrix, sparse=True)
    assert sparse.layout == torch.sparse_csr
    assert torch.equal(sparse.to_dense(), dense)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: as_features([[1.0, np.nan]]), "expected finite features, found 1 entry that"),
        (lambda: as_features([[1e300, 1e300]]), "found 2 entries"),
        (lambda: as_features([["a"]]), "features as numbers"),
        (lambda: as_features([1.0]), r"numbers \(nodes, features\)"),
        (lambda: as_labels([0, 1, 7]), "expected labels from 0 to 2, or −1 for unknown, found 0 to 7"),
        (lambda: as_labels([0, -2]), "found -2 to 0"),
        (lambda: as_labels([0.5]), "expected labels that are integers"),
        (lambda: as_labels([np.nan]), "expected labels that are integers"),
        (lambda: as_labels(["a"]), "labels as a list of integers"),
        (lambda: as_labels([0, 5, 1, 2, 3, 4], num_classes=3), "from 0 to 2"),
    ],
)
def test_features_and_labels_that_cannot_be_used_are_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()
