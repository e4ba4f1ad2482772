"""KappaGCNConv beside PyG's GCNConv and beside the paper's formulas on points."""

import copy
import itertools
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import GCNConv

from calls import Calls, count_layer
from graph_samples import BOTH, DOUBLE, EDGES, X, draw, random_graph, tangents
from kappagcn import KappaGCNConv
from kappagcn import geometry as G
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.graphs import balanced_tree, disease
from kappagcn.kernels.rows import lift_rows
from kappagcn.nn import aggregate
from kappagcn.nn.midpoints import count_edge_rows, midpoints
from kappagcn.sparse import SparseMatrix, normalized_adjacency
from layers import exact_midpoint
from spaces import few


def pair(kappa, in_channels, out_channels, **options):
    """Ours with κ, and PyG's, with the same weights in float64."""
    theirs = GCNConv(in_channels, out_channels, **options).double()
    space = Stereographic(Curvature(kappa, trainable=True)).double()
    ours = KappaGCNConv(in_channels, out_channels, manifold=space, **options).double()
    if theirs.bias is not None:
        torch.nn.init.normal_(theirs.bias)
    ours.load_state_dict(theirs.state_dict(), strict=False)
    return ours, theirs


@BOTH
@given(
    st.integers(1, 12),
    st.integers(0, 40),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_flat_it_is_gcnconv_values_and_gradients(path, n, edges, dim, weighted, loops, normalize, bias, seed):
    torch.manual_seed(seed)
    edge_index, weight, generator = random_graph(n, edges, seed)
    weight = weight if weighted else None
    ours, theirs = pair(0.0, 3, dim, add_self_loops=loops and normalize, normalize=normalize, bias=bias)
    x = torch.randn(n, 3, generator=generator, dtype=DOUBLE)
    grads = []
    for conv in (ours, theirs):
        inputs = x.clone().requires_grad_()
        with path():
            out = conv(inputs, edge_index, weight)
        (out * torch.arange(1.0, dim + 1, dtype=DOUBLE)).square().sum().backward()
        grads.append((out.detach(), inputs.grad, conv.lin.weight.grad, None if conv.bias is None else conv.bias.grad))
    for mine, pygs in zip(*grads, strict=True):
        if mine is not None:
            assert torch.allclose(mine, pygs, rtol=1e-12, atol=1e-12)


@BOTH
@pytest.mark.parametrize("sign", [-1, 1])
def test_it_converges_to_gcnconv_at_first_order(sign, path):
    edge_index, _, generator = random_graph(30, 90, 0)
    x = 0.5 * torch.randn(30, 4, generator=generator, dtype=DOUBLE)
    torch.manual_seed(0)
    ours, theirs = pair(0.0, 4, 3)
    flat = theirs(x, edge_index)
    gaps = []
    for kappa in (1e-2, 1e-3, 1e-4, 1e-5):
        ours.manifold.curvature.raw.data.fill_(sign * kappa)
        with path():
            gaps.append(float((ours(x, edge_index) - flat).detach().norm()))
    for gap, smaller in itertools.pairwise(gaps):
        assert 8 < gap / smaller < 12


@BOTH
@given(st.sampled_from([-2.0, -1.0, -1e-3, -1e-9, 1e-9, 1e-3, 1.0, 2.0]), st.integers(1, 6), st.integers(0, 99))
def test_it_is_the_papers_layer_on_points(path, kappa, dim, seed):
    """Â ⊠ (X ⊗ W) on stereographic points, by the functions of the geometry, also beyond the equator."""
    edge_index, weight, generator = random_graph(15, 40, seed)
    space = Stereographic(kappa).double()
    kappa = float(space.k)  # as a module keeps it
    v = tangents(generator, 15, dim, reach=1.5 / max(1, abs(kappa) ** 0.5))
    for normalization in ("symmetric", "row"):
        adjacency = normalized_adjacency(edge_index, weight, 15, normalization=normalization, dtype=DOUBLE)
        points = G.matmul_left(adjacency.to_dense(), G.expmap0(v, k=kappa), k=kappa)
        with path():
            ours = aggregate(v, adjacency, space)
        assert torch.allclose(G.lift(ours, k=kappa), G.to_ambient(points, k=kappa), rtol=1e-12, atol=1e-12)


@BOTH
@few(40)
@given(st.lists(st.sampled_from([-1.5, -1e-8, 0.0, 1e-8, 0.7]), min_size=1, max_size=2), st.integers(0, 20))
def test_gradients_in_x_and_in_kappa(path, kappas, seed):
    edge_index, weight, generator = random_graph(6, 14, seed)
    adjacency = normalized_adjacency(edge_index, weight, 6, dtype=DOUBLE)
    v = tangents(generator, 6, 2 * len(kappas), reach=0.9).requires_grad_()
    k = torch.tensor(kappas, dtype=DOUBLE, requires_grad=True)
    with path():
        assert torch.autograd.gradcheck(lambda v, k: midpoints(v, adjacency, k, [2] * len(kappas)), (v, k))


@pytest.mark.parametrize("kappa", [-1.0, 0.5])
def test_gradients_reach_edge_weights(kappa):
    edge_index, weight, generator = random_graph(6, 14, 1)
    x = torch.randn(6, 2, generator=generator, dtype=DOUBLE)
    conv = KappaGCNConv(2, 2, manifold=Stereographic(kappa)).double()
    out = torch.autograd.gradcheck(lambda w: conv(x, edge_index, w), (weight.requires_grad_(),))
    assert out


SPACES = [lambda: Stereographic(Curvature(-1.0, trainable=True)), lambda: Stereographic(Curvature(1.0, trainable=True))]
SPACES += [lambda: ProductManifold.from_signature("H2xS1xE1", trainable=True), lambda: None]


@pytest.mark.parametrize("space", SPACES)
def test_every_parameter_gets_a_gradient(space):
    data = disease(200)
    conv = KappaGCNConv(10, 4, manifold=space())
    conv(data.x, data.edge_index).square().sum().backward()
    for name, parameter in conv.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_product_of_one_factor_is_the_factor():
    edge_index, _, generator = random_graph(10, 30, 5)
    adjacency = normalized_adjacency(edge_index, num_nodes=10)
    v = torch.randn(10, 3, generator=generator)
    product = ProductManifold.from_signature("H3")
    assert torch.equal(aggregate(v, adjacency, product), aggregate(v, adjacency, Stereographic(-1.0)))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_sparse_features_are_dense_ones(layout):
    edge_index, _, generator = random_graph(10, 30, 6)
    x = torch.randn(10, 5, generator=generator).relu()
    sparse = x.to_sparse_coo() if layout == "coo" else x.to_sparse_csr()
    conv = KappaGCNConv(5, 2)
    results = []
    for features in (x, sparse, sparse):
        conv.zero_grad()
        out = conv(features, edge_index)
        out.square().sum().backward()
        results.append((out.detach(), conv.lin.weight.grad.clone()))
    for out, grad in results[1:]:
        assert torch.allclose(out, results[0][0], atol=1e-6)
        assert torch.allclose(grad, results[0][1], atol=1e-5)


def test_cached_prebuilt_and_fresh_adjacency_agree():
    edge_index, weight, generator = random_graph(10, 30, 7)
    x = torch.randn(10, 3, generator=generator)
    torch.manual_seed(0)
    conv = KappaGCNConv(3, 2, manifold=Stereographic(-1.0), cached=True)
    plain = copy.deepcopy(conv)
    plain.cached = False
    out = conv(x, edge_index, weight.float())
    assert torch.equal(conv(x, torch.zeros(2, 0, dtype=torch.long)), out)  # the first adjacency is kept
    assert torch.equal(plain(x, edge_index, weight.float()), out)
    assert torch.equal(plain(x, normalized_adjacency(edge_index, weight, 10)), out)
    again = KappaGCNConv(3, 2, manifold=Stereographic(-1.0))
    again.load_state_dict(conv.state_dict())
    assert torch.equal(again(x, edge_index, weight.float()), out)


@pytest.mark.parametrize("kappa", [-1.0, 0.0, 1.0])
def test_isolated_nodes_and_empty_graphs(kappa):
    none = torch.zeros(2, 0, dtype=torch.long)
    x = (0.3 * torch.randn(4, 3, generator=torch.Generator().manual_seed(0))).requires_grad_()
    conv = KappaGCNConv(3, 2, manifold=Stereographic(kappa), bias=False)
    assert torch.allclose(conv(x, none), conv.lin(x), atol=1e-6)  # only its own self-loop
    bare = KappaGCNConv(3, 2, manifold=Stereographic(kappa), bias=False, add_self_loops=False)
    out = bare(x, none)
    assert torch.equal(out, torch.zeros(4, 2))
    out.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert conv(torch.zeros(0, 3), none).shape == (0, 2)


@BOTH
@pytest.mark.parametrize(("radius", "double", "bound"), [(2, False, 2e-6), (4, False, 2e-5), (12, True, 1e-6)])
def test_the_error_by_radius_is_what_the_docs_promise(radius, double, bound, path):
    generator = torch.Generator().manual_seed(0)
    for kappa in (-1.0, -4.0):
        v = torch.randn(60, 4, generator=generator)
        v = v / v.norm(dim=1, keepdim=True) * radius / 2 / abs(kappa) ** 0.5
        near = (
            v[:1] + 0.05 * torch.randn(60, 4, generator=generator) / abs(kappa) ** 0.5
        )  # close together, so as far out
        near = near / near.norm(dim=1, keepdim=True) * radius / 2 / abs(kappa) ** 0.5
        for points in (v, near):
            weights = torch.rand(40, 60, generator=generator) * (torch.rand(40, 60, generator=generator) < 0.1)
            rows, cols = weights.nonzero().T
            matrix = SparseMatrix(rows, cols, weights[rows, cols], (40, 60))
            with path():
                actual = aggregate(points, matrix, Stereographic(kappa), double=double)
            for i in range(40):
                own = cols[rows == i]
                if not len(own):
                    continue
                want = torch.tensor(exact_midpoint(weights[i, own].tolist(), points[own].tolist(), kappa), dtype=DOUBLE)
                assert (actual[i] - want).norm() < bound * want.norm() + bound * 1e-3


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("radius", [1.0, 10.0, 30.0, 100.0, 1e4, 1e8])
@pytest.mark.parametrize("kappa", [-1.0, -1e-12, 0.0, 1e-12, 1.0])
def test_nothing_is_ever_infinite_or_nan(kappa, radius, dtype, path):
    v = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=dtype)
    v = (v / v.norm(dim=1, keepdim=True) * radius).requires_grad_()
    k = torch.tensor([kappa], dtype=dtype, requires_grad=True)
    alone = SparseMatrix.from_tensor(torch.eye(20, dtype=dtype))
    with path():
        out = midpoints(v, alone, k, [3])
        out.mean().backward()
    for result in (lift_rows(v, k[0]), out, v.grad, k.grad):
        assert torch.isfinite(result).all()
    if kappa <= 0 and abs(kappa) ** 0.5 * 2 * radius < 3:
        assert torch.allclose(out, v, rtol=1e-4)
    far = kappa < 0 and abs(kappa) ** 0.5 * 2 * radius > (8 if dtype == torch.float32 else 19)
    assert (count_edge_rows(v, alone, k, [3]) >= 20) == far


