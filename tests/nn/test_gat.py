"""KappaGATConv beside PyG's GATConv and GATv2Conv."""

import pytest
import torch
from torch_geometric.nn import GATConv, GATv2Conv

from graph_samples import DOUBLE, random_graph
from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.nn import KappaGATConv
from kappagcn.nn.inputs import RelativeCurvature

EDGES, _, GENERATOR = random_graph(9, 30, 0)
X = torch.randn(9, 4, generator=GENERATOR, dtype=DOUBLE)
FEATURES = torch.randn(30, 2, generator=GENERATOR, dtype=DOUBLE)


@pytest.mark.parametrize("score", ["gat", "gatv2"])
@pytest.mark.parametrize(
    "options", [{}, {"heads": 3}, {"heads": 2, "concat": False, "bias": False}, {"edge_dim": 2, "heads": 2}]
)
def test_flat_it_is_pygs_layer_values_and_gradients(score, options):
    torch.manual_seed(0)
    theirs = {"gat": GATConv, "gatv2": GATv2Conv}[score](4, 5, **options).double()
    ours = KappaGATConv(4, 5, **options, score=score, manifold=0.0).double()
    ours.load_state_dict(theirs.state_dict(), strict=False)
    arguments = (EDGES, FEATURES) if "edge_dim" in options else (EDGES,)
    results = []
    for conv in (theirs, ours):
        x = X.clone().requires_grad_()
        out = conv(x, *arguments)
        out.square().sum().backward()
        results.append((out.detach(), x.grad, {name: p.grad for name, p in conv.named_parameters()}))
    (pyg, pyg_x, pyg_grads), (own, own_x, own_grads) = results
    assert torch.allclose(own, pyg, rtol=1e-10, atol=1e-10)
    assert torch.allclose(own_x, pyg_x, rtol=1e-9, atol=1e-9)
    assert set(own_grads) == set(pyg_grads)
    for name, grad in pyg_grads.items():
        assert torch.allclose(own_grads[name], grad, rtol=1e-9, atol=1e-9), name


@pytest.mark.parametrize("kappa", [-0.6, 0.3])
def test_a_row_is_the_midpoint_with_the_learned_weights(kappa):
    conv = KappaGATConv(4, 3, bias=False, manifold=kappa, add_self_loops=False).double()
    kappa, v = float(conv.manifold.k), conv.lin(X)
    scores = torch.nn.functional.leaky_relu(
        (v[EDGES[0]] * conv.att_src[0]).sum(-1) + (v[EDGES[1]] * conv.att_dst[0]).sum(-1), 0.2
    )
    out = conv(X, EDGES)
    for node in range(9):
        own = EDGES[1] == node
        if own.any():
            points = G.expmap0(v[EDGES[0, own]], k=kappa)
            want = G.logmap0(G.midpoint(points, scores[own].softmax(0), k=kappa), k=kappa)
            assert torch.allclose(out[node], want, atol=1e-10)


def test_gradients_and_mistakes():
    conv = KappaGATConv(4, 3, heads=2, manifold="H3").double()
    conv(X, EDGES).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in conv.parameters())
    fixed = KappaGATConv(4, 2, heads=2, manifold=-0.5).double()
    assert torch.autograd.gradcheck(lambda x: fixed(x, EDGES), (X.clone().requires_grad_(),))
    assert repr(fixed) == "KappaGATConv(4, 2, manifold=H2(-0.5), heads=2)"
    with pytest.raises(GraphError, match="score: expected gat, gatv2"):
        KappaGATConv(4, 3, score="dot")
    with pytest.raises(GraphError, match="give it edge_dim"):
        fixed(X, EDGES, FEATURES)


def test_two_kinds_of_nodes_are_refused():
    with pytest.raises(GraphError, match="in_channels: expected one number"):
        KappaGATConv((-1, -1), 5)


@pytest.mark.parametrize("kind", [Curvature, RelativeCurvature])
def test_factors_share_a_curvature(kind):
    kappa = kind(-1.0, trainable=True)
    conv = KappaGATConv(4, 4, heads=2, manifold=ProductManifold([Stereographic(kappa, dim=2) for _ in range(2)]))
    conv(X.float(), EDGES).square().sum().backward()
    assert kappa.raw.grad.abs().sum() > 0


def test_heads_are_layers_with_one_head_each():
    heads = KappaGATConv(4, 3, heads=2, manifold=-0.7, bias=False).double()
    out = heads(X, EDGES)
    for h in range(2):
        alone = KappaGATConv(4, 3, manifold=-0.7, bias=False).double()
        with torch.no_grad():
            alone.lin.weight.copy_(heads.lin.weight[3 * h : 3 * h + 3])
            alone.att_src.copy_(heads.att_src[:, h : h + 1])
            alone.att_dst.copy_(heads.att_dst[:, h : h + 1])
        assert torch.allclose(out[:, 3 * h : 3 * h + 3], alone(X, EDGES), atol=1e-12)
