"""Pairs without an edge: never a known edge, all of them possible, dense graphs, degrees."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import NegativeSampler, classic, negatives, star
from kappagcn.graphs.negatives import pair_keys


def keys(pairs, n):
    return set(pair_keys(pairs, n).tolist())


@pytest.mark.parametrize("distribution", ["uniform", "degree"])
def test_known_edges_and_loops_are_never_drawn(distribution):
    data = classic("karate")
    sampler = NegativeSampler(data.edge_index, 34, distribution)
    pairs = sampler.sample(20_000, torch.Generator().manual_seed(0))
    assert pairs.shape == (2, 20_000)
    assert (pairs[0] < pairs[1]).all()
    assert not keys(pairs, 34) & keys(data.edge_index, 34)
    assert not sampler.contains(pairs).any()
    assert sampler.contains(data.edge_index.flip(0)).all()


def test_uniform_draws_meet_every_pair_about_equally():
    data = classic("karate")
    sampler = NegativeSampler(data.edge_index, 34)
    counts = pair_keys(sampler.sample(48_300, torch.Generator().manual_seed(1)), 34).unique(return_counts=True)[1]
    assert len(counts) == sampler.available == 34 * 33 // 2 - 78
    assert 50 < counts.min() <= counts.max() < 160  # 100 each on average, 10 standard deviations ±


def test_draws_by_degree_meet_hubs_more_often():
    data = classic("karate")
    hub = int(torch.bincount(data.edge_index[0]).argmax())
    shares = [
        (NegativeSampler(data.edge_index, 34, how).sample(20_000, torch.Generator().manual_seed(0)) == hub).any(0)
        for how in ("uniform", "degree")
    ]
    assert shares[1].double().mean() > 1.5 * shares[0].double().mean()


@pytest.mark.parametrize("distribution", ["uniform", "degree"])
def test_a_graph_with_one_pair_left_gives_that_pair(distribution):
    edges = torch.triu_indices(20, 20, 1)[:, 1:]  # all but (0, 1)
    sampler = NegativeSampler(edges, 20, distribution)
    assert sampler.sample(5).unique(dim=1).tolist() == [[0], [1]]
    assert sampler.distinct(1).tolist() == [[0], [1]]
    with pytest.raises(GraphError, match="expected 2 pairs of nodes without an edge, found 1"):
        sampler.distinct(2)


def test_a_star_has_pairs_of_leaves_alone():
    """By degree nearly all draws meet the centre, all of whose pairs are edges."""
    data = star(2000)
    pairs = NegativeSampler(data.edge_index, data.num_nodes, "degree").sample(3000)
    assert not (pairs == int(torch.bincount(data.edge_index[0]).argmax())).any()


def test_a_complete_graph_has_none():
    with pytest.raises(GraphError, match="every two are linked"):
        NegativeSampler(torch.triu_indices(5, 5, 1), 5)
    with pytest.raises(GraphError, match="expected uniform or degree, found 'odd'"):
        NegativeSampler(torch.triu_indices(5, 5, 1), 6, "odd")


def test_distinct_pairs_are_distinct_and_repeatable():
    data = classic("karate")
    sampler = NegativeSampler(data.edge_index, 34)
    one, two = (sampler.distinct(400, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(one, two)
    assert len(keys(one, 34)) == 400
    assert NegativeSampler(torch.empty(2, 0, dtype=torch.int64), 3).distinct(3).shape == (2, 3)


@pytest.mark.parametrize("distribution", ["uniform", "degree"])
def test_many_pairs_are_the_same_in_order(monkeypatch, distribution):
    edges = torch.randint(50, (2, 200), generator=torch.Generator().manual_seed(0))
    sampler = NegativeSampler(edges, 50, distribution)
    drawn = sampler.sample(300, torch.Generator().manual_seed(1))
    monkeypatch.setattr(negatives, "MANY", 300)
    ordered = pair_keys(sampler.sample(300, torch.Generator().manual_seed(1)), 50)
    assert torch.equal(pair_keys(drawn, 50).sort().values, ordered.sort().values)
    assert (ordered[:200].diff() >= 0).all(), "those of later rounds follow"
    different = pair_keys(sampler.distinct(300, torch.Generator().manual_seed(1)), 50)
    assert (different.diff() < 0).any(), "the first of a draw are taken, so that it must not be sorted"
