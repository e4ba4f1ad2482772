import numpy as np
import pytest
import torch

from kappagcn.geometry import dist, expmap0
from kappagcn.report.neighbours import central, distances_from, nearest
from report_runs import embedded

SPACES = [([2], [-1.3]), ([3], [0.4]), ([2], [0.0]), ([2, 3, 1], [-0.7, 0.5, 0.0]), ([4], [-1e-9])]


def told(dims, curvatures, nodes=60, seed=3):
    tangent = 0.8 * np.random.default_rng(seed).normal(size=(nodes, sum(dims)))
    return embedded(tangent, dims, curvatures, np.zeros((0, 2), int))


def brute(made):
    v = torch.as_tensor(made.tangent)
    total = 0
    for k, part in made.factors:
        x = expmap0(v[:, part], k=k)
        total = total + dist(x[:, None], x[None], k=k) ** 2
    return total.sqrt().numpy()


@pytest.mark.parametrize(("dims", "curvatures"), SPACES)
def test_neighbours_are_those_of_all_distances(dims, curvatures):
    made = told(dims, curvatures)
    all_of_them = brute(made)
    np.fill_diagonal(all_of_them, np.inf)
    chosen = np.array([5, 0, 59])
    near, lengths = nearest(made, chosen)
    assert near.tolist() == all_of_them.argsort(1)[chosen, :8].tolist()
    assert np.allclose(lengths, np.sort(all_of_them, 1)[chosen, :8], rtol=1e-7)


@pytest.mark.parametrize(("dims", "curvatures"), SPACES)
def test_the_central_node_has_the_smallest_sum(dims, curvatures):
    made = told(dims, curvatures)
    assert central(made, np.arange(60)) == brute(made).sum(1).argmin()
    assert np.allclose(distances_from(made, 4, np.array([7, 4])), [brute(made)[4, 7], 0], atol=1e-7)


def test_points_far_out_have_finite_distances():
    made = embedded([[400.0, 0], [400, 1], [-400, 0]], [2], [-1.0], [[0, 1]])
    near, lengths = nearest(made, np.arange(3))
    assert near[0, 0] == 1
    assert np.isfinite(lengths).all()


def test_a_node_alone_has_no_neighbours():
    near, lengths = nearest(embedded([[0.0, 0]], [2], [-1.0], np.zeros((0, 2), int)), np.array([0]))
    assert near.shape == lengths.shape == (1, 0)
