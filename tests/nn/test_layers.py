"""Linear, activation, dropout, logits, pool, HGCN: against the geometry's functions on points and against PyG."""

import copy
import math
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import GCNConv, global_mean_pool

from graph_samples import DOUBLE, random_graph, space
from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.graphs import disease
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import (
    HGCNConv,
    KappaActivation,
    KappaDropout,
    KappaLinear,
    KappaLogits,
    KappaPool,
    PointFeatures,
    TangentFeatures,
    logits,
    point_features,
    pool,
    tangent_features,
)
from kappagcn.nn.hyperplanes import hyperplane_logits
from kappagcn.sparse import SparseMatrix, normalized_adjacency

PATHS = {"compiled": nullcontext, "torch": torch_only}
KAPPAS = [-2.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0]


def draw(generator, *shape, size=0.4):
    return size * torch.randn(*shape, generator=generator, dtype=DOUBLE)


@given(st.sampled_from(KAPPAS), st.integers(1, 5), st.integers(0, 50))
def test_linear_is_the_right_product_and_activation_the_moebius_function_on_points(kappa, dim, seed):
    generator = torch.Generator().manual_seed(seed)
    v = draw(generator, 6, dim)
    layer = KappaLinear(dim, 3, bias=False).double()
    x = G.expmap0(v, k=kappa)
    after = G.expmap0(layer(v), k=kappa)
    assert torch.allclose(after, G.matmul_right(x, layer.weight, k=kappa), atol=1e-10)
    activated = G.expmap0(KappaActivation(torch.tanh)(v), k=kappa)
    assert torch.allclose(activated, G.expmap0(torch.tanh(G.logmap0(x, k=kappa)), k=kappa), atol=1e-10)


def test_linear_takes_sparse_rows_and_drops_connections():
    generator = torch.Generator().manual_seed(0)
    x = draw(generator, 8, 5).relu()
    layer = KappaLinear(5, 2, dropconnect=0.5).double().eval()
    want = x @ layer.weight + layer.bias
    for given_x in (x, SparseMatrix.from_tensor(x), x.to_sparse_coo()):
        assert torch.allclose(layer(given_x), want)
    layer.train()
    torch.manual_seed(0)
    draws = torch.stack([layer(torch.eye(5, dtype=DOUBLE)) - layer.bias for _ in range(2000)]).detach()
    kept = draws != 0
    assert torch.allclose(draws[kept], (2 * layer.weight).detach().expand_as(draws)[kept])
    assert kept.double().mean() == pytest.approx(0.5, abs=5 * 0.5 / (2000 * 10) ** 0.5)


def test_dropout_keeps_sparse_sparse_and_is_off_in_evaluation():
    x = torch.ones(50, 20)
    layer = KappaDropout(0.25)
    torch.manual_seed(0)
    dense, sparse = layer(x), layer(SparseMatrix.from_tensor(x))
    assert isinstance(sparse, SparseMatrix)
    for found in (dense, sparse.to_dense()):
        assert found.unique().tolist() == [0.0, pytest.approx(4 / 3)]
        assert (found != 0).float().mean() == pytest.approx(0.75, abs=5 * (0.1875 / 1000) ** 0.5)
    layer.eval()
    assert layer(x) is x


@pytest.mark.parametrize("path", PATHS)
@given(st.sampled_from([*KAPPAS, "H2xS1", "S2xE1xH1", "U3"]), st.integers(1, 4), st.integers(0, 50))
def test_logits_are_the_geometrys(path, signature, classes, seed):
    generator = torch.Generator().manual_seed(seed)
    manifold = space(signature)
    dim = manifold.dim or 3
    v, p, a = draw(generator, 7, dim), draw(generator, classes, dim), draw(generator, classes, dim, size=1.0)
    want = manifold.logits(manifold.expmap0(v), manifold.expmap0(p), a)
    with PATHS[path]():
        assert torch.allclose(logits(v, p, a, manifold), want, rtol=1e-9, atol=1e-9)


