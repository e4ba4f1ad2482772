import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn import graphs as G
from kappagcn.errors import GraphError
from kappagcn.graphs import (
    TEST_SEEDS,
    VALIDATION_SEEDS,
    Split,
    airport_split,
    cycle,
    ppnp_split,
    public_splits,
    random_split,
)


def parts(split):
    return split.train, split.stopping, split.validation, split.final_test_nodes()


def test_ppnps_seeds_are_twenty_each_and_differ():
    assert len(set(TEST_SEEDS)) == len(set(VALIDATION_SEEDS)) == 20
    assert not set(TEST_SEEDS) & set(VALIDATION_SEEDS)
    assert TEST_SEEDS[0] == 2144199730


@given(st.integers(0, 2**32 - 1))
def test_the_ppnp_protocol(seed):
    y = torch.arange(2000) % 7
    split = ppnp_split(y, seed)
    assert [len(p) for p in parts(split)] == [140, 500, 860, 500]
    assert torch.equal(torch.cat(parts(split)).sort().values, torch.arange(2000))
    assert y[split.train].bincount().tolist() == [20] * 7
    assert torch.equal(split.final_test_nodes(), ppnp_split(y, 0).final_test_nodes())  # whatever the seed


def test_airport_is_divided_by_the_seed_alone():
    one, two = airport_split(3188, 1), airport_split(3188, 2)
    assert [len(p) for p in parts(one)] == [2100, 300, 300, 488]
    assert torch.equal(one.final_test_nodes(), two.final_test_nodes())
    assert not torch.equal(one.train.sort().values, two.train.sort().values)
    assert torch.equal(torch.cat(parts(one)).sort().values, torch.arange(3188))


@given(st.lists(st.integers(-1, 3), min_size=40, max_size=120), st.integers(0, 99))
def test_random_splits_keep_the_shares_of_each_class(labels, seed):
    y = torch.tensor(labels)
    if (y < 0).all() or min(int((y == c).sum()) for c in y[y >= 0].unique()) < 3:
        return
    split = random_split(y, seed)
    everything = torch.cat(parts(split)).sort().values
    assert torch.equal(everything, torch.nonzero(y >= 0).flatten())
    for c in y[y >= 0].unique():
        own = int((y == c).sum())
        for part, share in zip(parts(split), (0.6, 0.1, 0.1, 0.2), strict=True):
            assert abs(int((y[part] == c).sum()) - share * own) <= 1
    assert torch.equal(split.final_test_nodes(), random_split(y, seed + 1).final_test_nodes())


def test_test_nodes_have_one_door():
    data = cycle(6)
    data.y = torch.tensor([0, 1, 0, 1, 0, 1])
    split = Split([0, 1], [2], [3], [4, 5])
    with pytest.raises(GraphError, match="final_test_nodes"):
        _ = split.test
    assert split.final_test_nodes().tolist() == [4, 5]
    assert split.training_view(data).y.tolist() == [0, 1, 0, 1, -1, -1]
    assert data.y.tolist() == [0, 1, 0, 1, 0, 1]
    masks = split.masks(6)
    assert set(masks) == {"train_mask", "stopping_mask", "val_mask"}
    assert masks["train_mask"].tolist() == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Split([], [1], [2], [3]), "expected nodes to train on"),
        (lambda: Split([0, 0], [1], [2], [3]), "every node once in train"),
        (lambda: Split([0], [0], [2], [3]), "train and stopping nodes to differ, found 1 in both"),
        (lambda: Split([0], [1], [2], [0, 1]), "train and test nodes to differ"),
        (lambda: Split([0], [1], [2], [2]), "validation and test nodes to differ"),
        (lambda: Split([-1], [1], [2], [2]), "nodes from 0, found -1"),
        (lambda: Split([0.5], [1], [2], [2]), "list of integers"),
        (lambda: Split([0], [1], [2], [9]).masks(5), "expected nodes below 5, found 9"),
        (lambda: ppnp_split(torch.zeros(10, dtype=torch.long), 0), "between 1 and 10 known nodes, found 1500"),
        (lambda: ppnp_split(torch.zeros(1600, dtype=torch.long), 0, per_class=2000), "2000 known nodes of class 0"),
        (lambda: ppnp_split(torch.zeros(1600, dtype=torch.long), 0, stopping=2000), "2000 nodes for stopping"),
        (lambda: airport_split(100, 0), "at least 2700 nodes, found 100"),
        (lambda: random_split(torch.zeros(9), 0, train=0.9, stopping=0.2), "shares that sum to at most 1"),
        (lambda: random_split(torch.full((9,), -1), 0), "expected labelled nodes, found none"),
    ],
)
def test_impossible_splits_are_refused(call, words):
    with pytest.raises(GraphError, match=words):
        call()


def test_public_splits_use_validation_nodes_for_stopping_too():
    masks = {f"{k}_masks": np.eye(3, dtype=bool)[[i]] for i, k in enumerate(("train", "val", "test"))}
    (split,) = public_splits(masks, "x")
    assert [p.tolist() for p in parts(split)] == [[0], [1], [1], [2]]
    (split,) = public_splits({"idx_train": np.array([2]), "idx_val": np.array([0]), "idx_test": np.array([1])}, "x")
    assert [p.tolist() for p in parts(split)] == [[2], [0], [0], [1]]
    assert public_splits({}, "x") == []


def test_the_training_view_shows_nothing_of_test_nodes():
    data = G.cycle(6)
    data.y = torch.tensor([0, 1, 0, 1, 0, 1])
    data.test_mask = torch.tensor([0, 0, 0, 0, 1, 1]).bool()
    data.secret = data.y.clone()
    data.x = torch.ones(6, 2)
    view = G.Split([0, 1], [2], [3], [4, 5]).training_view(data)
    assert set(view.keys()) == {"edge_index", "num_nodes", "name", "report", "x", "y"}
    with pytest.raises(GraphError, match="expected labels to hide"):
        G.Split([0, 1], [2], [3], [4, 5]).training_view(G.cycle(6))


@pytest.mark.parametrize(
    "call",
    [
        lambda: G.ppnp_split(torch.full((2000,), -1), 0),
        lambda: G.ppnp_split(torch.zeros(2000), 0, per_class=-1),
        lambda: G.ppnp_split(torch.zeros(2000), -1),
        lambda: G.ppnp_split(torch.zeros(2000), 2**32),
        lambda: G.airport_split(3188, -1),
        lambda: G.random_split(torch.zeros(50), -1),
    ],
)
def test_seeds_and_labels_no_split_can_take(call):
    with pytest.raises(GraphError, match="expected"):
        call()


@pytest.mark.parametrize("labels", [cycle(4), None])
def test_labels_that_are_none_are_named(labels):
    with pytest.raises(GraphError, match=r"data\.y"):
        random_split(labels, 0)
