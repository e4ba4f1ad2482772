"""Findings of reviews of the layers, each as it was found."""

import copy
import pickle

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv

from graph_samples import DOUBLE, random_graph, space
from kappagcn import KappaGCNConv
from kappagcn import geometry as G
from kappagcn.errors import GeometryError, GraphError
from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.kernels.dispatch import torch_only
from kappagcn.models import KappaGCN
from kappagcn.nn import HGCNConv, KappaLinear, KappaLogits, KappaPool, aggregate, tangent_features
from kappagcn.nn.hgcn import translated
from kappagcn.sparse import SparseMatrix, normalized_adjacency
from layers import exact_midpoint
from test_conv import BOTH

EDGES = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 0, 2, 1, 2, 3]])
X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")


@BOTH
@pytest.mark.parametrize("degree", [1, 8, 64, 512])
@pytest.mark.parametrize("kappa", [-1.0, -7.0])
def test_many_neighbours_far_out_lose_no_digits(degree, kappa, path):
    """Sums in float32 had an error that grew with the degree, to 1e-4 at radius 4."""
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        direction = torch.randn(8, generator=generator)
        for spread in (0.0, 1e-3, 1.0):
            v = direction + spread * torch.randn(degree, 8, generator=generator)
            v = v / v.norm(dim=1, keepdim=True) * 2 / (-kappa) ** 0.5
            weights = torch.rand(degree, generator=generator) + 0.1
            places = torch.arange(degree)
            matrix = SparseMatrix(torch.zeros_like(places), places, weights, (1, degree))
            with path():
                found = aggregate(v, matrix, Stereographic(kappa))[0].double()
            want = torch.tensor(exact_midpoint(weights.tolist(), v.tolist(), kappa), dtype=DOUBLE)
            assert (found - want).norm() < 2e-5 * want.norm()


@BOTH
@pytest.mark.parametrize("weights", [[1, -2, 1, 1, 1, 1], [1, 1, 1, 1, 1, -1], [1, -1, 1, 1, -1, 1]])
def test_flat_rows_of_any_weight_are_gcnconvs(weights, path):
    weight = torch.tensor(weights, dtype=DOUBLE)
    ours, theirs = KappaGCNConv(3, 2, 0.0, normalize=False).double(), GCNConv(3, 2, normalize=False).double()
    theirs.lin.weight.data = ours.weight.data.t().clone()
    grads = []
    for conv in (ours, theirs):
        x = X.double().requires_grad_()
        with path():
            out = conv(x, EDGES, weight)
            out.square().sum().backward()
        grads.append((out.detach(), x.grad))
    for mine, pygs in zip(*grads, strict=True):
        assert torch.allclose(mine, pygs, atol=1e-12)


@BOTH
@pytest.mark.parametrize("kappa", [-1.0, 1.0])
def test_a_row_of_negative_weight_is_the_geometrys(kappa, path):
    edges, weight = torch.tensor([[0, 1], [1, 0]]), torch.tensor([-1.5, 2.0], dtype=DOUBLE)
    adjacency = normalized_adjacency(edges, weight, 2, normalization="none", add_self_loops=False, dtype=DOUBLE)
    v = 0.3 * X[:2].double()
    want = G.matmul_left(adjacency.to_dense(), G.expmap0(v, k=kappa), k=kappa)
    with path():
        found = aggregate(v, adjacency, space(kappa))
        assert torch.autograd.gradcheck(lambda v: aggregate(v, adjacency, space(kappa)), (v.requires_grad_(),))
    assert torch.allclose(G.expmap0(found, k=kappa), want, atol=1e-12)


@BOTH
def test_spacelike_sums_stay_bounded(path):
    """Weights of mixed sign whose sum points out of the hyperboloid: capped, not 1e30."""
    edges, weight = torch.tensor([[0, 1], [2, 2]]), torch.tensor([1.0, -0.99])
    adjacency = normalized_adjacency(edges, weight, 3, normalization="none", add_self_loops=False)
    v = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], requires_grad=True)
    with path():
        out = aggregate(v, adjacency, Stereographic(-1.0))
        out.sum().backward()
    assert out.abs().max() < 20
    assert torch.isfinite(v.grad).all()


def test_compiled_layers_refuse_second_derivatives():
    pytest.importorskip("numba", reason="numba, the extra [fast], is not installed")
    conv, logits = KappaGCNConv(3, 2, -1.0), KappaLogits(3, 2, -1.0)
    x = X.clone().requires_grad_()
    for out in (conv(x, EDGES), logits(x)):
        with pytest.raises(GeometryError, match="create_graph=True"):
            torch.autograd.grad(out.sum(), x, create_graph=True)