def test_flat_logits_are_linear_and_start_as_a_linear_layer_does():
    generator = torch.Generator().manual_seed(1)
    layer = KappaLogits(4, 3, space(0.0)).double()
    v = draw(generator, 6, 4)
    assert torch.allclose(layer(v), 4 * v @ layer.normals.t(), atol=1e-12)
    layer.points.data = draw(generator, 3, 4)
    want = 4 * ((v.unsqueeze(1) - layer.points) * layer.normals).sum(-1)
    assert torch.allclose(layer(v), want, atol=1e-12)
    assert (4 * layer.normals).abs().max() <= (6 / 7) ** 0.5  # glorot's bound


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("signature", [-1.0, 0.0, 1e-8, 0.8, "H2xS2"])
def test_gradients_of_logits(signature, path):
    generator = torch.Generator().manual_seed(2)
    manifold = space(signature)
    dims = [2, 2] if manifold.dim else [3]
    k = manifold.k.detach().reshape(-1).requires_grad_()
    v, p, a = (draw(generator, n, sum(dims)).requires_grad_() for n in (4, 2, 2))
    with PATHS[path]():
        assert torch.autograd.gradcheck(lambda *args: hyperplane_logits(*args, dims), (v, p, a, k))
    layer = KappaLogits(sum(dims), 2, manifold).double()
    layer(v).square().sum().backward()
    for name, parameter in layer.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kappa", [-1.0, 1.0])
@pytest.mark.parametrize("size", [1e-30, 1.0, 5.0, 20.0, 1e3])
def test_logits_are_finite_wherever_points_and_planes_lie(kappa, size, path):
    generator = torch.Generator().manual_seed(3)
    manifold = space(kappa, torch.float32)
    v, p = (draw(generator, n, 3, size=size).float().requires_grad_() for n in (20, 4))
    a = torch.ones(4, 3).index_fill_(0, torch.tensor([0, 3]), 0.0 if size <= 5 else 0.1)  # some planes have no normal
    a.requires_grad_()
    with PATHS[path]():
        found = logits(v, p, a, manifold)
        found.tanh().sum().backward()
    for tensor in (found, v.grad, a.grad, p.grad, manifold.curvature.raw.grad):
        assert torch.isfinite(tensor).all()
    assert size > 5 or (found[:, [0, 3]] == 0).all()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_logits_of_a_plane_through_the_antipode_of_the_origin_vanish(path, dtype):
    generator = torch.Generator().manual_seed(4)
    k = torch.tensor([2.0928], dtype=dtype, requires_grad=True)
    beyond = torch.tensor([0.0, 1e-9, -1e-7, 1e-6, 1e-4], dtype=DOUBLE)
    directions = torch.nn.functional.normalize(draw(generator, 5, 3, size=1.0), dim=1)
    p = (directions * ((math.pi / 2 + beyond) / k.item() ** 0.5)[:, None]).to(dtype).requires_grad_()
    v, a = (draw(generator, n, 3, size=1.0).to(dtype).requires_grad_() for n in (20, 5))
    with PATHS[path]():
        found = hyperplane_logits(v, p, a, k, [3])
        found.sum().backward()
    assert found.abs().max() < 1e-4
    for tensor in (v, p, a, k):
        assert torch.isfinite(tensor.grad).all()
        assert tensor.grad.abs().max() < 1


@given(st.sampled_from([-1.0, 0.0, 1.0, "H2xS1"]), st.booleans(), st.integers(0, 30))
def test_pool_is_the_midpoint_of_each_graph(signature, weighted, seed):
    generator = torch.Generator().manual_seed(seed)
    manifold = space(signature)
    v = draw(generator, 10, 3)
    batch = torch.randint(4, (10,), generator=generator)
    weight = torch.rand(10, generator=generator, dtype=DOUBLE) + 0.1 if weighted else None
    found = pool(v, batch, manifold, num_graphs=5, weight=weight)
    assert torch.equal(found[4], torch.zeros(3, dtype=DOUBLE))
    x = manifold.expmap0(v)
    for graph in range(4):
        own = batch == graph
        if own.any():
            want = manifold.midpoint(x[own], None if weight is None else weight[own])
            assert torch.allclose(manifold.expmap0(found[graph]), want, atol=1e-10)


