"""KappaAPPNP: PyG's APPNP at κ = 0; for other κ the midpoints that the definition names."""

import pytest
import torch
from torch_geometric.nn import APPNP

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.graphs import disease
from kappagcn.nn import KappaAPPNP, SparseMatrix, aggregate
from kappagcn.nn.appnp import PageRank

EDGES = disease(40).edge_index
NODES = 40


def rows(scale=0.5):
    return (scale * torch.randn(NODES, 4, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_flat_space_gives_pygs_values_and_gradients(normalize, weighted):
    v, weights = rows(), torch.rand(EDGES.shape[1], dtype=torch.float64) if weighted else None
    ours = KappaAPPNP(7, 0.2, 0.0, normalize=normalize, add_self_loops=normalize)(v, EDGES, weights)
    theirs = APPNP(7, 0.2, normalize=normalize)(v, EDGES, weights)
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)
    cotangent = torch.randn_like(ours)
    torch.testing.assert_close(
        *(torch.autograd.grad(out, v, cotangent)[0] for out in (ours, theirs)), atol=1e-12, rtol=1e-12
    )


@pytest.mark.parametrize("kappa", [-1.0, 0.7])
def test_one_step_is_the_midpoint_of_neighbours_and_own_point(kappa):
    v, space = rows(0.2), Stereographic(kappa).double()
    layer = KappaAPPNP(1, 0.3, space)
    matrix = 0.7 * layer.adjacency(v, EDGES).to_dense() + 0.3 * torch.eye(NODES, dtype=torch.float64)
    want = space.logmap0(space.matmul_left(matrix, space.expmap0(v)))
    torch.testing.assert_close(layer(v, EDGES), want, atol=1e-10, rtol=1e-10)


def test_steps_are_one_matrix_and_have_its_derivatives():
    v, space = rows(), ProductManifold.from_signature("H2xS2").double()
    layer = KappaAPPNP(3, 0.2, space)
    page_rank = layer.page_rank(layer.adjacency(v, EDGES))
    dense = page_rank.product(torch.eye(NODES, dtype=torch.float64))
    torch.testing.assert_close(page_rank.row_sums(), dense.sum(1))
    indices = torch.arange(NODES)
    grid = SparseMatrix(indices.repeat_interleave(NODES), indices.repeat(NODES), dense.flatten(), (NODES, NODES))
    torch.testing.assert_close(layer(v, EDGES), KappaAPPNP(1, 0.0, space)(v, grid), atol=1e-10, rtol=1e-10)
    few = 0.5 * torch.randn(3, 4, dtype=torch.float64)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert torch.autograd.gradcheck(lambda x: layer(x, edges), few.requires_grad_())


def test_dropout_draws_each_step_anew_in_training_alone():
    v = rows()
    layer, plain = KappaAPPNP(2, 0.1, -1.0, dropout=0.5), KappaAPPNP(2, 0.1, -1.0)
    assert not torch.equal(layer(v, EDGES), layer(v, EDGES))
    first, second = layer.page_rank(layer.adjacency(v, EDGES)).steps
    assert not torch.equal(first.values, second.values)
    assert torch.equal(layer.eval()(v, EDGES), plain(v, EDGES))


def test_cached_adjacency_is_used_again_until_reset():
    v = rows()
    layer = KappaAPPNP(2, 0.1, -1.0, cached=True)
    once = layer(v, EDGES)
    assert torch.equal(layer(v, EDGES[:, :2]), once)
    layer.reset_parameters()
    assert not torch.equal(layer(v, EDGES[:, :2]), once)


def test_edge_weights_get_a_gradient():
    weights = torch.rand(EDGES.shape[1], dtype=torch.float64, requires_grad=True)
    KappaAPPNP(2, 0.1, -1.0)(rows(), EDGES, weights).sum().backward()
    assert weights.grad is not None
    assert weights.grad.abs().max() > 0


def test_a_cached_layer_trains_edge_weights():
    weights = torch.rand(EDGES.shape[1], dtype=torch.float64, requires_grad=True)
    layer, plain = KappaAPPNP(2, 0.1, -1.0, cached=True), KappaAPPNP(2, 0.1, -1.0)
    v = rows()
    for _ in range(2):
        ours, want = (torch.autograd.grad(conv(v, EDGES, weights).sum(), weights)[0] for conv in (layer, plain))
        assert torch.equal(ours, want)
        weights = (2 * weights).detach().requires_grad_()


def test_page_rank_is_a_matrix():
    steps = [SparseMatrix.from_tensor(torch.rand(5, 5, dtype=torch.float64)) for _ in range(3)]
    matrix, x = PageRank(steps, 0.2), torch.eye(5, dtype=torch.float64)
    dense = matrix @ x
    assert torch.allclose(matrix.row_sums(), dense.sum(1))
    assert matrix.to(torch.float64) is matrix.dropout(0.0) is matrix
    assert torch.allclose(matrix.to(torch.float32) @ x.float(), dense.float())
    assert all(part.values.is_meta for part in matrix.to("meta").steps)
    dropped = matrix.dropout(0.5)
    assert all((step.values == 0).any() for step in dropped.steps)
    for name in ("rows", "cols", "values", "with_values", "to_dense", "to_coo", "csr"):
        assert not hasattr(matrix, name), name
    with pytest.raises(GraphError, match="expected a SparseMatrix"):
        aggregate(x, matrix, Stereographic(-1.0), aggregation="frechet")


def test_float32_rows_far_out_keep_their_digits():
    v = rows(6.0)
    exact = KappaAPPNP(3, 0.2, -1.0)(v, EDGES)
    single = KappaAPPNP(3, 0.2, -1.0)(v.float(), EDGES)
    assert float((single - exact).detach().norm() / exact.detach().norm()) < 1e-5


def test_wrong_arguments_are_refused():
    with pytest.raises(GraphError, match="K: expected a number of steps from 1"):
        KappaAPPNP(0, 0.1)
    with pytest.raises(GraphError, match="alpha from 0 to 1"):
        KappaAPPNP(2, 1.5)
    with pytest.raises(GraphError, match="expected normalize"):
        KappaAPPNP(2, 0.5, normalize="left")
    pair = SparseMatrix(torch.tensor([0]), torch.tensor([1]), torch.ones(1), (2, 2))
    with pytest.raises(GraphError, match="floating-point"):
        PageRank([pair], 0.1).check(torch.ones(3, 1))
