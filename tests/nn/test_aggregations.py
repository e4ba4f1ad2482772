"""Other aggregations than the midpoint, bipartite and mini-batch graphs, edges as PyG gives them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv

from graph_samples import DOUBLE, random_graph, space
from kappagcn import KappaGCNConv
from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.nn import aggregate
from kappagcn.nn.functional import AGGREGATIONS
from kappagcn.sparse import SparseMatrix, bipartite_adjacency, normalized_adjacency
from spaces import few

pytestmark = pytest.mark.filterwarnings("ignore::kappagcn.errors.NonUniqueMeanWarning")


def points(n, dim, generator, size=0.4):
    return size * torch.randn(n, dim, generator=generator, dtype=DOUBLE)


@few(25)
@given(st.sampled_from([-1.0, -1e-6, 0.0, 1e-6, 0.5]), st.integers(1, 4), st.integers(0, 50))
def test_each_row_is_the_geometrys_mean_of_its_neighbours(kappa, dim, seed):
    edge_index, weight, generator = random_graph(8, 20, seed)
    adjacency = normalized_adjacency(edge_index, weight, 8, normalization="row", dtype=DOUBLE)
    dense = adjacency.to_dense()
    v, manifold = points(8, dim, generator), space(kappa)
    x = G.expmap0(v, k=manifold.k)
    means = {
        "tangential": lambda i: G.tangential_mean(x, dense[i], k=manifold.k),
        "tangential-node": lambda i: G.tangential_mean(x, dense[i], k=manifold.k, base=x[i]),
        "frechet": lambda i: G.frechet_mean(x, dense[i], k=manifold.k),
        "midpoint": lambda i: G.midpoint(x, dense[i], k=manifold.k),
    }
    for name, mean in means.items():
        found = aggregate(v, adjacency, manifold, aggregation=name)
        for i in range(8):
            assert torch.allclose(G.expmap0(found[i], k=manifold.k), mean(i), atol=1e-9), name


def test_only_the_sum_of_a_row_scales_a_frechet_mean():
    edge_index, weight, generator = random_graph(8, 20, 1)
    v, manifold = points(8, 3, generator), space(-1)
    results = []
    for normalization in ("row", "symmetric"):
        adjacency = normalized_adjacency(edge_index, weight, 8, normalization=normalization, dtype=DOUBLE)
        results.append((adjacency, aggregate(v, adjacency, manifold, aggregation="frechet")))
    (_, one), (symmetric, other) = results
    for i in range(8):
        weights = symmetric.to_dense()[i]
        mean = manifold.frechet_mean(manifold.expmap0(v), weights / weights.sum())
        assert torch.allclose(other[i], weights.sum() * manifold.logmap0(mean), atol=1e-9)
    assert not torch.allclose(one, other)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("signature", ["H2xS1", "S3", "E2xH1"])
def test_gradients_of_every_aggregation(aggregation, signature):
    edge_index, weight, generator = random_graph(5, 9, 2)
    adjacency = normalized_adjacency(edge_index, weight, 5, normalization="row", dtype=DOUBLE)
    manifold = space(signature)
    v = points(5, 3, generator).requires_grad_()
    raws = [p for p in manifold.parameters() if p.requires_grad]

    def layer(v, *raws):
        return aggregate(v, adjacency, manifold, aggregation=aggregation)

    assert torch.autograd.gradcheck(lambda v: layer(v), (v,))
    if aggregation != "tangential":
        for raw in raws:
            (grad,) = torch.autograd.grad(layer(v).square().sum(), raw)
            with torch.no_grad():
                start, h = raw.clone(), 1e-5
                values = []
                for sign in (1, -1):
                    raw.copy_(start + sign * h)
                    values.append(float(layer(v).square().sum()))
                raw.copy_(start)
            assert float(grad) == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("signature", [-1, 1, "H2xS1xE1"])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_permuting_the_nodes_permutes_every_aggregation(aggregation, signature, dtype):
    edge_index, weight, generator = random_graph(15, 40, 3)
    adjacency = normalized_adjacency(edge_index, weight, 15, normalization="row", dtype=dtype)
    v, manifold = points(15, 4, generator).to(dtype), space(signature, dtype)
    order = torch.randperm(15, generator=generator)
    place = order.argsort()
    moved = SparseMatrix(place[adjacency.rows], place[adjacency.cols], adjacency.values, (15, 15))
    one = aggregate(v, adjacency, manifold, aggregation=aggregation)
    other = aggregate(v[order], moved, manifold, aggregation=aggregation)
    assert torch.allclose(other, one[order], atol=1e-5 if dtype == torch.float32 else 1e-9)


@pytest.mark.parametrize("aggregation", ["midpoint", "frechet", "tangential-node"])
@pytest.mark.parametrize("kappa", [-1.0, 0.5])
def test_isometries_commute_with_every_intrinsic_aggregation(aggregation, kappa):
    from kappagcn.testing import random_isometry

    edge_index, weight, generator = random_graph(12, 40, 4)
    adjacency = normalized_adjacency(edge_index, weight, 12, normalization="row", dtype=DOUBLE)
    v, manifold = points(12, 3, generator, 0.25), space(kappa)
    k = manifold.k.detach()
    move = random_isometry(3, k=kappa, dtype=DOUBLE, generator=generator)
    after = move(G.expmap0(aggregate(v, adjacency, manifold, aggregation=aggregation), k=k))
    before = G.expmap0(
        aggregate(G.logmap0(move(G.expmap0(v, k=k)), k=k), adjacency, manifold, aggregation=aggregation), k=k
    )
    assert torch.allclose(after, before, atol=1e-8)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_the_double_mode_of_every_aggregation_is_nearer_to_the_truth(aggregation):
    edge_index, _, generator = random_graph(20, 60, 5)
    exact = normalized_adjacency(edge_index, num_nodes=20, normalization="row", dtype=DOUBLE)
    single = exact.to(torch.float32)
    v = points(20, 3, generator, 1.2).float()
    truth = aggregate(v.double(), single.to(DOUBLE), space(-1), aggregation=aggregation)
    errors = {}
    for double in (False, True):
        found = aggregate(v, single, space(-1, torch.float32), aggregation=aggregation, double=double)
        errors[double] = float((found - truth).detach().norm())
    truth = truth.detach()
    assert errors[True] < 1e-6 * float(truth.norm())
    assert errors[True] <= errors[False]


def test_a_row_without_neighbours_is_the_origin():
    edges = torch.tensor([[0], [1]])
    adjacency = normalized_adjacency(edges, num_nodes=3, add_self_loops=False, normalization="row")
    for aggregation in ("midpoint", "tangential", "frechet"):
        out = aggregate(0.3 * torch.ones(3, 2), adjacency, space(-1, torch.float32), aggregation=aggregation)
        assert torch.equal(out[[0, 2]], torch.zeros(2, 2))
        assert torch.allclose(out[1], torch.full((2,), 0.3))


@given(st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from(["symmetric", "row", "none"]), st.integers(0, 30))
def test_edges_between_two_kinds_of_nodes(kappa, normalize, seed):
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.stack(
        [torch.randint(7, (20,), generator=generator), torch.randint(4, (20,), generator=generator)]
    )
    weight = torch.rand(20, generator=generator, dtype=DOUBLE) + 0.1
    source, target = points(7, 3, generator), points(4, 3, generator)
    conv = KappaGCNConv(3, 2, space(kappa), normalize=normalize).double()
    out = conv((source, target), edge_index, weight)
    dense = torch.zeros(4, 7, dtype=DOUBLE).index_put((edge_index[1], edge_index[0]), weight, accumulate=True)
    if normalize != "none":
        rows = dense.sum(1, keepdim=True)
        scale = dense / rows.where(rows > 0, 1)
        if normalize == "symmetric":
            columns = dense.sum(0, keepdim=True)
            scale = dense / (rows.where(rows > 0, 1) * columns.where(columns > 0, 1)).sqrt()
        dense = scale
    want = aggregate(source @ conv.weight, SparseMatrix.from_tensor(dense), conv.manifold)
    assert out.shape == (4, 2)
    assert torch.allclose(out, want, atol=1e-12)
    assert torch.equal(conv((source, None), edge_index, weight, size=(7, 4)), out)
    assert torch.equal(conv(source, edge_index, weight, size=(7, 4)), out)


def test_a_batch_of_graphs_is_its_graphs():
    generator = torch.Generator().manual_seed(0)
    graphs = [
        Data(x=points(n, 3, generator), edge_index=torch.randint(n, (2, 3 * n), generator=generator)) for n in (4, 7, 1)
    ]
    batch = Batch.from_data_list(graphs)
    conv = KappaGCNConv(3, 2, "H1xS1").double()
    whole = conv(batch.x, batch.edge_index)
    parts = torch.cat([conv(g.x, g.edge_index) for g in graphs])
    assert torch.allclose(whole, parts, atol=1e-12)


@pytest.mark.filterwarnings("ignore:(Sparse CSR tensor|Sparse invariant|Converting sparse):UserWarning")  # PyG's own
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_a_sparse_adjacency_tensor_is_taken_as_pyg_takes_it(layout):
    edge_index, weight, generator = random_graph(9, 25, 8)
    edge_index = torch.unique(edge_index[:, edge_index[0] != edge_index[1]], dim=1)
    weight = weight[: edge_index.shape[1]]
    flipped = torch.sparse_coo_tensor(edge_index.flip(0), weight, (9, 9), check_invariants=True).coalesce()
    adjacency = flipped if layout == "coo" else flipped.to_sparse_csr()
    x = points(9, 3, generator)
    flat = KappaGCNConv(3, 2, 0.0).double()
    theirs = GCNConv(3, 2).double()
    theirs.lin.weight.data = flat.weight.data.t().clone()
    assert torch.allclose(flat(x, adjacency), theirs(x, adjacency), atol=1e-12)
    assert torch.allclose(flat(x, adjacency), flat(x, edge_index, weight), atol=1e-12)


def test_dropping_happens_in_training_only():
    edge_index, _, generator = random_graph(20, 80, 9)
    x = points(20, 3, generator).float()
    plain = KappaGCNConv(3, 4, "H4")
    for options in ({"dropconnect": 0.5}, {"adjacency_dropout": 0.5}):
        conv = KappaGCNConv(3, 4, "H4", **options)
        conv.load_state_dict(plain.state_dict())
        torch.manual_seed(1)
        assert not torch.allclose(conv(x, edge_index), plain(x, edge_index))
        conv.eval()
        assert torch.equal(conv(x, edge_index), plain(x, edge_index))


def test_factors_that_share_the_input_see_only_their_columns():
    edge_index, _, generator = random_graph(10, 30, 10)
    conv = KappaGCNConv(7, 5, "H2xS3", split_input=True).double()
    x = points(10, 7, generator).requires_grad_()
    out = conv(x, edge_index)
    (by_first,) = torch.autograd.grad(out[:, :2].square().sum(), x, retain_graph=True)
    (by_second,) = torch.autograd.grad(out[:, 2:].square().sum(), x)
    assert (by_first[:, :4] != 0).any()
    assert (by_first[:, 4:] == 0).all()
    assert (by_second[:, :4] == 0).all()
    assert (by_second[:, 4:] != 0).any()
    conv(x, edge_index).square().sum().backward()
    assert torch.equal(conv.weight.grad == 0, conv.mask == 0)
    again = KappaGCNConv(7, 5, "H2xS3", split_input=True).double()
    again.load_state_dict(conv.state_dict())
    assert torch.equal(again(x, edge_index), conv(x, edge_index))


NONE = torch.zeros(2, 0, dtype=torch.long)


def _aggregate(adjacency, aggregation):
    return aggregate(torch.ones(2, 2), adjacency, space(-1, torch.float32), aggregation=aggregation)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: KappaGCNConv(3, 2, aggregation="mean"), "expected aggregation midpoint"),
        (lambda: KappaGCNConv(3, 2, normalize="max"), "expected normalize symmetric"),
        (lambda: KappaGCNConv(3, 2, dropconnect=1.0), "dropconnect: expected a probability"),
        (lambda: KappaGCNConv(3, 2, adjacency_dropout=-0.1), "adjacency_dropout: expected a probability"),
        (lambda: KappaGCNConv(1, 2, "H1xS1", split_input=True), "split_input: expected a product of at most 1"),
        (lambda: KappaGCNConv(3, 2, -1.0, split_input=True), "split_input: expected a product"),
        (lambda: KappaGCNConv(3, 2)((torch.ones(2, 3), None), torch.zeros(2, 0, dtype=torch.long)), "size="),
        (lambda: bipartite_adjacency(torch.tensor([[0], [4]]), (3, 4)), "nodes from 0 to 3, found 4 to 4"),
        (lambda: _aggregate(bipartite_adjacency(NONE, (2, 3)), "tangential-node"), "as many targets as sources"),
        (lambda: _aggregate(bipartite_adjacency(NONE, (2, 2)), "x"), "found 'x'"),
    ],
)
def test_what_cannot_be_aggregated_is_named(call, words):
    with pytest.raises(GraphError, match=words):
        call()
