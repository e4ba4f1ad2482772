"""Parameter groups: every parameter once, and decay for weights alone."""

import pytest
import torch

from kappagcn import Curvature, KappaGCN, ProductManifold
from kappagcn.errors import ConfigError
from kappagcn.nn import KappaGCNConv, KappaLogits
from kappagcn.optim import ManifoldParameter, RiemannianAdam
from kappagcn.training.groups import parameter_groups


class Shared(torch.nn.Module):
    """Two layers in one space, and points of it."""

    def __init__(self):
        super().__init__()
        self.space = ProductManifold.from_signature("H2xS2", trainable=True)
        self.conv = KappaGCNConv(3, 4, manifold=self.space)
        self.logits = KappaLogits(4, 2, self.space)
        self.points = ManifoldParameter(torch.zeros(5, 4), self.space)
        self.frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)


def test_every_trained_parameter_is_in_one_group_once():
    model = Shared()
    groups = {group["name"]: group["params"] for group in parameter_groups(model, weight_decay=0.1)}
    assert list(groups) == ["decayed", "points", "curvatures"]
    members = [id(parameter) for group in groups.values() for parameter in group]
    assert len(members) == len(set(members))
    assert set(members) == {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
    assert {id(p) for p in groups["curvatures"]} == {id(m.raw) for m in model.modules() if isinstance(m, Curvature)}
    assert groups["points"] == [model.points]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, RiemannianAdam])
def test_decay_pulls_weights_and_not_curvatures(optimizer):
    model = KappaGCN(3, 2, "H4xS2")
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    step = optimizer(parameter_groups(model, lr=0.1, weight_decay=0.5))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    step.step()
    kappas = {id(module.raw) for module in model.modules() if isinstance(module, Curvature)}
    for name, parameter in model.named_parameters():
        if id(parameter) in kappas:
            assert torch.equal(parameter, before[name])
        elif before[name].any():
            assert not torch.equal(parameter, before[name])


def test_rates_and_chosen_weights():
    model = KappaGCN(3, 2, "H4")
    first = next(parameter for parameter in model.parameters() if parameter.dim() == 2)
    groups = {g["name"]: g for g in parameter_groups(model, 0.02, weight_decay=0.1, curvature_lr=0.0, decayed=[first])}
    assert groups["decayed"]["params"][0] is first
    assert len(groups["decayed"]["params"]) == 1
    assert (groups["weights"]["lr"], groups["weights"]["weight_decay"]) == (0.02, 0.0)
    assert groups["curvatures"]["lr"] == 0.0
    assert [g["name"] for g in parameter_groups(torch.nn.Linear(2, 2))] == ["weights"]


@pytest.mark.parametrize("wrong", [{"lr": -1.0}, {"curvature_lr": -0.1}, {"weight_decay": float("nan")}])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ConfigError, match="expected a number from 0"):
        parameter_groups(torch.nn.Linear(2, 2), **wrong)
