"""Arguments of layers: spaces, features and edges in every form, and what is said about wrong ones."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv

from graph_samples import DOUBLE, EDGES, X, draw, random_graph, space
from kappagcn import KappaGCNConv
from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.models import KappaGCN
from kappagcn.nn import KappaLinear, KappaLogits, KappaPool, aggregate
from kappagcn.sparse import SparseMatrix, bipartite_adjacency, normalized_adjacency

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")


@given(st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from(["symmetric", "row", "none"]), st.integers(0, 30))
def test_edges_between_two_kinds_of_nodes(kappa, normalize, seed):
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.stack(
        [torch.randint(7, (20,), generator=generator), torch.randint(4, (20,), generator=generator)]
    )
    weight = torch.rand(20, generator=generator, dtype=DOUBLE) + 0.1
    source, target = draw(generator, 7, 3), draw(generator, 4, 3)
    conv = KappaGCNConv(3, 2, manifold=space(kappa), normalize=normalize).double()
    out = conv((source, target), edge_index, weight)
    dense = torch.zeros(4, 7, dtype=DOUBLE).index_put((edge_index[1], edge_index[0]), weight, accumulate=True)
    if normalize != "none":
        rows = dense.sum(1, keepdim=True)
        scale = dense / rows.where(rows > 0, 1)
        if normalize == "symmetric":
            columns = dense.sum(0, keepdim=True)
            scale = dense / (rows.where(rows > 0, 1) * columns.where(columns > 0, 1)).sqrt()
        dense = scale
    want = aggregate(conv.lin(source), SparseMatrix.from_tensor(dense), conv.manifold)
    assert out.shape == (4, 2)
    assert torch.allclose(out, want, atol=1e-12)
    assert torch.equal(conv((source, None), edge_index, weight, size=(7, 4)), out)
    assert torch.equal(conv(source, edge_index, weight, size=(7, 4)), out)


def test_a_batch_of_graphs_is_its_graphs():
    generator = torch.Generator().manual_seed(0)
    graphs = [
        Data(x=draw(generator, n, 3), edge_index=torch.randint(n, (2, 3 * n), generator=generator)) for n in (4, 7, 1)
    ]
    batch = Batch.from_data_list(graphs)
    conv = KappaGCNConv(3, 2, manifold="H1xS1").double().eval()
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
    x = draw(generator, 9, 3)
    flat = KappaGCNConv(3, 2, manifold=0.0).double()
    theirs = GCNConv(3, 2).double()
    theirs.lin.weight.data = flat.lin.weight.data.clone()
    assert torch.allclose(flat(x, adjacency), theirs(x, adjacency), atol=1e-12)
    assert torch.allclose(flat(x, adjacency), flat(x, edge_index, weight), atol=1e-12)


def test_a_sparse_adjacency_that_is_not_square_is_between_two_kinds_of_nodes():
    adjacency = torch.rand(2, 4, generator=torch.Generator().manual_seed(0)).to_sparse_csr()
    conv = KappaGCNConv(3, 5, manifold=-1.0)
    rows, cols = torch.ones(2, 4).nonzero().T
    edges = torch.stack([cols, rows])
    assert torch.allclose(conv(X, adjacency), conv(X, edges, adjacency.values(), size=(4, 2)), atol=1e-6)


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_sparse_features_changed_in_place_are_noticed(layout):
    x = X.relu()
    sparse = x.to_sparse_csr() if layout == "csr" else x.to_sparse_coo().coalesce()
    conv = KappaGCNConv(3, 2, manifold=-1.0)
    conv(sparse, EDGES)
    sparse.values().mul_(5)
    assert torch.allclose(conv(sparse, EDGES), conv(5 * x, EDGES), atol=1e-5)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # torch's own
@pytest.mark.parametrize("kind", ["matrix", "csr", "coo"])
def test_sparse_features_compile(kind):
    x = X.relu()
    sparse = {"matrix": SparseMatrix.from_tensor, "csr": Tensor.to_sparse_csr, "coo": Tensor.to_sparse_coo}[kind](x)
    conv = KappaGCNConv(3, 2, manifold=-1.0)
    compiled = torch.compile(conv, backend="aot_eager")
    for edges in (EDGES, normalized_adjacency(EDGES)):
        assert torch.allclose(compiled(sparse, edges), conv(x, edges), atol=1e-6)


def test_a_wrong_width_never_reaches_compiled_code():
    """Once it read and wrote past the ends of rows."""
    layer = KappaLogits(4, 2, Stereographic(-1.0))
    for wrong in (torch.randn(5, 8), torch.randn(5, 3), torch.randn(8), torch.randn(1, 5, 4)):
        with pytest.raises(GraphError, match=r"x: expected \(N, 4\)"):
            layer(wrong)
    with pytest.raises(GraphError, match="expected 8 channels, as the space H4xS4 has, found 4"):
        KappaLogits(4, 2, ProductManifold.from_signature("H4xS4"))


NONE = torch.zeros(2, 0, dtype=torch.long)


def _aggregate(size, aggregation):
    return aggregate(torch.ones(2, 2), bipartite_adjacency(NONE, size), Stereographic(-1.0), aggregation=aggregation)


CASES = {
    "width": (lambda: KappaGCNConv(3, 2)(torch.ones(4, 5), EDGES), r"x: expected \(N, 3\), found \(4, 5\)"),
    "integers": (lambda: KappaGCNConv(3, 2)(torch.ones(4, 3).long(), EDGES), "expected floating-point numbers"),
    "dtype": (lambda: KappaGCNConv(3, 2)(torch.ones(4, 3).double(), EDGES), "x: expected torch.float32, as the layer"),
    "nothing": (lambda: KappaGCNConv(3, 2)(None, EDGES), "x: expected a tensor"),
    "no rows": (lambda: KappaGCNConv(3, 2)(torch.ones(3), EDGES), r"x: expected \(N, 3\)"),
    "no channels": (lambda: KappaGCNConv(0, 2), "channels from 1, or -1 for in_channels"),
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
    "list of spaces": (lambda: KappaGCNConv(3, 2, manifold=["H1", "S1"]), "expected a manifold, a signature"),
    "a boolean space": (lambda: KappaGCNConv(3, 2, manifold=False), "expected a manifold, a signature"),
    "a space in third place": (lambda: KappaGCNConv(3, 2, "H2"), "improved: expected True or False, .*manifold="),
    "loops without normalisation": (
        lambda: KappaGCNConv(3, 2, normalize=False, add_self_loops=True),
        "does not support adding self-loops",
    ),
    "aggr": (lambda: KappaGCNConv(3, 2, aggr="max"), 'aggr: expected "add"'),
    "node_dim": (lambda: KappaGCNConv(3, 2, node_dim=1), "node_dim: expected -2"),
    "logits": (lambda: KappaLogits(3, 0, "H3"), "at least one class"),
    "linear": (lambda: KappaLinear(3, 2)(torch.ones(4, 2)), r"x: expected \(N, 3\)"),
    "dimensions": (lambda: aggregate(X, normalized_adjacency(EDGES), Stereographic(-1.0, dim=2)), "expected 2 columns"),
    "graph numbers": (lambda: KappaPool("H3")(X, torch.tensor([0, 1, 2, 9]), 3), "graphs 0 to 2"),
    "float graph numbers": (lambda: KappaPool("H3")(X, torch.zeros(4)), "graph numbers as integers"),
    "aggregation": (lambda: KappaGCNConv(3, 2, aggregation="mean"), "expected aggregation midpoint"),
    "normalize": (lambda: KappaGCNConv(3, 2, normalize="max"), "expected normalize symmetric"),
    "dropconnect": (lambda: KappaGCNConv(3, 2, dropconnect=1.0), "dropconnect: expected a probability"),
    "dropout": (lambda: KappaGCNConv(3, 2, adjacency_dropout=-0.1), "adjacency_dropout: expected a probability"),
    "few columns": (lambda: KappaGCNConv(1, 2, manifold="H1xS1", split_input=True), "a product of at most 1"),
    "one factor": (lambda: KappaGCNConv(3, 2, manifold=-1.0, split_input=True), "split_input: expected a product"),
    "other dimension": (lambda: KappaGCNConv(3, 2, manifold=Stereographic(-1.0, dim=4)), "4 channels, .*found 2"),
    "no targets": (lambda: KappaGCNConv(3, 2)((X, None), NONE), "size="),
    "nodes": (lambda: bipartite_adjacency(torch.tensor([[0], [4]]), (3, 4)), "nodes from 0 to 3, found 4 to 4"),
    "targets": (lambda: _aggregate((2, 3), "tangential-node"), "as many targets as sources"),
    "name": (lambda: _aggregate((2, 2), "x"), "found 'x'"),
    "a number as the space of a network": (lambda: KappaGCN(3, 2, -1.0), 'space: expected a signature such as "H16"'),
    "more layers than spaces": (lambda: KappaGCN(3, 2, ["H2"], num_layers=3), "layers: expected 1, as many"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_named(case):
    call, words = CASES[case]
    with pytest.raises(GraphError, match=words):
        call()


def test_pool_and_logits_take_spaces_as_the_convolution_does():
    for manifold in ("H3", -1.0, Stereographic(-1.0)):
        assert KappaPool(manifold)(X).shape == (1, 3)
        assert KappaLogits(3, 2, manifold)(X).shape == (4, 2)