def test_near_rows_are_counted_without_a_product(monkeypatch):
    """Rows near the origin have midpoints near it, unless weights are negative; then the product decides."""
    products = []
    monkeypatch.setattr(SparseMatrix, "product", lambda self, x: products.append(x) or x.new_zeros(2, x.shape[1]))
    ends, k = torch.tensor([[0, 1], [1, 0]]), torch.tensor([-1.0, 1.0])
    weights = {"near": torch.ones(2), "far": torch.ones(2), "negative": torch.tensor([1.0, -0.5])}
    calls = {}
    for name, values in weights.items():
        v = torch.full((2, 4), 3.0 if name == "far" else 0.5)
        count_edge_rows(v, SparseMatrix(*ends, values, (2, 2)), k, [2, 2])
        calls[name] = len(products)
        products.clear()
    assert calls == {"near": 0, "far": 1, "negative": 1}


def test_a_tree_classifier_trains_and_its_curvature_moves():
    data = disease(400)
    torch.manual_seed(0)
    space = Stereographic(Curvature(0.0, trainable=True))
    first, second = (
        KappaGCNConv(10, 8, manifold=space, cached=True),
        KappaGCNConv(8, 2, manifold=Stereographic(0.0), cached=True),
    )
    parameters = [*first.parameters(), *second.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=0.02)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        out = second(first(data.x, data.edge_index).relu(), data.edge_index)
        loss = torch.nn.functional.cross_entropy(out, data.y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.75 * losses[0]
    assert abs(space.curvature.value) > 1e-3
    assert balanced_tree(2, 2).num_nodes == 7


def test_dropping_happens_in_training_only():
    edge_index, _, generator = random_graph(20, 80, 9)
    x = draw(generator, 20, 3).float()
    plain = KappaGCNConv(3, 4, manifold="H4(-1)")
    for options in ({"dropconnect": 0.5}, {"adjacency_dropout": 0.5}):
        conv = KappaGCNConv(3, 4, manifold="H4(-1)", **options)
        conv.load_state_dict(plain.state_dict())
        torch.manual_seed(1)
        assert not torch.allclose(conv(x, edge_index), plain(x, edge_index))
        conv.eval()
        assert torch.equal(conv(x, edge_index), plain(x, edge_index))


def test_factors_that_share_the_input_see_only_their_columns():
    edge_index, _, generator = random_graph(10, 30, 10)
    conv = KappaGCNConv(7, 5, manifold="H2xS3", split_input=True).double()
    x = draw(generator, 10, 7).requires_grad_()
    out = conv(x, edge_index)
    (by_first,) = torch.autograd.grad(out[:, :2].square().sum(), x, retain_graph=True)
    (by_second,) = torch.autograd.grad(out[:, 2:].square().sum(), x)
    assert (by_first[:, :4] != 0).any()
    assert (by_first[:, 4:] == 0).all()
    assert (by_second[:, :4] == 0).all()
    assert (by_second[:, 4:] != 0).any()
    conv(x, edge_index).square().sum().backward()
    assert torch.equal(conv.lin.weight.grad == 0, conv.mask == 0)
    again = KappaGCNConv(7, 5, manifold="H2xS3", split_input=True).double()
    again.load_state_dict(conv.state_dict())
    assert torch.equal(again(x, edge_index), conv(x, edge_index))


@BOTH
@pytest.mark.parametrize("weights", [[1, -2, 1, 1, 1, 1], [1, 1, 1, 1, 1, -1], [1, -1, 1, 1, -1, 1]])
def test_flat_rows_of_any_weight_are_gcnconvs(weights, path):
    weight = torch.tensor(weights, dtype=DOUBLE)
    ours, theirs = KappaGCNConv(3, 2, manifold=0.0, normalize=False).double(), GCNConv(3, 2, normalize=False).double()
    ours.load_state_dict(theirs.state_dict(), strict=False)
    grads = []
    for conv in (ours, theirs):
        x = X.double().requires_grad_()
        with path():
            out = conv(x, EDGES, weight)
            out.square().sum().backward()
        grads.append((out.detach(), x.grad))
    for mine, pygs in zip(*grads, strict=True):
        assert torch.allclose(mine, pygs, atol=1e-12)


def test_used_layers_copy_and_pickle():
    conv = KappaGCNConv(3, 2, manifold=-1.0, cached=True)
    want = conv(X, EDGES)
    for twin in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
        assert torch.equal(twin(X, EDGES), want)


def test_a_cached_adjacency_follows_the_layers_dtype():
    conv = KappaGCNConv(3, 2, manifold=-1.0, cached=True)
    conv(X, EDGES)
    conv.double()
    fresh = copy.deepcopy(conv)
    fresh.cached = False
    assert torch.equal(conv(X.double(), EDGES), fresh(X.double(), EDGES))


def test_edge_weights_of_zero_have_finite_gradients():
    weight = torch.tensor([0.0, 1, 1, 1, 1, 1], requires_grad=True)
    edges = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 0, 2, 0, 2, 3]])
    KappaGCNConv(3, 2, manifold=-1.0, add_self_loops=False)(X, edges, weight).sum().backward()
    assert torch.isfinite(weight.grad).all()


def test_a_call_decides_what_to_do_once():
    """Functions of the project above the loops in a forward and backward pass: questions are not asked again below."""
    calls = Calls()
    count_layer(calls)
    above = {name: n for name, n in calls.counts.items() if not name[0].startswith("kernels")}
    assert sum(above.values()) <= 44
    assert len({file for file, _ in above}) <= 10
