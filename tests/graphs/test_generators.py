import math

import networkx as nx
import numpy as np
import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import balanced_tree, cycle, disease, load_graph, path, shortest_paths, sphere, star, torus


def as_networkx(data):
    graph = nx.empty_graph(data.num_nodes)
    graph.add_edges_from(data.edge_index.T.tolist())
    return graph


def test_the_papers_tree():
    tree = balanced_tree()
    assert (tree.num_nodes, tree.num_edges // 2) == (1365, 1364)
    assert nx.is_isomorphic(as_networkx(balanced_tree(3, 2)), nx.balanced_tree(2, 3))
    assert nx.is_tree(as_networkx(tree))


def test_the_torus_joins_by_the_wrapped_distance():
    data = torus(300, 0.15, seed=3)
    points = data.pos.double().numpy()
    gap = np.abs(points[:, None] - points)
    gap = np.minimum(gap, 1 - gap)
    near = (np.sqrt((gap**2).sum(-1)) < 0.15) & ~np.eye(300, dtype=bool)
    result = np.zeros_like(near)
    result[tuple(data.edge_index.numpy())] = True
    assert (near == result).all()
    assert (np.abs(points[:, None] - points).max(-1) > 0.5)[result].any()  # some edges go around


def test_the_torus_has_the_papers_counts_up_to_chance():
    counts = [torus(seed=s).num_edges for s in range(10)]
    assert abs(np.mean(counts) - 1000 * 999 * np.pi / 100) < 3 * 250 / np.sqrt(10)
    assert min(counts) < 31000 < max(counts)
    assert abs(torus().num_edges / 30626 - 1) < 0.03


def test_the_sphere_joins_by_angle_and_is_connected():
    data = sphere(400, 0.3, seed=1)
    points = data.pos.double().numpy()
    angle = 2 * np.arcsin(np.clip(np.linalg.norm(points[:, None] - points, axis=-1) / 2, 0, 1))
    near = (angle < 0.3) & ~np.eye(len(points), dtype=bool)
    result = np.zeros_like(near)
    result[tuple(data.edge_index.numpy())] = True
    assert (near == result).all()
    assert nx.is_connected(as_networkx(data))


def test_the_sphere_has_the_papers_counts():
    assert sphere().num_nodes == 1000
    assert abs(sphere().num_edges / 17640 - 1) < 0.005
    assert [sphere(seed=s).num_nodes == 1000 for s in range(5)] == [False, False, False, False, True]
    # By area instead of angle the count would be 1000 · 999 · sin²(0.1), far off; by angle the mean is near 17 020.
    counts = [sphere(seed=s).num_edges for s in range(12)]
    assert abs(np.mean(counts) - 17020) < 3 * 1220 / np.sqrt(12)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_cycles_paths_and_stars_are_networkxs(n):
    assert nx.utils.graphs_equal(as_networkx(cycle(n)), nx.cycle_graph(n))
    assert nx.utils.graphs_equal(as_networkx(path(n)), nx.path_graph(n))
    assert nx.utils.graphs_equal(as_networkx(star(n)), nx.star_graph(n))


def test_seeds_decide_everything():
    for make in (torus, sphere, disease):
        assert torch.equal(make(seed=7).edge_index, make(seed=7).edge_index)
        assert make(seed=7).edge_index.shape != make(seed=8).edge_index.shape or not torch.equal(
            make(seed=7).edge_index, make(seed=8).edge_index
        )


def test_the_epidemic_is_one():
    data = disease()
    assert data.num_nodes == 1000
    assert nx.is_tree(as_networkx(data))
    ill = data.y.bool()
    graph = as_networkx(data)
    assert nx.is_connected(graph.subgraph(torch.nonzero(ill).flatten().tolist()))  # it spread along edges
    assert 0.3 < ill.float().mean() < 0.5
    assert data.class_names == ["spared", "infected"]
    parents = [next(iter(graph.adj[v]), 0) for v in range(1, 1000)]
    assert not (ill[1:] & ~ill[torch.tensor(parents)]).any()


def test_the_epidemic_is_worth_learning_from_its_graph():
    """A logistic model on a node's own readings is beaten by one that also sees its neighbours'."""
    data = disease(2000, seed=1)
    mean = torch.zeros_like(data.x).index_add_(0, data.edge_index[0], data.x[data.edge_index[1]])
    mean = mean / torch.bincount(data.edge_index[0]).unsqueeze(1)

    def accuracy(x):
        x = torch.cat([x, torch.ones(len(x), 1)], dim=1)
        weights = torch.zeros(x.shape[1], requires_grad=True)
        optimiser = torch.optim.LBFGS([weights], max_iter=100)

        def loss():
            optimiser.zero_grad()
            value = torch.nn.functional.binary_cross_entropy_with_logits(x[::2] @ weights, data.y[::2].float())
            value.backward()
            return value

        optimiser.step(loss)
        return ((x[1::2] @ weights > 0) == data.y[1::2].bool()).float().mean()

    assert accuracy(torch.cat([data.x, mean], dim=1)) > accuracy(data.x) + 0.03 > 0.6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: balanced_tree(-1), "depth of at least 0, found -1"),
        (lambda: balanced_tree(2, 0), "branching of at least 1, found 0"),
        (lambda: torus(radius=0.7), "radius between 0 and 1/2, found 0.7"),
        (lambda: sphere(radius=4), "radius between 0 and π, found 4"),
        (lambda: cycle(2), "num_nodes of at least 3, found 2"),
        (lambda: star(0), "leaves of at least 1"),
        (lambda: disease(1), "of at least 2"),
        (lambda: disease(recovery=0), "recovery between 0 and 1"),
        (
            lambda: load_graph("treee"),
            r"expected a file or a built-in name, found 'treee'. Did you mean tree or small_tree or phylo_tree\?",
        ),
    ],
)
def test_impossible_graphs_are_refused(call, words):
    with pytest.raises(GraphError, match=words):
        call()


def least_distortion(data, dim, starts=12, steps=1000):
    """The smallest worst-case distortion, max ratio over min ratio of distances, found by descent from many starts."""
    n = data.num_nodes
    i, j = torch.triu_indices(n, n, 1)
    want = shortest_paths(data)[i, j].double()
    points = torch.randn(starts, n, dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points.requires_grad_()
    optimiser = torch.optim.Adam([points], lr=0.02)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.994)
    best = math.inf
    for step in range(steps):
        optimiser.zero_grad()
        ratio = (points[:, i] - points[:, j]).norm(dim=-1).clamp_min(1e-9).log() - want.log()
        best = min(best, float((ratio.amax(dim=1) - ratio.amin(dim=1)).detach().min().exp()))
        sharp = 20 * 1.0075**step  # a smooth maximum that sharpens
        spread = (torch.logsumexp(sharp * ratio, dim=1) + torch.logsumexp(-sharp * ratio, dim=1)) / sharp
        spread.sum().backward()
        optimiser.step()
        schedule.step()
    return best


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize(("data", "bound"), [(star(3), 2 / math.sqrt(3)), (cycle(4), math.sqrt(2))])
def test_the_bound_holds_and_is_attained(data, bound, dim):
    result = least_distortion(data, dim)
    assert bound - 1e-9 <= result <= bound + 2e-3


@pytest.mark.parametrize(("data", "bound"), [(star(3), 2 / math.sqrt(3)), (cycle(4), math.sqrt(2))])
def test_on_a_line_it_is_worse(data, bound):
    assert least_distortion(data, 1) > bound + 0.1
