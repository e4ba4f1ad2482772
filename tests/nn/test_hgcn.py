"""HGCNConv: its formula on points, attention, and a bias that is exact however far out rows lie."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import GCNConv

from graph_samples import DOUBLE, X, draw, random_graph
from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.graphs import disease
from kappagcn.nn import (
    HGCNConv,
)
from kappagcn.nn.hgcn import translated
from kappagcn.sparse import normalized_adjacency


@given(st.booleans(), st.booleans(), st.integers(0, 30))
def test_hgcn_is_its_formula_on_points(at_node, bias, seed):
    edge_index, weight, generator = random_graph(8, 20, seed)
    conv = HGCNConv(3, 2, curvature=-0.7, at_node=at_node, bias=bias).double()
    if bias:
        conv.bias.data = draw(generator, 2)
    x, k = draw(generator, 8, 3), conv.manifold.k.detach()
    adjacency = normalized_adjacency(edge_index, weight, 8, normalization="row", dtype=DOUBLE)
    h = G.expmap0(conv.lin(x), k=k)
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
    theirs.lin.weight.data = conv.lin.weight.data.clone()
    x = draw(generator, 8, 3)
    assert torch.allclose(conv(x, edge_index, weight), theirs(x, edge_index, weight), atol=1e-12)


def test_attention_is_a_softmax_over_each_nodes_edges():
    edge_index, _, generator = random_graph(8, 20, 2)
    edge_index = torch.unique(edge_index, dim=1)
    conv = HGCNConv(3, 2, attention=True, bias=False).double()
    x = draw(generator, 8, 3)
    adjacency = normalized_adjacency(edge_index, num_nodes=8, normalization="row", dtype=DOUBLE)
    v = conv.lin(x)
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


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("size", [0.1, 5.0, 8.0, 16.0])
def test_hgcns_bias_is_exact_however_far_out(size, dtype):
    """Through points of the ball, rows beyond radius 10 had gradients of the wrong sign."""
    v = (X[:, :2] / X[:, :2].norm(dim=1, keepdim=True) * size).to(dtype).requires_grad_()
    k = torch.tensor(-1.0, dtype=dtype, requires_grad=True)
    out = translated(v, torch.zeros(2, dtype=dtype), k)
    assert torch.allclose(out, v, rtol=1e-6)
    by_v, by_k = torch.autograd.grad(out.sum(), (v, k))
    assert torch.allclose(by_v, torch.ones_like(by_v), rtol=1e-5)
    assert abs(float(by_k)) < 1e-5 * size
    b = torch.tensor([0.3, -0.2], dtype=dtype)
    if size < 1:
        points = G.add(G.expmap0(v, k=-1.0), G.expmap0(b, k=-1.0).expand_as(v), k=-1.0)
        assert torch.allclose(G.expmap0(translated(v, b, k), k=-1.0), points, atol=1e-6)
    if size <= (5 if dtype == torch.float32 else 8):  # farther out, directions a rounding apart are farther than that
        moved = translated(v, b, k)
        assert (G.tangent_dist(moved, v, k=-1.0) - 2 * b.norm()).abs().max() < 1e-3


@pytest.mark.parametrize("size", [100.0, 478.0, 1e4, 1e10])
def test_hgcns_bias_is_finite_at_any_distance(size):
    """On Airport rows went out to |v| = 478 in training, where squares of sines overflowed."""
    v = (X / X.norm(dim=1, keepdim=True) * size).requires_grad_()
    b = torch.tensor([5.0, -3.0, 4.0], requires_grad=True)
    k = torch.tensor(-1.06, requires_grad=True)
    out = translated(v, b, k)
    out.sum().backward()
    for result in (out, v.grad, b.grad, k.grad):
        assert torch.isfinite(result).all()
    assert (out - v).norm(dim=1).max() < 1.01 * b.norm() + 1e-6 * size
    near, farther = translated(v.detach()[:1] * (80 / size), b, k), translated(v.detach()[:1] * (90 / size), b, k)
    assert torch.allclose(farther - near, v.detach()[:1] * (10 / size), atol=1e-3)  # no seam where rows are cut


def test_gradients_of_the_bias():
    v, b = X.double().requires_grad_(), torch.tensor([0.3, -0.2, 0.1], dtype=DOUBLE, requires_grad=True)
    k = torch.tensor(-0.7, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(translated, (v, b, k))
