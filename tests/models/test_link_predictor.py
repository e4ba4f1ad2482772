"""Encoder and decoder of pairs."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import cycle
from kappagcn.models import GCN, FreePoints, KappaGCN, LinkPredictor

EDGES, X = cycle(6).edge_index, torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def test_near_points_are_likely_links():
    points = torch.tensor([[0.0, 0], [0.1, 0], [3, 0]])
    model = LinkPredictor(FreePoints(3, "H2", points))
    near, far = model.decode(model(), torch.tensor([[0, 0], [1, 2]])).tolist()
    assert near > 0 > far


@pytest.mark.parametrize("decoder", ["fermi-dirac", "dot", "bilinear"])
def test_every_parameter_gets_a_gradient_and_order_does_not_matter(decoder):
    torch.manual_seed(0)
    model = LinkPredictor(KappaGCN(4, None, "H3xS2", num_layers=2), decoder)
    v = model(X, EDGES)
    scores, turned = model.decode(v, EDGES), model.decode(v, EDGES.flip(0))
    assert torch.allclose(scores, turned, atol=1e-5)
    scores.square().sum().backward()
    curved = decoder == "fermi-dirac"  # inner products do not see the curvature of the last layer
    gradients = {name: p.grad for name, p in model.named_parameters() if curved or "manifold" not in name}
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients.values())


def test_the_last_layer_of_an_encoder_has_no_activation():
    torch.manual_seed(0)
    encoder = GCN(4, None, 8)
    before = encoder(X, EDGES)
    model = LinkPredictor(encoder)
    assert (model(X, EDGES) < 0).any()
    assert torch.equal(encoder(X, EDGES), before)  # the caller's encoder stays as it was
    assert torch.equal(model(X, EDGES).relu(), before)
    assert {id(p) for p in encoder.parameters()} <= {id(p) for p in model.parameters()}


@pytest.mark.parametrize("decoder", ["fermi-dirac", "dot", "bilinear"])
def test_all_parameters_have_axes_and_are_reset_after_the_meta_device(decoder):
    with torch.device("meta"):
        model = LinkPredictor(KappaGCN(4, None, "H3xS2", relative=True), decoder, r=3.0, t=0.5)
    assert "H3xS2" in repr(model)
    assert all(parameter.dim() > 0 for parameter in model.parameters())
    model.to_empty(device="cpu")
    for tensor in model.state_dict().values():
        tensor.fill_(torch.nan)
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    assert [c.raw.item() for c in model.encoder.curvatures()] == [-1.0, 1.0]
    if decoder == "fermi-dirac":
        assert (model.decoder.r.item(), model.decoder.t.item()) == pytest.approx((3.0, 0.5))
    assert model.decode(model(X, EDGES), EDGES).isfinite().all()


def test_states_of_version_0_2_load():
    model = LinkPredictor(FreePoints(3, "H2"))
    state = {name: t.squeeze(0) if t.shape == (1,) else t for name, t in model.state_dict().items()}
    assert any(t.dim() == 0 for t in state.values())
    model.load_state_dict(state)


def test_networks_with_classes_and_unknown_decoders_are_refused():
    with pytest.raises(GraphError, match="expected a network with num_classes=None"):
        LinkPredictor(GCN(4, 2))
    with pytest.raises(GraphError, match="decoder: expected fermi-dirac, dot, bilinear, found 'cosine'"):
        LinkPredictor(GCN(4, None), "cosine")
