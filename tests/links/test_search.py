"""The most probable links by candidates: nearly those of all pairs."""

import torch

from kappagcn.graphs import torus
from kappagcn.graphs.datasets.edge_splits import undirected_edges
from kappagcn.links.search import top_pairs
from kappagcn.models import FreePoints, LinkPredictor


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
