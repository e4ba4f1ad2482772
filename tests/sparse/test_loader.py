"""KappaNeighborLoader used as PyG's tests use NeighborLoader."""

import pytest
import torch
from torch_geometric.data import Data, HeteroData

from kappagcn.errors import GraphError
from kappagcn.graphs import from_edges
from kappagcn.nn import KappaGCNConv
from kappagcn.sparse import KappaNeighborLoader

N = 60


@pytest.fixture(scope="module")
def data():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(N, (2, 500), generator=generator)  # with loops and repeated edges
    return Data(
        x=torch.arange(float(N)).unsqueeze(1).repeat(1, 3),
        y=torch.arange(N),
        edge_index=edges,
        edge_weight=torch.arange(500.0),
        name="random",
    )


@pytest.mark.parametrize("neighbours", [[4, 3], [-1], [2, -1, 1]])
def test_batches_are_parts_of_the_graph(data, neighbours):
    seeds = []
    for batch in KappaNeighborLoader(data, num_neighbors=neighbours, batch_size=16, seed=0):
        seeds.append(batch.n_id[: batch.batch_size])
        assert torch.equal(batch.input_id, batch.n_id[: batch.batch_size])
        assert torch.equal(batch.x[:, 0].long(), batch.n_id)
        assert torch.equal(batch.y, batch.n_id)
        assert torch.equal(batch.edge_weight.long(), batch.e_id)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert len(batch.e_id.unique()) == len(batch.e_id)
        assert len(batch.n_id.unique()) == len(batch.n_id) == sum(batch.num_sampled_nodes)
        assert len(batch.e_id) == sum(batch.num_sampled_edges)
        degrees = torch.bincount(data.edge_index[1], minlength=N)
        drawn = torch.bincount(batch.edge_index[1], minlength=len(batch.n_id))
        start = 0
        for k, count in zip(neighbours, batch.num_sampled_nodes[:-1], strict=True):
            own = slice(start, start + count)
            limit = N * N if k == -1 else k
            assert torch.equal(drawn[own], degrees[batch.n_id[own]].clamp(max=limit))
            start += count
    assert torch.equal(torch.cat(seeds), torch.arange(N))


def test_seeds_masks_shuffling_and_workers(data):
    mask = torch.arange(N) % 3 == 0
    for options in ({}, {"shuffle": True}, {"num_workers": 1}):
        loader = KappaNeighborLoader(data, [2], mask, batch_size=7, seed=1, **options)
        seen = torch.cat([batch.n_id[: batch.batch_size] for batch in loader])
        assert torch.equal(seen.sort().values, mask.nonzero().flatten())
    first, again = (next(iter(KappaNeighborLoader(data, [2], batch_size=60, seed=1))).e_id for _ in range(2))
    assert torch.equal(first, again)
    draws = {tuple(next(iter(KappaNeighborLoader(data, [1], batch_size=60, seed=s))).e_id.tolist()) for s in range(5)}
    assert len(draws) == 5


@pytest.mark.filterwarnings("ignore:Sparse (CSR|invariant):UserWarning")
def test_sparse_features_stay_sparse(data):
    sparse = data.clone()
    sparse.x = data.x.to_sparse_csr()
    loader = KappaNeighborLoader(sparse, [3, 3], batch_size=20, seed=0, transform=lambda b: b.update({"seen": True}))
    for batch, dense in zip(loader, KappaNeighborLoader(data, [3, 3], batch_size=20, seed=0), strict=True):
        assert batch.x.layout == torch.sparse_csr
        assert torch.equal(batch.x.to_dense(), dense.x)
        assert batch.seen
    assert sparse.x.layout == torch.sparse_csr


def test_a_graph_with_names_is_divided_too():
    """The library's own graphs from edges with names, whose names are a list."""
    ring = "abcdef"
    data = from_edges([(ring[i - 1], ring[i]) for i in range(6)])
    data.y, data.class_names = torch.arange(6) % 6, list("uvwxyz")  # as many classes as nodes
    data.edge_names = [f"edge {k}" for k in range(data.num_edges)]
    for batch in KappaNeighborLoader(data, [1], batch_size=2, seed=0, transform=lambda b: b.update({"seen": True})):
        assert batch.node_names == [data.node_names[node] for node in batch.n_id.tolist()]
        assert batch.edge_names == [f"edge {k}" for k in batch.e_id.tolist()]
        assert batch.class_names == data.class_names
        assert batch.num_nodes == len(batch.n_id)
        assert batch.seen
    assert len(data.node_names) == 6, "the graph itself is unchanged"


def test_with_all_neighbours_a_network_gives_what_it_gives_on_the_whole_graph(data):
    torch.manual_seed(0)
    first = KappaGCNConv(3, 4, normalize="none", manifold=-1e-5)
    second = KappaGCNConv(4, 2, normalize="none", manifold=-1e-5)
    x, weight = data.x / N, torch.full((500,), 0.1)
    whole = second(first(x, data.edge_index, weight).relu(), data.edge_index, weight)
    for batch in KappaNeighborLoader(data, num_neighbors=[-1, -1], batch_size=25):
        own = torch.full((len(batch.e_id),), 0.1)
        out = second(first(batch.x / N, batch.edge_index, own).relu(), batch.edge_index, own)
        assert torch.allclose(out[: batch.batch_size], whole[batch.n_id[: batch.batch_size]], atol=1e-5)


def test_mistakes_are_named(data):
    with pytest.raises(GraphError, match="expected a Data with edge_index, found HeteroData"):
        KappaNeighborLoader(HeteroData(), [2])
    with pytest.raises(GraphError, match="a number from 1 for each hop"):
        KappaNeighborLoader(data, [0])
