"""Linear, activation, dropout, logits, pool: against the geometry's functions on points and against PyG."""

import copy
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import global_mean_pool

from graph_samples import DOUBLE, draw, space
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
    pool,
)
from kappagcn.sparse import SparseMatrix

PATHS = {"compiled": nullcontext, "torch": torch_only}


KAPPAS = [-2.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0]


@given(st.sampled_from(KAPPAS), st.integers(1, 5), st.integers(0, 50))
def test_linear_is_the_right_product_and_activation_the_moebius_function_on_points(kappa, dim, seed):
    generator = torch.Generator().manual_seed(seed)
    v = draw(generator, 6, dim, size=0.2)  # within half of the sphere, where log_0 undoes exp_0
    layer = KappaLinear(dim, 3, bias=False).double()
    x = G.expmap0(v, k=kappa)
    after = G.expmap0(layer(v), k=kappa)
    assert torch.allclose(after, G.matmul_right(x, layer.weight.t(), k=kappa), atol=1e-10)
    activated = G.expmap0(KappaActivation(torch.tanh)(v), k=kappa)
    assert torch.allclose(activated, G.expmap0(torch.tanh(G.logmap0(x, k=kappa)), k=kappa), atol=1e-10)


def test_linear_takes_sparse_rows_and_drops_connections():
    generator = torch.Generator().manual_seed(0)
    x = draw(generator, 8, 5).relu()
    layer = KappaLinear(5, 2, dropconnect=0.5).double().eval()
    want = x @ layer.weight.t() + layer.bias
    for given_x in (x, SparseMatrix.from_tensor(x), x.to_sparse_coo()):
        assert torch.allclose(layer(given_x), want)
    layer.train()
    torch.manual_seed(0)
    draws = torch.stack([layer(torch.eye(5, dtype=DOUBLE)) - layer.bias for _ in range(2000)]).detach()
    kept = draws != 0
    assert torch.allclose(draws[kept], (2 * layer.weight.t()).detach().expand_as(draws)[kept])
    assert kept.double().mean() == pytest.approx(0.5, abs=5 * 0.5 / (2000 * 10) ** 0.5)


def test_dropout_keeps_sparse_sparse_and_is_off_in_evaluation():
    x = torch.ones(50, 20)
    layer = KappaDropout(0.25)
    torch.manual_seed(0)
    dense, sparse = layer(x), layer(SparseMatrix.from_tensor(x))
    assert isinstance(sparse, SparseMatrix)
    for result in (dense, sparse.to_dense()):
        assert result.unique().tolist() == [0.0, pytest.approx(4 / 3)]
        assert (result != 0).float().mean() == pytest.approx(0.75, abs=5 * (0.1875 / 1000) ** 0.5)
    layer.eval()
    assert layer(x) is x


def test_flat_logits_are_linear_and_start_as_a_linear_layer_does():
    generator = torch.Generator().manual_seed(1)
    layer = KappaLogits(4, 3, space(0.0)).double()
    v = draw(generator, 6, 4)
    assert torch.allclose(layer(v), 4 * v @ layer.normals.t(), atol=1e-12)
    layer.points.data = draw(generator, 3, 4)
    want = 4 * ((v.unsqueeze(1) - layer.points) * layer.normals).sum(-1)
    assert torch.allclose(layer(v), want, atol=1e-12)
    assert (4 * layer.normals).abs().max() <= (6 / 7) ** 0.5  # glorot's bound


@given(st.sampled_from([-1.0, 0.0, 1.0, "H2xS1"]), st.booleans(), st.integers(0, 30))
def test_pool_is_the_midpoint_of_each_graph(signature, weighted, seed):
    generator = torch.Generator().manual_seed(seed)
    manifold = space(signature)
    v = draw(generator, 10, 3)
    batch = torch.randint(4, (10,), generator=generator)
    weight = torch.rand(10, generator=generator, dtype=DOUBLE) + 0.1 if weighted else None
    actual = pool(v, batch, manifold, num_graphs=5, weight=weight)
    assert torch.equal(actual[4], torch.zeros(3, dtype=DOUBLE))
    x = manifold.expmap0(v)
    for graph in range(4):
        own = batch == graph
        if own.any():
            want = manifold.midpoint(x[own], None if weight is None else weight[own])
            assert torch.allclose(manifold.expmap0(actual[graph]), want, atol=1e-10)


def test_flat_pool_is_global_mean_pool():
    v = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
    batch = torch.tensor([0, 0, 0, 1, 1, 3, 3, 3, 3, 3])
    layer = KappaPool(space(0.0, torch.float32))
    assert torch.allclose(layer(v, batch), global_mean_pool(v, batch), atol=1e-6)
    assert torch.allclose(layer(v, batch, 6), global_mean_pool(v, batch, 6), atol=1e-6)
    assert torch.allclose(layer(v), v.mean(0, keepdim=True), atol=1e-6)
    with pytest.raises(GraphError, match="one graph number per node"):
        layer(v, batch[:4])


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


def test_layers_on_the_meta_device_are_shown_and_reset():
    with torch.device("meta"):
        layers = [KappaLogits(4, 3, "H2xS2"), HGCNConv(4, 4), KappaPool("H4")]
    assert [repr(layer).count(word) for layer, word in zip(layers, ("H2xS2", "H4", "H4"), strict=True)] == [1, 1, 1]
    logits, conv = (layer.to_empty(device="cpu") for layer in layers[:2])
    for layer in (logits, conv):
        layer.reset_parameters()
    torch.testing.assert_close(logits.manifold.k.detach(), torch.tensor([-1.0, 1.0]))
    assert conv.manifold.curvature.value == pytest.approx(-1.0)
