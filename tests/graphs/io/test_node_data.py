import numpy as np
import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs.io.node_data import are_words, as_features, as_labels, compact_features


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


def words(rng, weighted):
    counts = rng.poisson(0.05, (100, 40)).astype(float)
    counts[:60, 0] = 1 + np.arange(60) % 2
    return counts * rng.uniform(0.5, 2.0, 40) * weighted + counts * (1 - weighted)


def one_hots(rng, *columns):
    return np.column_stack([np.eye(12)[rng.integers(0, 12, 100)], *columns])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda rng: words(rng, 0), True),
        (lambda rng: words(rng, 1), True),  # counts times a weight of each word
        (lambda rng: words(rng, 0) / np.maximum(words(rng, 0).sum(1, keepdims=True), 1), True),
        (lambda rng: one_hots(rng), True),
        (lambda rng: one_hots(rng, rng.integers(18, 80, 100), rng.integers(20_000, 90_000, 100)), False),
        (lambda rng: one_hots(rng, np.where(rng.random(100) < 0.7, 0, rng.lognormal(7, 1, 100))), False),
        (lambda rng: np.column_stack([words(rng, 0), rng.integers(18, 80, 100)]), False),
        (lambda rng: words(rng, 0) - 0.01 * (words(rng, 0) > 0), False),
    ],
    ids=[
        "counts",
        "weighted",
        "shares",
        "only 0 and 1",
        "age and income",
        "often zero",
        "age beside words",
        "negative",
    ],
)
def test_words_are_told_from_measurements_by_column(made, expected):
    x = torch.from_numpy(made(np.random.default_rng(0))).float()
    assert are_words(x) == are_words(x.to_sparse_csr()) == expected
    assert compact_features(x).layout == (torch.sparse_csr if expected else torch.strided)
    assert torch.equal(compact_features(x.to_sparse_csr()).to_dense(), x)
