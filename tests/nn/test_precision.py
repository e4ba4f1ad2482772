"""Under autocast the geometry of layers computes as without it: in the dtype of its input, but at least float32."""

import copy
from contextlib import nullcontext

import pytest
import torch

from graph_samples import DOUBLE, EDGES, X, random_graph, space
from kappagcn import KappaGCNConv
from kappagcn.kernels.dispatch import torch_only
from kappagcn.nn import KappaLogits, KappaPool, aggregate, logits, pool
from kappagcn.nn.aggregation import AGGREGATIONS
from kappagcn.nn.hgcn import translated
from kappagcn.nn.precision import at_least_single, is_lowered
from kappagcn.sparse import SparseMatrix, normalized_adjacency

PATHS = pytest.mark.parametrize("path", [nullcontext, torch_only], ids=["compiled", "torch"])


SIGNATURES = ["H3(-2.0)", "S3", "H1xS1xE1"]


pytestmark = pytest.mark.filterwarnings("ignore::kappagcn.errors.NonUniqueMeanWarning")


def lowered():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def results(function, inputs, context):
    """The result, and gradients by the inputs of a sum of it; the context is on all the while."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    with context():
        out = function(*inputs)
        return [out.detach(), *torch.autograd.grad(out.square().sum(), inputs, allow_unused=True)]


def assert_same(function, *inputs):
    """As without autocast: an error of bfloat16 would be a thousand times the tolerance."""
    for actual, want in zip(results(function, inputs, lowered), results(function, inputs, nullcontext), strict=True):
        if want is not None:
            assert actual.dtype == want.dtype
            assert torch.allclose(actual, want, rtol=4e-6, atol=4e-6 * float(want.abs().max()))


def rows(dtype=torch.float32, n=20):
    edge_index, _, generator = random_graph(n, 3 * n, 0)
    adjacency = normalized_adjacency(edge_index, num_nodes=n, normalization="row", dtype=dtype)
    return (0.8 * torch.randn(n, 3, generator=generator, dtype=DOUBLE)).to(dtype), adjacency, generator


@PATHS
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_aggregations_are_not_lowered(aggregation, signature, dtype, path):
    v, adjacency, _ = rows(dtype)
    manifold = space(signature, dtype)
    with path():
        assert_same(lambda v: aggregate(v, adjacency, manifold, aggregation=aggregation), v)


@PATHS
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("signature", SIGNATURES)
def test_logits_are_not_lowered(signature, dtype, path):
    v, _, generator = rows(dtype)
    p, a = (torch.randn(4, 3, generator=generator, dtype=DOUBLE).to(dtype) for _ in range(2))
    manifold = space(signature, dtype)
    with path(), lowered():
        actual = logits(v, p, a, manifold)
    with path():
        want = logits(v, p, a, manifold)
    assert actual.dtype == dtype
    assert torch.allclose(actual, want, rtol=1e-6 if dtype == torch.float32 else 1e-12)


@PATHS
def test_gradients_of_logits_taken_outside_are_not_lowered(path):
    v, _, generator = rows()
    inputs = [t.requires_grad_() for t in (v, *(torch.randn(4, 3, generator=generator) for _ in range(2)))]
    manifold, grads = space("H2xS1", torch.float32), []
    for context in (lowered, nullcontext):
        with path(), context():
            out = logits(*inputs, manifold)
        grads.append(torch.autograd.grad(out.square().sum(), inputs))
    for actual, want in zip(*grads, strict=True):
        assert torch.allclose(actual, want, rtol=1e-5, atol=1e-5 * float(want.abs().max()))


@pytest.mark.parametrize("signature", SIGNATURES)
def test_pooling_is_not_lowered(signature):
    v, _, _ = rows()
    batch = torch.arange(len(v)) % 3
    assert_same(lambda v: pool(v, batch, space(signature, torch.float32)), v)


def test_hgcns_translation_is_not_lowered():
    v, _, generator = rows()
    assert_same(translated, v, 0.5 * torch.randn(3, generator=generator), torch.tensor(-1.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(dtype):
    """The result is rounded to half precision once. A graph of 600 nodes: half precision does not count so far."""
    v = 0.3 * torch.randn(600, 3, generator=torch.Generator().manual_seed(0))
    manifold = space("H2xS1", torch.float32)
    adjacency = normalized_adjacency(torch.randint(600, (2, 1800), generator=torch.Generator().manual_seed(1)))
    rounded = v.to(dtype)
    for function in (lambda v: aggregate(v, adjacency, manifold), KappaPool(manifold)):
        actual, want = function(rounded), function(rounded.float())
        assert actual.dtype == dtype
        assert torch.allclose(actual.float(), want, rtol=torch.finfo(dtype).eps, atol=1e-6)


def test_what_is_lowered():
    single = torch.ones(1)
    assert not is_lowered(single)
    assert is_lowered(single.bfloat16())
    assert at_least_single(single.half()).dtype == torch.float32
    assert at_least_single(single.double()).dtype == DOUBLE
    with lowered():
        assert is_lowered(single)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_autocast(dtype):
    conv, layer = KappaGCNConv(3, 2, manifold=-1.0), KappaLogits(3, 2, "H3")
    want, scores = conv(X, EDGES), layer(X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.allclose(conv(X, EDGES).float(), want, atol=0.05)
        assert torch.allclose(layer(X).float(), scores, atol=0.05)
    half = copy.deepcopy(conv).to(dtype)
    assert torch.allclose(half(X.to(dtype), EDGES).float(), want, atol=0.05)
    sparse = half(SparseMatrix.from_tensor(X.to(dtype)), EDGES)
    assert torch.allclose(sparse.float(), want, atol=0.05)
