"""ManifoldParameter through copies, pickles, states and conversions."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from kappagcn.errors import GeometryError
from kappagcn.geometry import Curvature, ProductManifold, Stereographic
from kappagcn.optim import ManifoldParameter

SPACES = {
    "one": lambda: Stereographic(Curvature(-1.0, trainable=True), dim=4),
    "product": lambda: ProductManifold.from_signature("H2xS2", trainable=True),
}
EACH = pytest.mark.parametrize("build", SPACES.values(), ids=SPACES)


class Net(nn.Module):
    """The parameter first, so that a copy meets the space through it."""

    def __init__(self, space, **settings):
        super().__init__()
        x = space.random_uniform(5, radius=1.0, generator=torch.Generator().manual_seed(0))
        self.x = ManifoldParameter(x, manifold=space, **settings)
        self.space = space

    def forward(self):
        return self.space.dist0(self.x).sum()


def check(net, dtype=torch.float32):
    """A manifold parameter of the module, whose space is the module's and which can be trained."""
    assert type(net.x) is ManifoldParameter
    assert isinstance(net.x, nn.Parameter)
    assert net.x.manifold is net.space
    assert net.x.dtype == net.space.k.dtype == dtype
    assert next(net.parameters()) is net.x
    assert net.x.is_leaf
    net.zero_grad()
    net().backward()
    assert net.x.grad.abs().sum() > 0
    assert net.x.manifold.check_point(net.x.detach())


@EACH
def test_it_is_a_parameter_and_its_results_are_tensors(build):
    net = Net(build())
    check(net)
    assert "x" in dict(net.named_parameters())
    assert type(net.x + 1) is torch.Tensor
    assert type(net.x.detach()) is torch.Tensor
    assert not Net(build(), requires_grad=False).x.requires_grad
    assert repr(net.x).startswith("Parameter on ")
    assert "tensor(" in repr(net.x)


@EACH
def test_deep_copies_have_a_space_of_their_own(build):
    net = Net(build())
    duplicate = copy.deepcopy(net)
    check(duplicate)
    assert duplicate.space is not net.space
    with torch.no_grad():
        duplicate.x.zero_()
    assert net.x.abs().sum() > 0
    one, two = copy.deepcopy([net.x, net.x])
    assert one is two


@EACH
def test_pickles_and_saved_modules(build):
    net = Net(build(), requires_grad=True)
    check(pickle.loads(pickle.dumps(net)))
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    check(loaded)
    torch.testing.assert_close(loaded.x.detach(), net.x.detach())
    assert not pickle.loads(pickle.dumps(Net(build(), requires_grad=False))).x.requires_grad
    check(copy.copy(net))


@EACH
def test_states_are_plain_tensors(build):
    net, other = Net(build()), Net(build())
    with torch.no_grad():
        net.x.mul_(0.5)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert type(state["x"]) is torch.Tensor
    other.load_state_dict(state)
    check(other)
    torch.testing.assert_close(other.x.detach(), net.x.detach())


@EACH
def test_conversions_keep_the_space(build):
    net = Net(build())
    parameter = net.x
    check(net.double(), torch.float64)
    assert net.x is parameter
    check(net.to(torch.float32))
    assert net.x is parameter


@EACH
def test_states_are_assigned_on_the_space(build):
    net = Net(build())
    state = {name: 0.5 * tensor for name, tensor in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    check(net)
    assert net.x.data_ptr() == state["x"].data_ptr()
    frozen = Net(build(), requires_grad=False)
    frozen.load_state_dict(state, assign=True)
    assert type(frozen.x) is ManifoldParameter
    assert not frozen.x.requires_grad


@EACH
def test_the_meta_device_keeps_the_space(build):
    net = Net(build())
    state = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    for empty in (lambda: net.to("meta").to_empty(device="cpu"), lambda: net.to_empty(device="cpu")):
        empty()
        net.load_state_dict(state)
        check(net)
    net.to("meta")
    assert type(net.x) is ManifoldParameter
    assert type(net.x.detach()) is torch.Tensor
    net.load_state_dict(state, assign=True)
    check(net)
    torch.testing.assert_close(net.x.detach(), state["x"])


def test_points_outside_are_refused_and_brought_back():
    space = Stereographic(Curvature(-1.0, trainable=True))
    with pytest.raises(
        GeometryError, match=r"data: expected points .* found 1 of 2 that are NaN or outside the ball .* project"
    ):
        ManifoldParameter(torch.tensor([[0.0, 0.0], [0.9, 0.9]]), manifold=space)
    with pytest.raises(GeometryError, match=r"expected 4 coordinates"):
        ManifoldParameter(torch.zeros(3, 5), manifold=ProductManifold.from_signature("H2xS2"))
    with pytest.raises(GeometryError, match=r"k: expected dtype torch\.float64"):
        ManifoldParameter(torch.zeros(3, 5, dtype=torch.float64), manifold=space)
    with pytest.raises(GeometryError, match="found str; convert a geoopt manifold with"):
        ManifoldParameter(torch.zeros(2), manifold="H2")
    x = ManifoldParameter(torch.tensor([[0.9, 0.0], [0.1, 0.2]]), manifold=space)
    with torch.no_grad():
        space.curvature.raw.fill_(-2.0)
    assert not space.check_point(x.detach())
    assert x.project_() is x
    assert space.check_point(x.detach())
    torch.testing.assert_close(x[1].detach(), torch.tensor([0.1, 0.2]))
    # A copy is made as it is, even where κ has moved.
    with torch.no_grad():
        space.curvature.raw.fill_(-200.0)
    torch.testing.assert_close(copy.deepcopy(x).detach(), x.detach())


def test_modules_with_it_compile():
    net = Net(SPACES["product"]())
    torch.testing.assert_close(torch.compile(net, backend="eager", fullgraph=True)(), net())