def test_flat_pool_is_global_mean_pool():
    v = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
    batch = torch.tensor([0, 0, 0, 1, 1, 3, 3, 3, 3, 3])
    layer = KappaPool(space(0.0, torch.float32))
    assert torch.allclose(layer(v, batch), global_mean_pool(v, batch), atol=1e-6)
    assert torch.allclose(layer(v, batch, 6), global_mean_pool(v, batch, 6), atol=1e-6)
    assert torch.allclose(layer(v), v.mean(0, keepdim=True), atol=1e-6)
    with pytest.raises(GraphError, match="one graph number per node"):
        layer(v, batch[:4])


# HGCN -----------------------------------------------------------------------------------------------------------------


@given(st.booleans(), st.booleans(), st.integers(0, 30))
def test_hgcn_is_its_formula_on_points(at_node, bias, seed):
    edge_index, weight, generator = random_graph(8, 20, seed)
    conv = HGCNConv(3, 2, curvature=-0.7, at_node=at_node, bias=bias).double()
    if bias:
        conv.bias.data = draw(generator, 2)
    x, k = draw(generator, 8, 3), conv.manifold.k.detach()
    adjacency = normalized_adjacency(edge_index, weight, 8, normalization="row", dtype=DOUBLE)
    h = G.expmap0(x @ conv.weight, k=k)
    if bias:
        h = G.add(h, G.expmap0(conv.bias, k=k).expand_as(h), k=k)
    want = torch.stack(
        [G.tangential_mean(h, row, k=k, base=h[i] if at_node else None) for i, row in enumerate(adjacency.to_dense())]
    )
    assert torch.allclose(G.expmap0(conv(x, edge_index, weight), k=k), want, atol=1e-9)
    assert torch.allclose(conv(x, adjacency), conv(x, edge_index, weight), atol=1e-12)


def test_hgcn_without_bias_at_the_origin_is_gcn():
    """What the comparison rests on: curvature acts through the bias and the aggregation at the node alone."""
    edge_index, weight, generator = random_graph(8, 20, 1)
    conv = HGCNConv(3, 2, bias=False, normalize="symmetric").double()
    theirs = GCNConv(3, 2).double()
    theirs.lin.weight.data = conv.weight.data.t().clone()
    x = draw(generator, 8, 3)
    assert torch.allclose(conv(x, edge_index, weight), theirs(x, edge_index, weight), atol=1e-12)


def test_attention_is_a_softmax_over_each_nodes_edges():
    edge_index, _, generator = random_graph(8, 20, 2)
    edge_index = torch.unique(edge_index, dim=1)
    conv = HGCNConv(3, 2, attention=True, bias=False).double()
    x = draw(generator, 8, 3)
    adjacency = normalized_adjacency(edge_index, num_nodes=8, normalization="row", dtype=DOUBLE)
    v = x @ conv.weight
    scores = torch.nn.functional.leaky_relu(
        (v @ conv.attention[0]).unsqueeze(1) + (v @ conv.attention[1]).unsqueeze(0), 0.2
    )
    scores = scores.masked_fill(adjacency.to_dense() == 0, -torch.inf)
    assert torch.allclose(conv(x, edge_index), scores.softmax(1) @ v, atol=1e-10)
    for at_node in (False, True):
        conv = HGCNConv(3, 2, attention=True, at_node=at_node).double()
        conv.bias.data = draw(generator, 2)
        conv(x, edge_index).square().sum().backward()
        for name, parameter in conv.named_parameters():
            assert parameter.grad.abs().sum() > 0, name


