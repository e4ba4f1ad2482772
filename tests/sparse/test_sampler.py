"""Drawn neighbours: right on average, exact where all are drawn, no larger than asked for, PyG's loaders' friends."""

import pickle

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import NodeSamplerInput

from kappagcn.errors import GraphError
from kappagcn.kernels.rows import lift_rows
from kappagcn.nn import KappaGCNConv
from kappagcn.sparse import SparseMatrix, normalized_adjacency
from kappagcn.sparse.sampler import NeighbourSampler, SparseRows

NODES = 60


def hubs(normalization="symmetric", add_self_loops=True):
    """Two hubs that everyone knows, few other edges, uneven weights, some edges twice, one node alone."""
    generator = torch.Generator().manual_seed(0)
    others = torch.arange(2, NODES - 1)
    pairs = torch.randint(2, NODES - 1, (2, 120), generator=generator)
    one_way = torch.cat([torch.stack([torch.zeros_like(others), others]), torch.stack([0 * others + 1, others])], 1)
    one_way = torch.cat([one_way, pairs, pairs[:, :10]], 1)
    edges = torch.cat([one_way, one_way.flip(0)], 1)
    weight = 0.1 + 3 * torch.rand(edges.shape[1], generator=generator, dtype=torch.float64)
    return normalized_adjacency(
        edges, weight, NODES, normalization=normalization, add_self_loops=add_self_loops, dtype=torch.float64
    )


def block_product(sample, x):
    for block in sample.blocks:
        x = block.product(x)
    return x


def assert_right_on_average(estimates, truth):
    """Every entry of the mean over draws (T, …) within 4 standard errors."""
    error = estimates.std(0) / len(estimates) ** 0.5
    assert ((estimates.mean(0) - truth).abs() <= 4 * error + 1e-12).all()
    assert (estimates.std(0) > 1e-6).double().mean() > 0.3  # it was drawn


