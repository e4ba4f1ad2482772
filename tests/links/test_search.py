"""The most probable links: candidates, and nearly those of all pairs."""

import numpy as np
import pytest
import torch

from kappagcn.graphs import torus
from kappagcn.graphs.datasets.edge_splits import undirected_edges
from kappagcn.links import search as link_candidates
from kappagcn.links.search import candidate_pairs, top_pairs
from kappagcn.models import FreePoints, LinkPredictor


def keys(blocks, n):
    return [int(key) for block in blocks for key in block[0] * n + block[1]]


@pytest.mark.parametrize("block", [1, 7, 10**6])
def test_pairs_two_steps_apart_come_once_whatever_the_size_of_a_block(monkeypatch, block):
    """A path: the pairs i, i + 2, in blocks that hold no more than asked, or one row."""
    monkeypatch.setattr(link_candidates, "BLOCK", block)
    monkeypatch.setattr(link_candidates, "HUBS", 0)
    monkeypatch.setattr(link_candidates, "NEAREST", 0)
    n = 30
    edges = torch.stack((torch.arange(n - 1), torch.arange(1, n)))
    blocks = list(candidate_pairs(torch.arange(n).double()[:, None], edges))
    assert sorted(keys(blocks, n)) == [i * n + i + 2 for i in range(n - 2)]
    assert len(blocks) >= n / block


def test_no_more_pairs_than_the_limit_go_through_common_neighbours(monkeypatch):
    """A star joined to a path: the star's centre has too many pairs, nodes of degree 2 are still used."""
    edges = torch.tensor([[0] * 40 + list(range(41, 50)), list(range(1, 41)) + list(range(42, 51))])
    monkeypatch.setattr(link_candidates, "HUBS", 0)
    monkeypatch.setattr(link_candidates, "NEAREST", 0)
    n = 51
    for limit, through_the_centre in [(10**6, 40 * 39 // 2), (1000, 0)]:
        monkeypatch.setattr(link_candidates, "TWO_STEPS", limit)
        assert len(keys(candidate_pairs(torch.arange(n).double()[:, None], edges), n)) == through_the_centre + 8


def test_along_random_directions_near_points_are_candidates(monkeypatch):
    """Of pairs of twins, far from all others, most follow one another along some direction."""
    monkeypatch.setattr(link_candidates, "TREE_NODES", 0)
    points = np.random.default_rng(1).standard_normal((200, 5))
    v = torch.from_numpy(np.concatenate((points, points + 1e-3)))
    edges = torch.tensor([[0], [1]])
    candidates = set(keys(candidate_pairs(v, edges), 400))
    assert sum(i * 400 + i + 200 in candidates for i in range(200)) >= 190
    model = LinkPredictor(FreePoints(400, "E5", v))
    pairs, _ = top_pairs(model, v, edges, 190, exact=False)
    assert ((pairs[1] - pairs[0]) == 200).sum() >= 180
    assert len(set(keys([pairs], 400))) == 190


def test_candidates_find_near_points():
    """Of random points the nearest pairs are candidates by their tangent vectors; in nearly flat space all of them."""
    data = torus(120)
    v = torch.randn(120, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    model = LinkPredictor(FreePoints(120, "H3(-0.01)", v))
    edges = undirected_edges(data)
    exact, likely = (top_pairs(model, v, edges, 50, exact=exact) for exact in (True, False))
    assert torch.equal(exact[0], likely[0])
    torch.testing.assert_close(exact[1], likely[1])


def test_fewer_pairs_than_asked_for():
    v = torch.randn(4, 2, dtype=torch.float64)
    model = LinkPredictor(FreePoints(4, "H2", v))
    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    pairs, scores = top_pairs(model, v, edges, 10)
    assert pairs.shape == (2, 3)
    assert (scores.diff() <= 0).all()