@pytest.mark.parametrize("kappa", [-1.0, 0.0, 0.7])
def test_torch_has_second_derivatives(kappa):
    conv, logits = KappaGCNConv(3, 2, kappa).double(), KappaLogits(3, 2, kappa).double()
    x = X.double().requires_grad_()
    with torch_only():
        assert torch.autograd.gradgradcheck(lambda x: conv(x, EDGES), (x,))
        assert torch.autograd.gradgradcheck(logits, (x,))


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_sparse_features_changed_in_place_are_noticed(layout):
    x = X.relu()
    sparse = x.to_sparse_csr() if layout == "csr" else x.to_sparse_coo().coalesce()
    conv = KappaGCNConv(3, 2, -1.0)
    conv(sparse, EDGES)
    sparse.values().mul_(5)
    assert torch.allclose(conv(sparse, EDGES), conv(5 * x, EDGES), atol=1e-5)


def test_used_layers_and_matrices_copy_and_pickle():
    conv = KappaGCNConv(3, 2, -1.0, cached=True)
    want = conv(X, EDGES)
    for twin in (copy.deepcopy(conv), pickle.loads(pickle.dumps(conv))):
        assert torch.equal(twin(X, EDGES), want)
    matrix = normalized_adjacency(EDGES)
    want = matrix @ X
    for twin in (copy.deepcopy(matrix), copy.copy(matrix), pickle.loads(pickle.dumps(matrix))):
        assert torch.equal(twin @ X, want)


def test_inference_mode_leaves_the_matrix_usable():
    matrix, conv = normalized_adjacency(EDGES), KappaGCNConv(3, 2, -1.0)
    with torch.inference_mode():
        conv(X, matrix)
    conv(X, matrix).sum().backward()
    assert conv.weight.grad is not None


def test_a_cached_adjacency_follows_the_layers_dtype():
    conv = KappaGCNConv(3, 2, -1.0, cached=True)
    conv(X, EDGES)
    conv.double()
    fresh = copy.deepcopy(conv)
    fresh.cached = False
    assert torch.equal(conv(X.double(), EDGES), fresh(X.double(), EDGES))


def test_a_sparse_adjacency_that_is_not_square_is_between_two_kinds_of_nodes():
    adjacency = torch.rand(2, 4, generator=torch.Generator().manual_seed(0)).to_sparse_csr()
    conv = KappaGCNConv(3, 5, -1.0)
    rows, cols = torch.ones(2, 4).nonzero().T
    edges = torch.stack([cols, rows])
    assert torch.allclose(conv(X, adjacency), conv(X, edges, adjacency.values(), size=(4, 2)), atol=1e-6)


@pytest.mark.parametrize("attention", [False, True])
def test_hgcn_compiles_to_the_same_with_self_loops(attention):
    edges = torch.cat([EDGES, torch.tensor([[0, 1], [0, 1]])], 1)
    conv = HGCNConv(3, 2, attention=attention)
    compiled = torch.compile(conv, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(X, edges), conv(X, edges), atol=1e-6)


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
    for found in (out, v.grad, b.grad, k.grad):
        assert torch.isfinite(found).all()
    assert (out - v).norm(dim=1).max() < 1.01 * b.norm() + 1e-6 * size
    near, farther = translated(v.detach()[:1] * (80 / size), b, k), translated(v.detach()[:1] * (90 / size), b, k)
    assert torch.allclose(farther - near, v.detach()[:1] * (10 / size), atol=1e-3)  # no seam where rows are cut


def test_gradients_of_the_bias():
    v, b = X.double().requires_grad_(), torch.tensor([0.3, -0.2, 0.1], dtype=DOUBLE, requires_grad=True)
    k = torch.tensor(-0.7, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(translated, (v, b, k))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_autocast(dtype):
    conv, layer = KappaGCNConv(3, 2, -1.0), KappaLogits(3, 2, "H3")
    want, scores = conv(X, EDGES), layer(X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.allclose(conv(X, EDGES).float(), want, atol=0.05)
        assert torch.allclose(layer(X).float(), scores, atol=0.05)
    half = copy.deepcopy(conv).to(dtype)
    assert torch.allclose(half(X.to(dtype), EDGES).float(), want, atol=0.05)
    sparse = half(SparseMatrix.from_tensor(X.to(dtype)), EDGES)
    assert torch.allclose(sparse.float(), want, atol=0.05)


def test_frechet_means_of_rows_that_lost_all_weights():
    conv = KappaGCNConv(3, 2, -1.0, aggregation="frechet", adjacency_dropout=0.9)
    torch.manual_seed(0)
    for _ in range(5):
        out = conv(X, EDGES)
        out.sum().backward()
        assert torch.isfinite(out).all()
        assert torch.isfinite(conv.weight.grad).all()


def test_edge_weights_of_zero_have_finite_gradients():
    weight = torch.tensor([0.0, 1, 1, 1, 1, 1], requires_grad=True)
    edges = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 0, 2, 0, 2, 3]])
    KappaGCNConv(3, 2, -1.0, add_self_loops=False)(X, edges, weight).sum().backward()
    assert torch.isfinite(weight.grad).all()


def test_features_of_other_dtypes():
    assert torch.equal(tangent_features(torch.tensor([[1, 3]]), scale=0.5), torch.tensor([[0.5, 1.5]]))
    from kappagcn.nn import point_features

    sparse = point_features(X.double().relu().to_sparse_csr(), [-1.0])
    assert sparse.dtype == DOUBLE


