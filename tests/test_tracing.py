"""Layers under torch's transforms and exporters, on tensors without values, and on a device that is not there."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from graph_samples import DOUBLE
from kappagcn import Stereographic, optim
from kappagcn.nn import KappaGCNConv, KappaLogits, normalized_adjacency
from kappagcn.tracing import is_cheap_to_read, is_concrete
from layer_cases import EDGES, LAYERS, WEIGHT, X, moved

SPACE = "H1(-1)xS1(0.5)"
N, E = torch.export.Dim("n", min=2), torch.export.Dim("e", min=2)
DYNAMIC = ({0: N}, {1: E}, {0: E})


@pytest.fixture
def conv():
    torch.manual_seed(0)
    return KappaGCNConv(3, 2, manifold=SPACE)


def larger():
    generator = torch.Generator().manual_seed(2)
    edges = torch.randint(9, (2, 20), generator=generator)
    return torch.randn(9, 3, generator=generator), edges, torch.rand(20, generator=generator) + 0.1


def test_what_python_may_look_at():
    assert is_concrete(X)
    assert is_cheap_to_read(X)
    assert not is_concrete(X, X.to("meta"))
    with FakeTensorMode() as mode:
        assert not is_concrete(mode.from_tensor(X))
    assert not torch.func.vmap(lambda x: torch.tensor(is_concrete(x)))(X).any()
    assert not torch.compile(lambda x: x + is_concrete(x), backend="eager")(torch.zeros(1)).any()


def results_of(call, layer, arguments):
    """Output and gradients of a layer, called as it is or compiled."""
    layer.zero_grad()
    out = call(*arguments)
    out.square().sum().backward()
    return [out.detach(), *(p.grad.clone() for p in layer.parameters() if p.grad is not None)]


COMPILED = [
    *("GCN", "GCN in H3", "GCN in a product", "GCN of two kinds of nodes", "GAT", "SAGE", "APPNP layer"),
    *("HGCN with attention", "logits", "pool"),
]


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_in_one_graph_output_and_gradients_are_those_of_the_layer(name):
    make, arguments = LAYERS[name]
    torch.manual_seed(0)
    layer = make()
    wanted = [results_of(layer, layer, arguments) for _ in range(2)][-1]
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for one, other in zip(results_of(compiled, layer, arguments), wanted, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)
    exported = torch.export.export(layer, arguments).module()
    assert torch.allclose(exported(*arguments), wanted[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["κ-GCN", "κ-APPNP", "HGCN network"])
def test_networks_compile_and_export(name):
    """Traced as one graph each; the compiled backward is that of the layers."""
    make, arguments = LAYERS[name]
    model = make().eval()
    want = model(*arguments)
    assert torch.allclose(torch.compile(model, backend="eager", fullgraph=True)(*arguments), want, atol=1e-4)
    assert torch.allclose(torch.export.export(model, arguments).module()(*arguments), want, atol=1e-4)


@pytest.mark.parametrize("form", ["edges", "matrix"])
def test_compiled_functions_call_the_compiled_loops(form):
    torch.manual_seed(0)
    layer, called = KappaGCNConv(3, 3, manifold="H3(-1)"), []

    def backend(graph, inputs):
        called.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    arguments = (X, EDGES) if form == "edges" else (X, normalized_adjacency(EDGES))
    wanted = results_of(layer, layer, arguments)
    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    for one, other in zip(results_of(compiled, layer, arguments), wanted, strict=True):
        assert torch.equal(one, other)
    assert any("kappagcn.midpoints" in target for target in called)
    assert not any("index_add" in target for target in called if form == "matrix")


def test_gradients_by_torch_func_are_autograds(conv):
    def loss(parameters, x, weight):
        return torch.func.functional_call(conv, parameters, (x, EDGES, weight)).square().sum()

    parameters = dict(conv.named_parameters())
    by_parameters, by_x, by_weight = torch.func.grad(loss, (0, 1, 2))(parameters, X, WEIGHT)
    x, weight = X.clone().requires_grad_(), WEIGHT.clone().requires_grad_()
    loss(parameters, x, weight).backward()
    assert torch.allclose(by_x, x.grad, atol=1e-5)
    assert torch.allclose(by_weight, weight.grad, atol=1e-5)
    for name, parameter in parameters.items():
        assert torch.allclose(by_parameters[name], parameter.grad, atol=1e-5), name


def test_vmap_and_jacrev(conv):
    signals = torch.randn(3, 4, 3, generator=torch.Generator().manual_seed(3))
    weights = torch.rand(3, 7, generator=torch.Generator().manual_seed(4))
    one_by_one = torch.stack([conv(x, EDGES, w) for x, w in zip(signals, weights, strict=True)])
    assert torch.allclose(torch.func.vmap(lambda x, w: conv(x, EDGES, w))(signals, weights), one_by_one, atol=1e-5)
    jacobian = torch.func.jacrev(lambda x: conv(x, EDGES))(X)
    assert torch.allclose(jacobian, torch.autograd.functional.jacobian(lambda x: conv(x, EDGES), X), atol=1e-5)
    assert torch.allclose(conv(X, EDGES), conv(X, EDGES), atol=0)  # nothing of a transform is kept


@pytest.mark.parametrize("layer", ["midpoint", "tangential", "logits"])
def test_second_derivatives(layer):
    torch.manual_seed(0)
    if layer == "logits":
        module = KappaLogits(3, 2, "H1(-1)xS2(0.5)").double()
        call = module
    else:
        module = KappaGCNConv(3, 2, manifold=SPACE, aggregation=layer).double()

        def call(x):
            return module(x, EDGES, WEIGHT.double())

    kappas = [factor.curvature.raw for factor in module.manifold.factors] if layer != "tangential" else []
    x = (0.5 * X).to(DOUBLE).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x, *kappas: call(x), (x, *kappas))


def test_export_with_any_number_of_nodes_and_edges(conv):
    exported = torch.export.export(conv, (X, EDGES, WEIGHT), dynamic_shapes=DYNAMIC).module()
    for graph in ((X, EDGES, WEIGHT), larger()):
        assert torch.allclose(exported(*graph), conv(*graph), atol=1e-5)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)  # of exporters
def test_onnx(conv, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.logits = conv, KappaLogits(2, 3, conv.manifold)

        def forward(self, x, edge_index, edge_weight):
            return self.logits(self.conv(x, edge_index, edge_weight).relu())

    network = Network().eval()
    path = tmp_path / "network.onnx"
    torch.onnx.export(network, (X, EDGES, WEIGHT), path, dynamo=True, dynamic_shapes=DYNAMIC, verbose=False)
    session = onnxruntime.InferenceSession(path)
    for graph in ((X, EDGES, WEIGHT), larger()):
        inputs = {i.name: t.numpy() for i, t in zip(session.get_inputs(), graph, strict=True)}
        assert torch.allclose(torch.from_numpy(session.run(None, inputs)[0]), network(*graph), atol=1e-5)


def empty_on(tensor, device):
    return torch.empty_like(tensor, device=device)


def empty_module(module, device):
    """The module with parameters as buffers without values."""
    for each in module.modules():
        for table in (each._parameters, each._buffers):
            for name, tensor in list(table.items()):
                if tensor is not None:
                    del table[name]
                    each._buffers[name] = empty_on(tensor, device)
    return module


SHAPES_FROM_VALUES = {"GCN by Fréchet means"}
ON_FAKE_CUDA = [
    *("GCN", "GCN in H3", "GCN in a product", "GCN cached", "GCN in the tangent space", "GCN of two kinds of nodes"),
    *("SAGE", "APPNP layer", "logits", "linear", "κ-GCN", "κ-GCN of the paper", "κ-APPNP", "GCN network", "MLP"),
]  # others index by tensors, which torch for the CPU refuses there


@pytest.mark.parametrize("name", sorted(LAYERS.keys() - SHAPES_FROM_VALUES))
def test_without_values(name):
    """Forward and backward on meta tensors, where a tensor made on the CPU raises."""
    make, arguments = LAYERS[name]
    layer = make().to("meta")
    out = layer(*moved(arguments, "meta", empty_on))
    assert out.is_meta
    out.sum().backward()


@pytest.mark.parametrize("name", ON_FAKE_CUDA)
def test_on_a_gpu_that_is_not_there(name):
    """Forward on fake CUDA tensors, where a tensor made on the CPU raises; torch for the CPU has no backward there."""
    make, arguments = LAYERS[name]
    layer = make()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        assert empty_module(layer, "cuda")(*moved(arguments, "cuda", empty_on)).device.type == "cuda"


@pytest.mark.parametrize("kind", [optim.RiemannianAdam, optim.RiemannianSGD])
def test_points_without_values(kind):
    space = Stereographic(-1.0, dim=3).to("meta")
    point = optim.ManifoldParameter(torch.empty(4, 3, device="meta"), manifold=space)
    space.dist2(point, torch.empty(4, 3, device="meta")).sum().backward()
    kind([point], lr=0.1).step()
    assert point.is_meta