@pytest.mark.parametrize("normalization", ["symmetric", "row"])
@pytest.mark.parametrize("kappa", [-1.0, 0.7])
def test_sums_of_lifts_and_of_rows_are_right_on_average(normalization, kappa):
    adjacency, draws = hubs(normalization), 3000
    v = torch.randn(NODES, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    lifted = torch.cat([lift_rows(v, torch.tensor(kappa).double()), torch.ones(NODES, 1).double()], 1)
    sampler = NeighbourSampler(adjacency, (3,))
    sample = sampler.sample(torch.arange(NODES).repeat(draws))  # each node again and again, drawn for anew
    result = sample.blocks[0].product(lifted[sample.nodes]).view(draws, NODES, -1)
    assert_right_on_average(result, adjacency.product(lifted))


def test_every_subset_is_as_likely_as_any_other():
    """Of 5 neighbours 2: ten pairs, each a tenth; a chi-square of 9 degrees of freedom."""
    edges = torch.stack([torch.arange(1, 6), torch.zeros(5, dtype=torch.int64)])
    sampler = NeighbourSampler(normalized_adjacency(edges, num_nodes=6, add_self_loops=False), (2,))
    draws = 20000
    block = sampler.sample(torch.zeros(draws, dtype=torch.int64))
    columns = block.nodes[block.blocks[0].cols].view(draws, 2).sort(1).values
    assert (columns[:, 0] < columns[:, 1]).all()
    counts = torch.bincount(6 * columns[:, 0] + columns[:, 1]).double()
    counts = counts[counts > 0]
    assert len(counts) == 10
    assert float(((counts - draws / 10) ** 2 / (draws / 10)).sum()) < 27.9  # the 99.9 % point


def test_given_the_nodes_of_a_hop_the_next_one_is_right_on_average_row_by_row():
    adjacency, x = hubs(), torch.randn(NODES, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    sampler = NeighbourSampler(adjacency, (4, 3))
    first = sampler.sample(torch.tensor([0, 5, 9]), (4,)).nodes
    sample = sampler.sample(first.repeat(2000), (3,))
    draws = sample.blocks[0].product(x[sample.nodes]).view(2000, len(first), -1)
    assert_right_on_average(draws, adjacency.product(x)[first])
    twice, seeds = [], torch.tensor([0, 5, 9])
    for _ in range(700):  # hops are drawn independently, so two of them are right on average as well
        sample = sampler.sample(seeds)
        twice.append(block_product(sample, x[sample.nodes]))
    assert_right_on_average(torch.stack(twice), adjacency.product(adjacency.product(x))[seeds])


@pytest.mark.parametrize("normalization", ["symmetric", "row", "none"])
@pytest.mark.parametrize("add_self_loops", [True, False])
def test_with_all_neighbours_the_blocks_are_the_rows_of_the_matrix(normalization, add_self_loops):
    adjacency = hubs(normalization, add_self_loops)
    x = torch.randn(NODES, 2, dtype=torch.float64)
    seeds = torch.tensor([NODES - 1, 3, 0, 3])
    for neighbours in ((-1, -1), (NODES, NODES)):
        sample = NeighbourSampler(adjacency, neighbours).sample(seeds)
        assert torch.equal(sample.nodes[:4], seeds)
        want = adjacency.product(adjacency.product(x))[seeds]
        assert torch.allclose(block_product(sample, x[sample.nodes]), want, atol=1e-12)


def test_blocks_fit_into_each_other_and_are_no_larger_than_asked_for():
    sample = NeighbourSampler(hubs(), (3, 2, 2)).sample(torch.tensor([0, 1, 7]))
    rows = [block.shape for block in sample.blocks]
    assert rows[0][1] == len(sample.nodes) == len(sample.nodes.unique())
    assert [a for a, _ in rows[:-1]] == [b for _, b in rows[1:]]
    assert rows[-1][0] == 3
    for block, k in zip(sample.blocks, (2, 2, 3), strict=True):
        per_row = torch.bincount(block.rows, minlength=block.shape[0])
        assert per_row.max() <= k + 1
        assert block.shape[1] <= block.shape[0] * (k + 1)
        places = block.rows * block.shape[1] + block.cols
        assert len(places) == len(places.unique())  # without replacement


def test_a_hub_costs_no_more_than_what_is_drawn():
    """A million neighbours, ten drawn: nothing of the size of the row is made."""
    leaves = 1_000_000
    edges = torch.stack([torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64)])
    sampler = NeighbourSampler(normalized_adjacency(edges, num_nodes=leaves + 1), (10, 10))
    with torch.profiler.profile(profile_memory=True) as profile:
        sample = sampler.sample(torch.tensor([0]))
    assert len(sample.nodes) <= 21
    assert sum(max(event.cpu_memory_usage, 0) for event in profile.events()) < 100_000


def test_draws_follow_from_the_seed_alone():
    def drawn(seed, count=2):
        sampler = NeighbourSampler(hubs(), (3, 3), seed=seed)
        return [sampler.sample(torch.arange(5)) for _ in range(count)]

    torch.manual_seed(0)
    one = drawn(1)
    before = torch.get_rng_state()
    two = drawn(1)
    assert torch.equal(before, torch.get_rng_state())  # the caller's random numbers are left alone
    for a, b in zip(one, two, strict=True):
        assert torch.equal(a.nodes, b.nodes)
        assert all(torch.equal(p.values, q.values) for p, q in zip(a.blocks, b.blocks, strict=True))
    assert not torch.equal(one[0].nodes, one[1].nodes)
    assert not torch.equal(one[0].nodes, drawn(2)[0].nodes)
    sampler = NeighbourSampler(hubs(), (3, 3), seed=1)
    sampler.sample(torch.arange(5))
    copied = pickle.loads(pickle.dumps(sampler))
    assert torch.equal(copied.sample(torch.arange(5)).nodes, one[1].nodes)


def test_a_rectangular_matrix_gives_its_rows():
    matrix = SparseMatrix(
        torch.tensor([3, 0, 3, 3]), torch.tensor([1, 0, 0, 1]), torch.tensor([1.0, 2.0, 3.0, 4.0]), (5, 2)
    )
    rows = torch.tensor([3, 1, 0, 3])
    assert torch.equal(SparseRows(matrix).take(rows).to_dense(), matrix.to_dense()[rows])
    assert SparseRows(matrix).take(rows[:0]).shape == (0, 2)


# PyG's NodeLoader -----------------------------------------------------------------------------------------------------


def loaded(neighbours, **options):
    adjacency = hubs().to(torch.float32)
    data = Data(x=torch.randn(NODES, 4, generator=torch.Generator().manual_seed(3)), y=torch.arange(NODES))
    data.edge_index = torch.stack([adjacency.cols, adjacency.rows])
    data.edge_weight = torch.ones(len(adjacency.cols))  # not what layers are to use
    sampler = NeighbourSampler(adjacency, neighbours, seed=4)
    loader = NodeLoader(data, sampler, input_nodes=torch.arange(2, 32), transform=sampler.weigh, **options)
    return adjacency, data, loader


@pytest.mark.parametrize("workers", [0, 2])
def test_layers_on_a_loaders_batches_give_what_they_give_on_the_whole_graph(workers):
    torch.manual_seed(0)
    adjacency, data, loader = loaded((-1, -1), batch_size=8, shuffle=True, num_workers=workers)
    first, second = (
        KappaGCNConv(4, 4, manifold=-1.0, normalize="none", add_self_loops=False),
        KappaGCNConv(4, 2, manifold=0.5, normalize="none", add_self_loops=False),
    )
    want = second(first(data.x, adjacency).relu(), adjacency)
    seen = []
    for batch in loader:
        hidden = first(batch.x, batch.edge_index, batch.edge_weight).relu()
        actual = second(hidden, batch.edge_index, batch.edge_weight)[: batch.batch_size]
        assert torch.allclose(actual, want[batch.n_id[: batch.batch_size]], atol=1e-5)
        assert torch.equal(batch.y, batch.n_id)
        assert sum(batch.num_sampled_nodes) == batch.num_nodes
        assert sum(batch.num_sampled_edges) == batch.num_edges
        assert torch.isfinite(torch.autograd.grad(actual.sum(), first.lin.weight)[0]).all()
        seen.append(batch.n_id[: batch.batch_size])
    assert not torch.equal(torch.cat(seen), torch.arange(2, 32))  # shuffled
    assert torch.equal(torch.cat(seen).sort().values, torch.arange(2, 32))


def test_weights_of_a_loaders_batch_are_the_corrected_ones():
    _, _, loader = loaded((3, 2), batch_size=30)
    (batch,) = loader
    sampler = NeighbourSampler(hubs().to(torch.float32), (3, 2), seed=4)
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(2, 32)))
    assert torch.equal(out.node, batch.n_id)
    assert torch.allclose(out.metadata[2], batch.edge_weight)
    blocks = NeighbourSampler(hubs().to(torch.float32), (3, 2), seed=4).sample(torch.arange(2, 32)).blocks
    first = batch.num_sampled_edges[0]
    assert torch.allclose(batch.edge_weight[:first], blocks[-1].values)  # the first hop is drawn alike


