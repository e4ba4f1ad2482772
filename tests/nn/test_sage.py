"""KappaSAGEConv beside PyG's SAGEConv."""

import pytest
import torch
from torch_geometric.nn import SAGEConv

from graph_samples import DOUBLE, random_graph
from kappagcn import geometry as G
from kappagcn.errors import GraphError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.nn import KappaSAGEConv, SparseMatrix
from kappagcn.nn.inputs import RelativeCurvature

EDGES, WEIGHT, GENERATOR = random_graph(9, 30, 0)
X = torch.randn(9, 4, generator=GENERATOR, dtype=DOUBLE)


@pytest.mark.parametrize("options", [{}, {"root_weight": False}, {"bias": False, "normalize": True}, {"project": True}])
@pytest.mark.parametrize("bipartite", [False, True])
def test_flat_it_is_sageconv_values_and_gradients(options, bipartite):
    channels = (4, 3) if bipartite else 4
    theirs = SAGEConv(channels, 5, **options).double()
    ours = KappaSAGEConv(channels, 5, **options, manifold=0.0).double()
    ours.load_state_dict(theirs.state_dict(), strict=False)
    edges = EDGES.clamp(max=4) if bipartite else EDGES
    results = []
    for conv in (theirs, ours):
        x = X.clone().requires_grad_()
        out = conv((x, x[:5, :3]) if bipartite else x, edges)
        out.square().sum().backward()
        results.append((out.detach(), x.grad, *(p.grad for p in conv.parameters())))
    for mine, pygs in zip(*results, strict=True):
        assert torch.allclose(mine, pygs, rtol=1e-10, atol=1e-10)


def test_neighbours_meet_in_their_midpoint():
    conv = KappaSAGEConv(4, 3, root_weight=False, bias=False, manifold=-0.7).double()
    kappa = float(conv.manifold.k)
    out = conv(X, EDGES, WEIGHT)
    points = G.expmap0(conv.lin_l(X), k=kappa)
    for node in range(9):
        own = EDGES[1] == node
        if own.any():
            want = G.logmap0(G.midpoint(points[EDGES[0, own]], WEIGHT[own], k=kappa), k=kappa)
            assert torch.allclose(out[node], want, atol=1e-10)


def test_other_aggregations_are_named():
    with pytest.raises(GraphError, match='aggr: expected "mean"'):
        KappaSAGEConv(4, 3, "max")


def test_gradients_and_lazy_sizes():
    conv = KappaSAGEConv(-1, 3, manifold="H2xS1").double()
    conv(X, EDGES, WEIGHT.clone().requires_grad_()).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in conv.parameters())
    fixed = KappaSAGEConv(4, 3, manifold=-0.5).double()
    assert torch.autograd.gradcheck(
        lambda x, w: fixed(x, EDGES, w), (X.clone().requires_grad_(), WEIGHT.clone().requires_grad_())
    )


def test_sizes_are_taken_from_a_sparse_matrix():
    conv, x = KappaSAGEConv(-1, 3), SparseMatrix.from_tensor(X.float())
    out = conv(x, EDGES)
    assert (conv.in_channels, conv.lin_r.in_channels) == (4, 4)
    assert torch.allclose(out, conv(X.float(), EDGES), atol=1e-6)


@pytest.mark.parametrize("kind", [Curvature, RelativeCurvature])
def test_factors_share_a_curvature(kind):
    kappa = kind(-1.0, trainable=True)
    conv = KappaSAGEConv(4, 4, manifold=ProductManifold([Stereographic(kappa, dim=2) for _ in range(2)]))
    conv(X.float(), EDGES).square().sum().backward()
    assert kappa.raw.grad.abs().sum() > 0