def test_hgcns_curvature_stays_negative_and_far_points_stay_finite():
    conv = HGCNConv(3, 2)
    optimiser = torch.optim.SGD([conv.manifold.curvature.raw], lr=10.0)
    data = disease(60)
    for _ in range(20):
        optimiser.zero_grad()
        (-conv.manifold.k).backward()
        optimiser.step()
    assert -1 < float(conv.manifold.k.detach()) < 0
    conv = HGCNConv(10, 2, at_node=True)
    conv.bias.data = torch.tensor([5.0, -5.0])
    x = (100 * data.x).requires_grad_()
    out = conv(x, data.edge_index)
    out.tanh().sum().backward()
    assert torch.isfinite(out).all()
    assert torch.isfinite(x.grad).all()
    with pytest.raises(GraphError, match=r"below 0, found 0\.5"):
        HGCNConv(3, 2, curvature=0.5)


# Round trips ----------------------------------------------------------------------------------------------------------

LAYERS = {
    "linear": lambda: KappaLinear(10, 4),
    "logits": lambda: KappaLogits(10, 4, space("H5xS5", torch.float32)),
    "hgcn": lambda: HGCNConv(10, 4, attention=True),
    "pool": lambda: KappaPool(space("H5xS5", torch.float32)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_copies_and_state_dicts_give_the_same_numbers(name):
    data = disease(60)
    layer = LAYERS[name]()
    arguments = (0.1 * data.x, data.edge_index) if name == "hgcn" else (0.1 * data.x,)
    want = layer(*arguments)
    other = LAYERS[name]()
    other.load_state_dict(layer.state_dict())
    for twin in (copy.deepcopy(layer), other):
        assert torch.equal(twin(*arguments), want)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compile_and_export(name):
    data = disease(60)
    layer = LAYERS[name]()
    arguments = (0.1 * data.x, data.edge_index) if name == "hgcn" else (0.1 * data.x,)
    want = layer(*arguments)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(*arguments), want, atol=1e-5)
    exported = torch.export.export(layer, arguments).module()
    assert torch.allclose(exported(*arguments), want, atol=1e-5)


# Features -------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("kappas", [[-1.0], [0.5], [0.0], [-1.0, 2.0]])
@pytest.mark.parametrize("split", [False, True])
def test_the_papers_scaling(kappas, split):
    x = torch.rand(12, 7, generator=torch.Generator().manual_seed(0)).mul(3).sub(2).relu()
    v = point_features(x, kappas, split=split)
    sparse = point_features(x.to_sparse_csr(), kappas, split=split)
    assert sparse.layout == torch.sparse_csr
    assert torch.allclose(sparse.to_dense(), v, atol=1e-6)
    parts = (
        zip(v.split([4, 3], 1), x.split([4, 3], 1), kappas, strict=True)
        if split and len(kappas) > 1
        else [(v, x, kappas[0])]
    )
    for own, columns, kappa in parts:
        root = abs(kappa) ** 0.5 or 1.0
        if len(kappas) > 1 and not split:
            assert torch.allclose(own, columns / (2 * 2.0**0.5 * columns.norm(dim=1).max()), atol=1e-6)
        else:
            want = columns / (2 * root * columns.norm(dim=1).max())
            assert torch.allclose(G.expmap0(own, k=kappa), want, atol=1e-6)


def test_tangent_features_and_transforms():
    data = disease(50)
    x = data.x.clone()
    assert torch.allclose(tangent_features(x, scale=0.5), 0.5 * x)
    marks = torch.stack([torch.ones(50), torch.arange(50) % 2], 1)
    standard = tangent_features(torch.cat([x, marks], 1), standardize=True, scale=2.0)
    assert torch.allclose(standard[:, :-2].mean(0), torch.zeros(10), atol=1e-5)
    assert torch.allclose(standard[:, :-2].std(0, correction=0), torch.full((10,), 2.0), atol=1e-5)
    assert torch.equal(standard[:, -2:], 2 * marks)  # zeros and ones stay
    with pytest.raises(GraphError, match="expected dense features"):
        tangent_features(x.to_sparse_coo(), standardize=True)
    assert torch.equal(PointFeatures("H2xS2", split=True)(data).x, point_features(x, [-1.0, 1.0], split=True))
    assert torch.equal(data.x, x)  # the caller's graph is left alone
    assert torch.equal(TangentFeatures(3.0)(data).x, 3 * x)