def test_workers_draw_differently_and_anew_in_each_epoch():
    torch.manual_seed(0)
    _, _, loader = loaded((3, 2), batch_size=15, num_workers=2)
    epochs = [[batch.n_id for batch in loader] for _ in range(2)]
    assert not torch.equal(epochs[0][0], epochs[1][0])


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", [(0,), (-2,), (1.5,), "ab", 3, (True,), None])
def test_wrong_numbers_of_neighbours(neighbours):
    with pytest.raises(GraphError, match="neighbours: expected a number from 1 for each hop, or -1 for all"):
        NeighbourSampler(hubs(), neighbours)


def test_other_wrong_input():
    with pytest.raises(GraphError, match="square SparseMatrix, found Tensor"):
        NeighbourSampler(torch.eye(3), (1,))
    with pytest.raises(GraphError, match=r"square SparseMatrix, found \(2, 3\)"):
        NeighbourSampler(SparseMatrix(torch.tensor([0]), torch.tensor([0]), torch.ones(1), (2, 3)), (1,))
    sampler = NeighbourSampler(hubs(), (1,))
    with pytest.raises(GraphError, match="expected nodes from 0 to 59, found -1 to 3"):
        sampler.sample(torch.tensor([-1, 3]))
    with pytest.raises(GraphError, match="of int64"):
        sampler.sample(torch.tensor([0.5]))
    with pytest.raises(GraphError, match="expected nodes to start from"):
        sampler.sample_from_edges(None)
    with pytest.raises(GraphError, match="need no gradient"):
        SparseRows(SparseMatrix(torch.tensor([0]), torch.tensor([0]), torch.ones(1, requires_grad=True), (1, 1)))