def test_a_wrong_width_never_reaches_compiled_code():
    """Once it read and wrote past the ends of rows."""
    layer = KappaLogits(4, 2, Stereographic(-1.0))
    for wrong in (torch.randn(5, 8), torch.randn(5, 3), torch.randn(8), torch.randn(1, 5, 4)):
        with pytest.raises(GraphError, match=r"x: expected \(N, 4\)"):
            layer(wrong)
    with pytest.raises(GraphError, match="expected 8 channels, as the space H4xS4 has, found 4"):
        KappaLogits(4, 2, ProductManifold.from_signature("H4xS4"))


CASES = {
    "width": (lambda: KappaGCNConv(3, 2)(torch.ones(4, 5), EDGES), r"x: expected \(N, 3\), found \(4, 5\)"),
    "integers": (lambda: KappaGCNConv(3, 2)(torch.ones(4, 3).long(), EDGES), "expected floating-point numbers"),
    "dtype": (lambda: KappaGCNConv(3, 2)(torch.ones(4, 3).double(), EDGES), "x: expected torch.float32, as the layer"),
    "nothing": (lambda: KappaGCNConv(3, 2)(None, EDGES), "x: expected a tensor"),
    "batch of matrices": (lambda: KappaGCNConv(3, 2)(torch.ones(2, 4, 3), EDGES), r"x: expected \(N, 3\)"),
    "lazy": (lambda: KappaGCNConv(-1, 2), "sizes are not inferred"),
    "no edges at all": (lambda: KappaGCNConv(3, 2)(X, None), "edge_index as integers"),
    "boolean edges": (lambda: KappaGCNConv(3, 2)(X, EDGES.bool()), "edge_index as integers"),
    "list of weights": (lambda: KappaGCNConv(3, 2)(X, EDGES, [1.0] * 6), "one weight per edge as a tensor"),
    "other graph": (
        lambda: KappaGCNConv(3, 2)(X, normalized_adjacency(EDGES, num_nodes=7)),
        r"expected \(7, D\) of floating-point numbers",
    ),
    "size": (lambda: KappaGCNConv(3, 2)(X, EDGES, size=(7, 4)), "size: expected 4 sources"),
    "weights twice": (
        lambda: KappaGCNConv(3, 2)(X, normalized_adjacency(EDGES), torch.ones(6)),
        "no edge_weight beside a SparseMatrix",
    ),
    "sparse with gradient": (
        lambda: KappaGCNConv(3, 2)(X.to_sparse_coo().requires_grad_(), EDGES),
        "without gradient",
    ),
    "list of spaces": (lambda: KappaGCNConv(3, 2, ["H1", "S1"]), "expected a manifold, a signature"),
    "a boolean space": (lambda: KappaGCNConv(3, 2, False), "expected a manifold, a signature"),
    "logits": (lambda: KappaLogits(3, 0, "H3"), "at least one class"),
    "linear": (lambda: KappaLinear(3, 2)(torch.ones(4, 2)), r"x: expected \(N, 3\)"),
    "dimensions": (lambda: aggregate(X, normalized_adjacency(EDGES), Stereographic(-1.0, dim=2)), "expected 2 columns"),
    "graph numbers": (lambda: KappaPool("H3")(X, torch.tensor([0, 1, 2, 9]), 3), "graphs 0 to 2"),
    "float graph numbers": (lambda: KappaPool("H3")(X, torch.zeros(4)), "graph numbers as integers"),
    "a number as the space of a network": (lambda: KappaGCN(3, 2, -1.0), 'space: expected a signature such as "H16"'),
    "more layers than spaces": (lambda: KappaGCN(3, 2, ["H2"], num_layers=3), "layers: expected 1, as many"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_named(case):
    call, words = CASES[case]
    with pytest.raises(GraphError, match=words):
        call()


def test_pool_and_logits_take_spaces_as_the_convolution_does():
    for given in ("H3", -1.0, Stereographic(-1.0)):
        assert KappaPool(given)(X).shape == (1, 3)
        assert KappaLogits(3, 2, given)(X).shape == (4, 2)


def test_rows_too_far_to_lift_are_counted():
    """Far rows in all directions have midpoints near the origin: what goes in must be looked at too."""
    edge_index, _, generator = random_graph(50, 200, 0)
    x = torch.randn(50, 3, generator=generator)
    model = KappaGCN(3, 2, "H3(-1)")
    assert model.capped_rows(0.1 * x, edge_index) == 0
    assert model.capped_rows(1000 * x, edge_index) > 20


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # torch's own
@pytest.mark.parametrize("kind", ["matrix", "csr", "coo"])
def test_sparse_features_compile(kind):
    x = X.relu()
    sparse = {"matrix": SparseMatrix.from_tensor, "csr": Tensor.to_sparse_csr, "coo": Tensor.to_sparse_coo}[kind](x)
    conv = KappaGCNConv(3, 2, -1.0)
    compiled = torch.compile(conv, backend="aot_eager")
    for edges in (EDGES, normalized_adjacency(EDGES)):
        assert torch.allclose(compiled(sparse, edges), conv(x, edges), atol=1e-6)
